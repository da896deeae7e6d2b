//! Access to hidden paths.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use offshoot_sandbox::Confinement;

use crate::support::{TestWorkspace, complained, said, workspaces};

#[test]
fn a_hidden_file_is_not_read() {
    for workspace in workspaces() {
        workspace.refuses(&["read", &workspace.text("data/secret")]);
        workspace.refuses(&["list", &workspace.text("data")]);
        workspace.refuses(&["write", &workspace.text("data/secret")]);
        let near =
            workspace.confined(&workspace.operations(), &["read", &workspace.text("near/plain")]);
        assert_eq!(said(&near), "near", "what lies beside it is read: {near:?}");
    }
}

#[test]
fn parents_of_a_hidden_directory_are_not_listed() {
    for workspace in workspaces() {
        workspace.refuses(&["list", &workspace.text("")]);
        workspace.refuses(&["list", "/"]);
        let none = Confinement::new([workspace.path("work")], [""; 0]).unwrap();
        let listed = workspace.confined_by(&none, &workspace.operations(), &["list", "/"]);
        assert!(listed.status.success(), "nothing is hidden: {listed:?}");
    }
}

#[test]
fn a_hidden_program_is_not_executed() {
    for workspace in workspaces() {
        workspace.copied(&workspace.path("data/program"));
        workspace.own_all();
        let (program, operation) = (workspace.text("data/program"), ["variable", "HOME"]);
        assert!(workspace.free(&program, &operation).status.success());
        let tried = workspace.confined(&program, &operation);
        assert_eq!(tried.status.code(), Some(126), "{tried:?}");
        let why = if workspace.is_apart() { "not executed" } else { "Permission denied" };
        assert!(complained(&tried).contains(why), "{tried:?}");
    }
}

#[test]
fn no_other_way_leads_to_a_hidden_file() {
    for workspace in workspaces() {
        let secret = workspace.text("data/secret");
        workspace.refuses(&["read", &format!("/proc/self/root{secret}")]);
        workspace.refuses(&["read", "../data/secret"]);
        workspace.refuses(&["read", "/proc/self/cwd/../data/secret"]);
        std::os::unix::fs::symlink(&secret, workspace.path("work/link")).unwrap();
        std::os::unix::fs::symlink(workspace.path("data"), workspace.path("work/folder")).unwrap();
        workspace.refuses(&["read", "link"]);
        workspace.refuses(&["read", "folder/secret"]);
        let script = format!("ln '{secret}' name && cat name && rm name");
        assert!(workspace.free("sh", &["-c", &script]).status.success());
        let tried = workspace.confined("sh", &["-c", &script]);
        assert!(!tried.status.success() && said(&tried).is_empty(), "{tried:?}");
        let script = format!("mv '{secret}' name && cat name && mv name '{secret}'");
        assert!(workspace.free("sh", &["-c", &script]).status.success());
        let tried = workspace.confined("sh", &["-c", &script]);
        assert!(!tried.status.success() && said(&tried).is_empty(), "{tried:?}");
    }
}

/// An unconfined process, with its directory, a file and a variable that a confined one must
/// not see.
struct Other(Child);

impl Other {
    fn of(workspace: &TestWorkspace) -> Self {
        let script = "exec 7<secret; echo on; read x";
        let mut command = workspace.prepared(Command::new("/bin/sh"));
        command.args(["-c", script]).current_dir(workspace.path("data")).env("KEY", "hush");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        Self(child)
    }

    fn entry(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.0.id())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn another_process_is_no_way_to_a_hidden_file() {
    for workspace in workspaces() {
        let other = Other::of(&workspace);
        let secret = workspace.text("data/secret");
        workspace.refuses(&["read", &other.entry(&format!("root{secret}"))]);
        workspace.refuses(&["read", &other.entry("cwd/secret")]);
        workspace.refuses(&["read", &other.entry("fd/7")]);
        workspace.refuses(&["link", &other.entry("fd/7")]);
        workspace.refuses(&["open", &other.entry("environ")]);
        workspace.refuses(&["read", &other.entry("environ")]);
        workspace.refuses(&["open", &other.entry("mem")]);
        workspace.refuses(&["open", &other.entry("maps")]);
    }
}

#[test]
fn a_hidden_folder_that_is_made_later_is_hidden() {
    for workspace in workspaces() {
        let (deep, file) = (workspace.path("near/later/deeper"), "near/later/deeper/secret");
        let by = Confinement::new([workspace.path("work")], [deep.clone()]).unwrap();
        let script = "echo on; read x; exec \"$@\"";
        let mut command = workspace.prepared(by.command(&workspace.helper(), "/bin/sh"));
        command.args(["-c", script, "sh", &workspace.operations(), "read", &workspace.text(file)]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(workspace.path(file), "later").unwrap();
        workspace.own_all();
        drop(child.stdin.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), said(&ended).as_str()), (Some(1), "13"), "{ended:?}");
        let free = workspace.free(&workspace.operations(), &["read", &workspace.text(file)]);
        assert_eq!(said(&free), "later");
        let near = workspace.confined_by(
            &by,
            &workspace.operations(),
            &["read", &workspace.text("near/plain")],
        );
        assert_eq!(said(&near), "near");
    }
}

#[test]
fn what_a_hidden_link_leads_to_is_hidden() {
    for workspace in workspaces() {
        std::os::unix::fs::symlink(workspace.path("data"), workspace.path("link")).unwrap();
        let by = Confinement::new([workspace.path("work")], [workspace.path("link")]).unwrap();
        for path in ["data/secret", "link/secret"] {
            assert!(
                workspace
                    .free(&workspace.operations(), &["read", &workspace.text(path)])
                    .status
                    .success()
            );
            let tried = workspace.confined_by(
                &by,
                &workspace.operations(),
                &["read", &workspace.text(path)],
            );
            assert!(workspace.is_unseen(&said(&tried)), "{path}: {tried:?}");
        }
    }
}

#[test]
fn what_could_not_be_hidden_is_not_executed() {
    for workspace in workspaces() {
        // What it leads to is not known yet, or lies where it may write.
        for (name, target) in [("nowhere", "near/none"), ("inside", "work/own")] {
            std::os::unix::fs::symlink(workspace.path(target), workspace.path(name)).unwrap();
            let by = Confinement::new([workspace.path("work")], [workspace.path(name)]).unwrap();
            let tried = workspace.confined_by(&by, "true", &[]);
            assert_eq!(tried.status.code(), Some(126), "{name}: {tried:?}");
            assert!(complained(&tried).contains("hidden"), "{name}: {tried:?}");
        }
    }
}

#[test]
fn a_folder_to_work_in_may_lie_in_a_hidden_one() {
    for workspace in workspaces() {
        std::fs::create_dir_all(workspace.path("data/trees/one")).unwrap();
        std::fs::create_dir_all(workspace.path("data/trees/two")).unwrap();
        std::fs::write(workspace.path("data/trees/two/file"), "theirs").unwrap();
        workspace.own_all();
        let tree = workspace.path("data/trees/one");
        let by = Confinement::new([tree.clone()], [workspace.path("data")]).unwrap();
        let script = "cd \"$1\" && mkdir a && echo mine > a/b && mv a/b c && cat c && ls";
        let done = workspace.confined_by(&by, "sh", &["-c", script, "sh", tree.to_str().unwrap()]);
        assert_eq!(said(&done), "mine\na\nc", "{done:?}");
        for path in ["data/secret", "data/trees/two/file"] {
            let tried = workspace.confined_by(
                &by,
                &workspace.operations(),
                &["read", &workspace.text(path)],
            );
            assert!(workspace.is_unseen(&said(&tried)), "{tried:?}");
        }
        assert!(Path::new(&tree).join("c").exists());
    }
}

#[test]
fn a_hidden_file_is_hidden_and_its_neighbours_are_not() {
    for workspace in workspaces() {
        let by =
            Confinement::new([workspace.path("work")], [workspace.path("near/token")]).unwrap();
        std::fs::write(workspace.path("near/token"), "hush").unwrap();
        workspace.own_all();
        let read = |name| {
            workspace.confined_by(&by, &workspace.operations(), &["read", &workspace.text(name)])
        };
        assert_eq!(said(&read("near/token")), "13");
        assert_eq!(said(&read("near/plain")), "near");
        assert_eq!(said(&read("data/secret")), "data", "nothing else is hidden");
    }
}
