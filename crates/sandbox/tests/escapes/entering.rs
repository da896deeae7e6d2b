//! The start of a confined program, and its errors.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use offshoot_sandbox::{Confinement, passed_on};

use crate::support::{complained, found, said, workspaces};

#[test]
fn the_program_is_the_process_itself() {
    for workspace in workspaces() {
        let script = "echo \"$0\" \"$@\"; exit 7";
        let done = workspace.confined("sh", &["-c", script, "zero", "one", "", "a b"]);
        assert_eq!((said(&done).as_str(), done.status.code()), ("zero one  a b", Some(7)));
        let ended = workspace.confined("sh", &["-c", "kill -9 $$"]);
        assert_eq!(ended.status.signal(), Some(9));
        let name = OsStr::new("another");
        let command = workspace.usual().command_as(&workspace.helper(), &found("sh"), name);
        let done = workspace.prepared(command).args(["-c", "echo $0"]).output().unwrap();
        assert_eq!(said(&done), "another");
    }
}

#[test]
fn errors_are_reported_and_no_program_is_executed() {
    for workspace in workspaces() {
        let script = ["-c", "touch executed"];
        let gone = workspace.path("gone");
        let cases = [
            (Confinement::new([gone], [""; 0]).unwrap(), "no folder to write to"),
            (Confinement::new([workspace.path("work/own")], [""; 0]).unwrap(), "Not a directory"),
        ];
        for (by, why) in cases {
            let tried = workspace.confined_by(&by, "sh", &script);
            assert_eq!(tried.status.code(), Some(126), "{tried:?}");
            let told = complained(&tried);
            assert!(told.contains(why) && told.lines().count() == 1, "{told}");
            assert!(told.starts_with("offshoot: "), "{told}");
        }
        let asked = workspace.usual().command(&workspace.helper(), found("sh"));
        let args: Vec<_> = asked.get_args().map(OsStr::to_owned).collect();
        let (uncovered, sh) = (workspace.usual(), found("sh"));
        let uncovered = serde_json::to_string(&uncovered).unwrap().replace("/data", "/work/own");
        let wrong = [
            vec![],
            vec!["{}"],
            vec!["{", sh.to_str().unwrap(), "sh", "-c", "touch executed"],
            vec!["", sh.to_str().unwrap(), "sh", "-c", "touch executed"],
            vec![&uncovered, sh.to_str().unwrap(), "sh", "-c", "touch executed"],
        ];
        for wrong in wrong {
            let mut command = workspace.prepared(Command::new(workspace.operations()));
            let tried = command.arg(&args[0]).args(&wrong).output().unwrap();
            assert_eq!(tried.status.code(), Some(126), "{wrong:?}: {tried:?}");
            assert_eq!(complained(&tried).lines().count(), 1, "{wrong:?}: {tried:?}");
        }
        let missing = workspace.confined("/no/such/program", &[]);
        assert_eq!(missing.status.code(), Some(126));
        assert!(complained(&missing).contains("No such file"), "{missing:?}");
        assert!(!workspace.path("work/executed").exists());
    }
}

#[test]
fn the_variables_of_the_program_do_nothing_before_it_is_confined() {
    for workspace in workspaces() {
        let by_hand = |name: &OsStr| {
            let mut command =
                workspace.usual().command(&workspace.helper(), workspace.operations());
            command = workspace.prepared(command);
            command.env_clear().env(name, "/no/such/library.so");
            command.args(["variable", "LD_PRELOAD"]).output().unwrap()
        };
        let name = OsStr::new("LD_PRELOAD");
        let loaded = by_hand(name);
        let complaints = complained(&loaded).matches("cannot be preloaded").count();
        let stages = if workspace.is_apart() { 2 } else { 1 };
        assert_eq!(complaints, stages + 1, "the helper and the program: {loaded:?}");
        let passed = by_hand(&passed_on(name));
        let complaints = complained(&passed).matches("cannot be preloaded").count();
        assert_eq!(complaints, 1, "the program alone: {passed:?}");
        assert_eq!(said(&passed), "/no/such/library.so");
    }
}

#[test]
fn a_program_that_looks_for_the_argument_is_its_own_helper() {
    for workspace in workspaces() {
        let own = workspace.free(&workspace.operations(), &["helper"]);
        assert!(said(&own).starts_with("Some(Helper { program: \"/proc/self/exe\""), "{own:?}");
    }
}

#[test]
fn a_program_is_executed_even_if_its_cgroup_cannot_be_entered() {
    for workspace in workspaces() {
        let helper = workspace.helper().in_cgroup(workspace.path("gone"));
        let tried = workspace.prepared(helper.trial()).output().unwrap();
        assert_eq!(tried.status.code(), Some(126), "{tried:?}");
        assert!(complained(&tried).contains("No such file"), "{tried:?}");
        let confined = workspace.usual().command_as(&helper, &found("sh"), OsStr::new("another"));
        for command in [confined, helper.command_as(&found("sh"), OsStr::new("another"))] {
            let mut command = workspace.prepared(command);
            let name = passed_on(OsStr::new("OWN"));
            let done = command.env(name, "own").args(["-c", "echo $0 $OWN"]).output().unwrap();
            assert_eq!(said(&done), "another own", "{done:?}");
        }
    }
}

#[test]
fn one_confinement_in_another_gives_nothing_back() {
    for workspace in workspaces() {
        let wider =
            Confinement::new([workspace.path("held"), workspace.path("work")], [""; 0]).unwrap();
        // The inner one could make no namespaces.
        let inner = wider.command(&workspace.helper().without_namespaces(), found("sh"));
        let mut args: Vec<_> = inner.get_args().map(|arg| arg.to_str().unwrap()).collect();
        let script = format!("echo x > own; echo x > '{}'", workspace.text("held/file"));
        args.extend(["-c", &script]);
        let free = Confinement::new([workspace.path("work")], [""; 0]).unwrap();
        let tried = workspace.confined_by(&free, &workspace.operations(), &args);
        assert_ne!(tried.status.code(), Some(126), "it can be: {tried:?}");
        assert!(!tried.status.success());
        assert_eq!(std::fs::read_to_string(workspace.path("work/own")).unwrap(), "x\n");
        assert_eq!(std::fs::read_to_string(workspace.path("held/file")).unwrap(), "held\n");
    }
}
