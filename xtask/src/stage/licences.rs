//! Stage `licences`.

use anyhow::{Result, ensure};

use super::{Stage, Verdict};
use crate::licence::{ALLOWED, Policy, Ruling};
use crate::metadata::{Metadata, Package};
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "licences",
    about: "every dependency has a licence that is on the allow-list",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    let metadata = Metadata::of_everything(repository).or_else(|error| {
        println!("    {error:#}");
        println!("    without the registry: only what this machine builds is checked");
        Metadata::of_this_platform(repository)
    })?;
    let policy = Policy::new(ALLOWED)?;
    let complaints: Vec<_> =
        metadata.packages.iter().filter_map(|package| complaint(&policy, package)).collect();
    for complaint in &complaints {
        println!("    {complaint}");
    }
    ensure!(
        complaints.is_empty(),
        "{} of {} packages have no licence that is on the list in \
         xtask/src/licence/allowed.rs; replace them, or add the licence if it suits this project",
        complaints.len(),
        metadata.packages.len()
    );
    println!("    {} packages checked", metadata.packages.len());
    Ok(Verdict::Passed)
}

fn complaint(policy: &Policy, package: &Package) -> Option<String> {
    let expression = package.license.as_deref();
    let problem = match policy.rule(expression) {
        Ruling::Allowed => return None,
        Ruling::NotAllowed => "is not allowed".to_owned(),
        Ruling::Unreadable(reason) => format!("cannot be read: {reason}"),
        Ruling::Missing => return Some(format!("{}: names no licence", label(package))),
    };
    let expression = expression.unwrap_or_default();
    Some(format!("{}: `{expression}` {problem}", label(package)))
}

fn label(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn complaint_about(license: Option<&str>) -> Option<String> {
        let package = Package {
            name: "thing".to_owned(),
            version: "1.2.3".to_owned(),
            license: license.map(str::to_owned),
            manifest_path: PathBuf::new(),
            dependencies: Vec::new(),
            targets: Vec::new(),
        };
        complaint(&Policy::new(&["MIT"]).unwrap(), &package)
    }

    #[test]
    fn an_offender_is_named_with_version_and_licence() {
        assert_eq!(complaint_about(Some("MIT")), None);
        assert_eq!(
            complaint_about(Some("AGPL-3.0-only")).unwrap(),
            "thing 1.2.3: `AGPL-3.0-only` is not allowed"
        );
        assert_eq!(complaint_about(None).unwrap(), "thing 1.2.3: names no licence");
    }
}
