//! aimock, an emulator of model providers: a package of npm, kept outside the repository's files.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::package::Package;
use crate::repository::Repository;

/// The version that is used. Another one may emulate other versions of the providers.
const VERSION: &str = "1.43.0";

/// The Node that npm supplies where the installed one is too old.
const NODE: &str = "22.23.3";

/// Where it is kept.
const FOLDER: &str = "target/tools/aimock-1.43.0";

/// What names authorities to Node beyond its own, and where a Linux keeps those it trusts.
const AUTHORITIES: &str = "NODE_EXTRA_CA_CERTS";
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// An emulator that can be started.
#[derive(Debug)]
pub(crate) struct Aimock {
    /// The Node to run it with.
    pub(crate) node: String,
    /// The program.
    pub(crate) program: String,
}

impl Aimock {
    /// Makes sure that it is there.
    pub(crate) fn ensure(repository: &Repository) -> Result<Self> {
        Package::Npm.ensure(repository)?;
        let program = format!("{FOLDER}/node_modules/@copilotkit/aimock/dist/cli.js");
        let mut wanted = Vec::new();
        if !repository.holds(&program) {
            wanted.push(format!("@copilotkit/aimock@{VERSION}"));
        }
        let own = format!("{FOLDER}/node_modules/node/bin/node");
        let installed = repository.program("node", ["--version"]).read().unwrap_or_default();
        let new_enough = is_new_enough(&installed);
        if !new_enough && !repository.holds(&own) {
            wanted.push(format!("node@{NODE}"));
        }
        if !wanted.is_empty() {
            let install = ["install", "--no-audit", "--no-fund", "--prefix", FOLDER];
            let mut npm = repository.program("npm", install).args(&wanted);
            // Node brings authorities of its own; the system's may know more, such as a company's.
            if env::var_os(AUTHORITIES).is_none_or(|named| named.is_empty())
                && Path::new(SYSTEM).exists()
            {
                npm = npm.env(AUTHORITIES, SYSTEM);
            }
            npm.run()?;
            ensure!(repository.holds(&program), "npm installed no {program}");
        }
        let absolute = |path: &str| {
            let path = repository.root().join(path);
            path.to_str().map(str::to_owned).context("the repository's path is no UTF-8")
        };
        let node = if new_enough { "node".to_owned() } else { absolute(&own)? };
        Ok(Self { node, program: absolute(&program)? })
    }
}

/// Whether it is what the package asks for: 20.15 or later.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    let mut number = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (number(), number()) >= (20, 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_node_is_distinguished_from_a_new_one() {
        for new in ["v20.15.0\n", "v22.1.0", "26.0.0"] {
            assert!(is_new_enough(new), "{new}");
        }
        for old in ["v18.19.1", "v20.9.0", "", "what"] {
            assert!(!is_new_enough(old), "{old}");
        }
    }

    #[test]
    fn the_folder_is_named_after_the_version() {
        assert!(FOLDER.ends_with(VERSION));
    }
}
