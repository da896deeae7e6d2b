//! The environment of commands.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use offshoot_models::Keys;
use offshoot_sandbox::{holds_password, is_credential};

/// Variables as pairs of name and value.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// Variables that are set for every command: no user sees its colours, turns pages
/// or answers it.
const SET: [(&str, &str); 14] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PIP_NO_INPUT", "1"),
    // Git must not clean up a repository of which it can write only parts.
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "gc.auto"),
    ("GIT_CONFIG_VALUE_0", "0"),
    ("GIT_CONFIG_KEY_1", "maintenance.auto"),
    ("GIT_CONFIG_VALUE_1", "false"),
];

/// Variables that no command gets.
///
/// Some change how a shell reads a line, some lead git to another repository, and some
/// contradict [`SET`].
const DROPPED: &str = "
    BASH_ENV ENV SHELLOPTS BASHOPTS CDPATH IFS PS4 PROMPT_COMMAND GLOBIGNORE OLDPWD
    GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
    GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX GIT_EXEC_PATH GIT_CONFIG_PARAMETERS GIT_ASKPASS
    SSH_ASKPASS SUDO_ASKPASS FORCE_COLOR CLICOLOR_FORCE CARGO_TERM_COLOR COLORTERM DISPLAY
    WAYLAND_DISPLAY
";

/// The environment of an agent's command.
pub(super) struct Environment<'a> {
    /// Variables of the host.
    pub(super) given: Variables,
    /// Variables that the user passes by name.
    pub(super) passed: Variables,
    /// The directory for temporary files.
    pub(super) scratch: &'a Path,
    /// The working directory.
    pub(super) folder: &'a Path,
}

/// Returns the variables that a command of an agent gets.
pub(super) fn cleaned(environment: Environment<'_>) -> Variables {
    let Environment { given, passed, scratch, folder } = environment;
    let is_kept = |name: &OsStr, value: &OsStr| is_passable(name) && !is_withheld(name, value);
    let mut kept: Variables =
        given.into_iter().filter(|(name, value)| is_kept(name, value)).collect();
    for (name, value) in passed.into_iter().filter(|(name, _)| is_passable(name)) {
        kept.retain(|(kept, _)| *kept != name);
        kept.push((name, value));
    }
    for (name, value) in &mut kept {
        if name == "PATH" {
            *value = absolute(value);
        }
    }
    let mut set = |name: &str, value: &OsStr| {
        kept.retain(|(kept, _)| kept != name);
        kept.push((name.into(), value.to_owned()));
    };
    for (name, value) in SET {
        set(name, value.as_ref());
    }
    for name in ["TMPDIR", "TMP", "TEMP"] {
        set(name, scratch.as_os_str());
    }
    set("PWD", folder.as_os_str());
    kept
}

/// Whether a variable of this name can reach a command at all.
///
/// A variable that configures Offshoot, or that changes the meaning of a command line,
/// cannot.
pub fn is_passable(name: impl AsRef<OsStr>) -> bool {
    // All names below are UTF-8.
    let Some(name) = name.as_ref().to_str() else { return true };
    let begins = ["OFFSHOOT_", "BASH_FUNC_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];
    let begins = begins.iter().any(|begin| name.starts_with(begin));
    let dropped = DROPPED.split_ascii_whitespace().any(|dropped| dropped == name);
    !begins && !dropped
}

/// Whether a variable is withheld from commands of agents unless the user passes it.
///
/// Its name or value shows a credential, or it belongs to a model provider.
pub fn is_withheld(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref();
    is_credential(name) || holds_password(value) || Keys::names().any(|key| name == key)
}

/// Returns the absolute parts of a search path.
///
/// A relative part could lead to a program that the agent has written.
fn absolute(path: &OsStr) -> OsString {
    let places = std::env::split_paths(path).filter(|place| place.is_absolute());
    std::env::join_paths(places).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_variables_that_change_a_line_are_dropped() {
        let names = "OPENAI_API_KEY ANTHROPIC_API_KEY GOOGLE_API_KEY OPENAI_BASE_URL OTHER_API_KEY \
             ANTHROPIC_AUTH_TOKEN OFFSHOOT_DATA OFFSHOOT_TASK BASH_ENV BASH_FUNC_rm%% GIT_DIR \
             CDPATH PWD TERM GH_TOKEN aws_secret_access_key DATABASE_URL PGPASSWORD NPM_TOKEN \
             GIT_CONFIG_COUNT GIT_CONFIG_KEY_2 GIT_CONFIG_VALUE_2 GIT_CONFIG_VALUE_0";
        let given = names.split(' ').map(|name| (name.into(), "was given".into()));
        let given =
            given.chain([("HOME".into(), "/home/me".into()), ("PATH".into(), "/a:.::b:/c".into())]);
        let given = given.chain([
            ("HTTPS_PROXY".into(), "http://me:hush@proxy".into()),
            ("GOPROXY".into(), "https://me:hush@host,direct".into()),
            ("HTTP_PROXY".into(), "http://proxy".into()),
        ]);
        let passed = ["NPM_TOKEN", "OPENAI_API_KEY", "BASH_ENV", "OFFSHOOT_TASK", "GOPROXY"];
        let passed = passed.map(|name| (name.into(), "passed".into())).into();
        let kept = cleaned(Environment {
            given: given.collect(),
            passed,
            scratch: Path::new("/tmp/x"),
            folder: Path::new("/work"),
        });
        let value = |wanted: &str| {
            let mut found = kept.iter().filter(|(name, _)| name == wanted);
            let value = found.next().map(|(_, value)| value.to_str().unwrap());
            assert!(found.next().is_none(), "{wanted} is there once");
            value
        };
        assert!(!kept.iter().any(|(_, value)| value == "was given"), "{kept:?}");
        assert_eq!(value("HOME"), Some("/home/me"));
        assert_eq!(value("PATH"), Some("/a:/c"));
        assert_eq!((value("TMPDIR"), value("PWD")), (Some("/tmp/x"), Some("/work")));
        assert_eq!(value("PAGER"), Some("cat"));
        assert_eq!((value("HTTPS_PROXY"), value("HTTP_PROXY")), (None, Some("http://proxy")));
        assert_eq!((value("GOPROXY"), value("GIT_CONFIG_COUNT")), (Some("passed"), Some("2")));
        assert_eq!((value("NPM_TOKEN"), value("OPENAI_API_KEY")), (Some("passed"), Some("passed")));
        assert_eq!((value("BASH_ENV"), value("OFFSHOOT_TASK")), (None, None));
    }
}
