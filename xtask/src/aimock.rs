//! aimock, an emulator of model providers: an npm package, installed outside the repository.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::package::Package;
use crate::repository::Repository;

/// The version that the tests use. Another version may emulate other versions of the providers.
const VERSION: &str = "1.43.0";

/// The Node that npm installs if the existing one is too old.
const NODE: &str = "22.23.3";

/// The directory of the installation.
const FOLDER: &str = "target/tools/aimock-1.43.0";

/// The variable that names additional certificate authorities to Node.
const AUTHORITIES: &str = "NODE_EXTRA_CA_CERTS";

/// The file of the certificate authorities that a Linux system trusts.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// An installed emulator.
#[derive(Debug)]
pub(crate) struct Aimock {
    /// The Node to run it with.
    pub(crate) node: String,
    /// The program.
    pub(crate) program: String,
}

impl Aimock {
    /// Installs the emulator if it is missing.
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
            // Node has certificate authorities of its own; the system may trust more, such as a
            // company's.
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

/// Whether the Node is new enough for the package: 20.15 or later.
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
