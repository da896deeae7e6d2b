//! Looking at what is hidden.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use offshoot_sandbox::Confinement;

use crate::support::{Ground, complained, grounds, said};

#[test]
fn a_hidden_file_is_not_read() {
    for ground in grounds() {
        ground.refuses(&["read", &ground.text("data/secret")]);
        ground.refuses(&["list", &ground.text("data")]);
        ground.refuses(&["write", &ground.text("data/secret")]);
        let near = ground.confined(&ground.deeds(), &["read", &ground.text("near/plain")]);
        assert_eq!(said(&near), "near", "what lies beside it is read: {near:?}");
    }
}

#[test]
fn what_lies_on_the_way_to_a_hidden_folder_is_not_listed() {
    for ground in grounds() {
        ground.refuses(&["list", &ground.text("")]);
        ground.refuses(&["list", "/"]);
        let none = Confinement::new([ground.path("work")], [""; 0]).unwrap();
        let listed = ground.confined_by(&none, &ground.deeds(), &["list", "/"]);
        assert!(listed.status.success(), "nothing is hidden: {listed:?}");
    }
}

#[test]
fn a_hidden_program_is_not_executed() {
    for ground in grounds() {
        ground.copied(&ground.path("data/program"));
        ground.own_all();
        let (program, deed) = (ground.text("data/program"), ["variable", "HOME"]);
        assert!(ground.free(&program, &deed).status.success());
        let tried = ground.confined(&program, &deed);
        assert_eq!(tried.status.code(), Some(126), "{tried:?}");
        let why = if ground.is_apart() { "not executed" } else { "Permission denied" };
        assert!(complained(&tried).contains(why), "{tried:?}");
    }
}

#[test]
fn no_other_way_leads_to_a_hidden_file() {
    for ground in grounds() {
        let secret = ground.text("data/secret");
        ground.refuses(&["read", &format!("/proc/self/root{secret}")]);
        ground.refuses(&["read", "../data/secret"]);
        ground.refuses(&["read", "/proc/self/cwd/../data/secret"]);
        std::os::unix::fs::symlink(&secret, ground.path("work/link")).unwrap();
        std::os::unix::fs::symlink(ground.path("data"), ground.path("work/folder")).unwrap();
        ground.refuses(&["read", "link"]);
        ground.refuses(&["read", "folder/secret"]);
        let script = format!("ln '{secret}' name && cat name && rm name");
        assert!(ground.free("sh", &["-c", &script]).status.success());
        let tried = ground.confined("sh", &["-c", &script]);
        assert!(!tried.status.success() && said(&tried).is_empty(), "{tried:?}");
        let script = format!("mv '{secret}' name && cat name && mv name '{secret}'");
        assert!(ground.free("sh", &["-c", &script]).status.success());
        let tried = ground.confined("sh", &["-c", &script]);
        assert!(!tried.status.success() && said(&tried).is_empty(), "{tried:?}");
    }
}

/// A process that is not confined, with its folder, a file and a variable where
/// a confined one must not look.
struct Other(Child);

impl Other {
    fn of(ground: &Ground) -> Self {
        let script = "exec 7<secret; echo on; read x";
        let mut command = ground.prepared(Command::new("/bin/sh"));
        command.args(["-c", script]).current_dir(ground.path("data")).env("KEY", "hush");
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
    for ground in grounds() {
        let other = Other::of(&ground);
        let secret = ground.text("data/secret");
        ground.refuses(&["read", &other.entry(&format!("root{secret}"))]);
        ground.refuses(&["read", &other.entry("cwd/secret")]);
        ground.refuses(&["read", &other.entry("fd/7")]);
        ground.refuses(&["link", &other.entry("fd/7")]);
        ground.refuses(&["open", &other.entry("environ")]);
        ground.refuses(&["read", &other.entry("environ")]);
        ground.refuses(&["open", &other.entry("mem")]);
        ground.refuses(&["open", &other.entry("maps")]);
    }
}

#[test]
fn a_hidden_folder_that_is_made_later_is_hidden() {
    for ground in grounds() {
        let (deep, file) = (ground.path("near/later/deeper"), "near/later/deeper/secret");
        let by = Confinement::new([ground.path("work")], [deep.clone()]).unwrap();
        let script = "echo on; read x; exec \"$@\"";
        let mut command = ground.prepared(by.command(&ground.helper(), "/bin/sh"));
        command.args(["-c", script, "sh", &ground.deeds(), "read", &ground.text(file)]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(ground.path(file), "later").unwrap();
        ground.own_all();
        drop(child.stdin.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), said(&ended).as_str()), (Some(1), "13"), "{ended:?}");
        let free = ground.free(&ground.deeds(), &["read", &ground.text(file)]);
        assert_eq!(said(&free), "later");
        let near = ground.confined_by(&by, &ground.deeds(), &["read", &ground.text("near/plain")]);
        assert_eq!(said(&near), "near");
    }
}

#[test]
fn what_a_hidden_link_leads_to_is_hidden() {
    for ground in grounds() {
        std::os::unix::fs::symlink(ground.path("data"), ground.path("link")).unwrap();
        let by = Confinement::new([ground.path("work")], [ground.path("link")]).unwrap();
        for path in ["data/secret", "link/secret"] {
            assert!(ground.free(&ground.deeds(), &["read", &ground.text(path)]).status.success());
            let tried = ground.confined_by(&by, &ground.deeds(), &["read", &ground.text(path)]);
            assert!(ground.is_unseen(&said(&tried)), "{path}: {tried:?}");
        }
    }
}

#[test]
fn what_could_not_be_hidden_is_not_executed() {
    for ground in grounds() {
        // What it leads to is not known yet, or lies where it may write.
        for (name, target) in [("nowhere", "near/none"), ("inside", "work/own")] {
            std::os::unix::fs::symlink(ground.path(target), ground.path(name)).unwrap();
            let by = Confinement::new([ground.path("work")], [ground.path(name)]).unwrap();
            let tried = ground.confined_by(&by, "true", &[]);
            assert_eq!(tried.status.code(), Some(126), "{name}: {tried:?}");
            assert!(complained(&tried).contains("hidden"), "{name}: {tried:?}");
        }
    }
}

#[test]
fn a_folder_to_work_in_may_lie_in_a_hidden_one() {
    for ground in grounds() {
        std::fs::create_dir_all(ground.path("data/trees/one")).unwrap();
        std::fs::create_dir_all(ground.path("data/trees/two")).unwrap();
        std::fs::write(ground.path("data/trees/two/file"), "theirs").unwrap();
        ground.own_all();
        let tree = ground.path("data/trees/one");
        let by = Confinement::new([tree.clone()], [ground.path("data")]).unwrap();
        let script = "cd \"$1\" && mkdir a && echo mine > a/b && mv a/b c && cat c && ls";
        let done = ground.confined_by(&by, "sh", &["-c", script, "sh", tree.to_str().unwrap()]);
        assert_eq!(said(&done), "mine\na\nc", "{done:?}");
        for path in ["data/secret", "data/trees/two/file"] {
            let tried = ground.confined_by(&by, &ground.deeds(), &["read", &ground.text(path)]);
            assert!(ground.is_unseen(&said(&tried)), "{tried:?}");
        }
        assert!(Path::new(&tree).join("c").exists());
    }
}

#[test]
fn a_hidden_file_is_hidden_and_its_neighbours_are_not() {
    for ground in grounds() {
        let by = Confinement::new([ground.path("work")], [ground.path("near/token")]).unwrap();
        std::fs::write(ground.path("near/token"), "hush").unwrap();
        ground.own_all();
        let read = |name| ground.confined_by(&by, &ground.deeds(), &["read", &ground.text(name)]);
        assert_eq!(said(&read("near/token")), "13");
        assert_eq!(said(&read("near/plain")), "near");
        assert_eq!(said(&read("data/secret")), "data", "nothing else is hidden");
    }
}
