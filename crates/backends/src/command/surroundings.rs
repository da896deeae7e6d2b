//! The environment, umask and input that a command gets from its caller.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use hashbrown::HashSet;
use offshoot_sandbox::{holds_password, is_credential};

use super::input::Input;

/// The prefix of Offshoot's own variables.
const OWN: &str = "OFFSHOOT_";

/// The environment, umask and input that a command gets from its caller. They are kept in
/// memory until the command starts and never stored.
#[derive(Default)]
pub struct Surroundings {
    variables: Vec<(OsString, OsString)>,
    input: Option<Input>,
    umask: Option<u32>,
    passed: HashSet<OsString>,
}

impl Surroundings {
    /// Makes surroundings with these variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), ..Self::default() }
    }

    /// Makes surroundings with the environment of this process.
    pub fn own() -> Self {
        Self::new(std::env::vars_os())
    }

    /// Names variables that a confined command gets although they hold a
    /// credential.
    #[must_use]
    pub fn passing<N: Into<OsString>>(mut self, named: impl IntoIterator<Item = N>) -> Self {
        self.passed.extend(named.into_iter().map(Into::into));
        self
    }

    /// Returns the surroundings without the variables that configure Offshoot and without
    /// credentials.
    ///
    /// Credentials are the given variables, and those with such a [name](is_credential) or
    /// [value](holds_password). Variables that are [passed](Self::passing) stay.
    #[must_use]
    pub fn without_secrets<N: AsRef<OsStr>>(mut self, named: impl IntoIterator<Item = N>) -> Self {
        let named: HashSet<OsString> =
            named.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let own = |name: &OsStr| name.as_bytes().starts_with(OWN.as_bytes());
        let passed = std::mem::take(&mut self.passed);
        self.variables.retain(|(name, value)| {
            let secret = named.contains(name) || is_credential(name) || holds_password(value);
            !own(name) && (!secret || passed.contains(name))
        });
        self.passed = passed;
        self
    }

    /// Sets the umask; without one, that of this process applies.
    #[must_use]
    pub fn with_umask(mut self, umask: Option<u32>) -> Self {
        self.umask = umask;
        self
    }

    pub(crate) fn umask(&self) -> Option<u32> {
        self.umask
    }

    /// Sets the standard input.
    ///
    /// The command then reads this input, byte for byte, and its end. It takes no messages.
    /// The input cannot be repeated: a command that has not started when this process ends
    /// is not started by the next one, and none is restarted.
    pub fn with_input(mut self, input: Input) -> Self {
        self.input = Some(input);
        self
    }

    pub(crate) fn has_input(&self) -> bool {
        self.input.is_some()
    }

    pub(crate) fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Surroundings({} variables)", self.variables.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out() {
        let names =
            ["PATH", "OFFSHOOT_SOCKET", "A_KEY", "A_KEYRING", "NOT_OFFSHOOT_A", "OFFSHOOT_"];
        let around = Surroundings::new(names.map(|name| (name.into(), "value".into())));
        let around = around.without_secrets(["A_KEY", "ABSENT"]);
        let left: Vec<_> = around.variables().map(|(name, _)| name).collect();
        assert_eq!(left, ["PATH", "A_KEYRING", "NOT_OFFSHOOT_A"]);
    }

    #[test]
    fn an_address_with_a_password_is_left_out_unless_it_is_passed() {
        let values = [
            ("HTTPS_PROXY", "http://me:hush@proxy"),
            ("PIP_INDEX_URL", "https://me:hush@host/simple"),
            ("HTTP_PROXY", "http://proxy:8080"),
        ];
        let around = Surroundings::new(values.map(|(name, value)| (name.into(), value.into())));
        let around = around.passing(["PIP_INDEX_URL"]).without_secrets([""; 0]);
        let left: Vec<_> = around.variables().map(|(name, _)| name).collect();
        assert_eq!(left, ["PIP_INDEX_URL", "HTTP_PROXY"]);
    }

    #[test]
    fn variables_that_are_passed_stay() {
        let names = ["GH_TOKEN", "NPM_TOKEN", "A_KEY", "OFFSHOOT_DATA"];
        let around = Surroundings::new(names.map(|name| (name.into(), "value".into())));
        let around = around.passing(["GH_TOKEN", "A_KEY", "OFFSHOOT_DATA"]);
        let around = around.without_secrets(["A_KEY"]);
        let left: Vec<_> = around.variables().map(|(name, _)| name).collect();
        assert_eq!(left, ["GH_TOKEN", "A_KEY"]);
    }
}
