//! `offshoot demo`, when it is not let play to its end.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::support::{Started, World};

/// A demo whose folder is in a folder of its own.
struct Demo {
    started: Started,
    stage: PathBuf,
}

impl Demo {
    /// Starts it, and waits until its commands run.
    fn start(world: &World) -> Self {
        let stage = world.folder.path().join("tmp");
        std::fs::create_dir_all(&stage).unwrap();
        let mut command = world.hearing(&["demo"]);
        command.env("TMPDIR", &stage);
        let mut started = Started::new(command);
        started.until_line("   hail      running");
        assert_eq!(std::fs::read_dir(&stage).unwrap().count(), 1);
        Self { started, stage }
    }
}

/// Which processes, beside the demo itself, have to do with this folder: by
/// their arguments, or by where they are.
#[cfg(target_os = "linux")]
fn processes_of(folder: &std::path::Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let of = |process: std::path::PathBuf| {
        let arguments = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let place = std::fs::read_link(process.join("cwd")).unwrap_or_default();
        let place = place.to_string_lossy();
        let is = arguments.contains(folder) || place.starts_with(folder);
        is.then(|| format!("{}: {arguments}", process.display()))
    };
    entries.filter_map(|entry| of(entry.path())).collect()
}

#[cfg(not(target_os = "linux"))]
fn processes_of(_folder: &std::path::Path) -> Vec<String> {
    Vec::new()
}

#[test]
fn one_that_is_interrupted_leaves_nothing_behind() {
    let world = World::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let demo = Demo::start(&world);
        demo.started.signal(signal);
        let said = demo.started.finish();
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.err.contains("interrupted: ended what was running"), "{said:?}");
        assert_eq!(std::fs::read_dir(&demo.stage).unwrap().count(), 0, "the folder is gone");
        assert_eq!(processes_of(&demo.stage), Vec::<String>::new());
    }
}
