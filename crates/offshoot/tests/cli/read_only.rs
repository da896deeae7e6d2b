//! A read-only data directory.
//!
//! Permissions do not limit root, so as root the test runs itself again as
//! `nobody`. Where that is impossible, it is skipped.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{ProgramOutput, World};

/// The user without files.
const NOBODY: &str = "65534";

/// Whether permissions limit this process. Otherwise another process has run the test of this
/// name.
fn is_mortal(name: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let again = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("read_only::{name}"), "--nocapture"])
        .output();
    match again.map(ProgramOutput::of) {
        Ok(said) if said.err.starts_with("setpriv:") => {
            println!("skipped: the user `nobody` cannot run this test: {}", said.err.trim());
        }
        Ok(said) => {
            print!("{}", said.out);
            assert_eq!(said.code, 0, "{}", said.err);
        }
        Err(error) => println!("skipped: there is no `setpriv` here: {error}"),
    }
    false
}

fn permit(world: &World, mode: u32) {
    std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_named_whether_there_is_a_store_in_it_or_not() {
    if !is_mortal("a_folder_that_cannot_be_written_is_named_whether_there_is_a_store_in_it_or_not")
    {
        return;
    }
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    for _ in ["empty", "with a store"] {
        permit(&world, 0o500);
        let said = world.run(&["spawn", "--", "true"]);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains(world.data().to_str().unwrap()), "{said:?}");
        let told = said.err.contains("read-only") || said.err.contains("denied");
        assert!(told, "{said:?}");
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.out.contains("error: data: the directory is not writable"), "{said:?}");
        permit(&world, 0o700);
        world.done(&["spawn", "--", "true"]);
        world.done(&["daemon", "stop"]);
    }
}
