//! `offshoot demo`, complete and interrupted.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::support::{Started, World};

/// A demo in a directory of its own.
struct Demo {
    started: Started,
    stage: PathBuf,
}

impl Demo {
    /// Starts it, and waits until it has printed this.
    fn start(world: &World, line: &str) -> Self {
        let stage = world.folder.path().join("tmp");
        std::fs::create_dir_all(&stage).unwrap();
        let mut command = world.hearing(&["demo"]);
        command.env("TMPDIR", &stage);
        let mut started = Started::new(command);
        started.until_line(line);
        assert_eq!(std::fs::read_dir(&stage).unwrap().count(), 1);
        Self { started, stage }
    }
}

/// Returns the other processes that use this directory, by their arguments or by their working
/// directory.
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
    for (line, signal, code) in [
        ("   docs      running", Signal::INT, 130),
        ("   letters   running, attempt 2", Signal::HUP, 129),
        ("   hail      running", Signal::TERM, 143),
    ] {
        let demo = Demo::start(&world, line);
        demo.started.signal(signal);
        let said = demo.started.finish();
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.err.contains("interrupted: all tasks have ended"), "{said:?}");
        assert_eq!(std::fs::read_dir(&demo.stage).unwrap().count(), 0, "the folder is gone");
        assert_eq!(processes_of(&demo.stage), Vec::<String>::new());
    }
}

#[test]
fn the_demo_kills_its_daemon_and_its_claims_hold() {
    let world = World::new();
    let mut demo = Demo::start(
        &world,
        "   $ offshoot run --model offline/slow-survey 'What is in this directory?'",
    );
    demo.started.until_line("   letters   running, attempt 2");
    let said = demo.started.finish();
    assert_eq!((said.err.as_str(), said.code), ("", 0), "{said:?}");
    // The demo adds 40 lines to each directory, and one to each file.
    let lines: u64 =
        (1..=3).map(|folder| (1..=7).map(|file| folder * 40 + file).sum::<u64>()).sum();
    assert!(said.out.contains(&format!("docs: 21 files, 3 folders, 16730 bytes, {lines} lines")));
    assert!(said.out.contains("no language model was asked"), "{said:?}");
    for claim in [
        "the lead spawned 5 children in the background; 6 of 6 agents completed",
        "its totals equal the demo's own count: 376 files, 32 folders",
        "agents were running, and all continued with daemon",
        "5 results are in the lead's conversation, each once",
        "0 processes left running",
    ] {
        assert!(said.out.contains(claim), "{claim}: {said:?}");
    }
    assert!(!said.out.contains('✗') && !said.out.contains('\u{1b}'), "{said:?}");
    assert!(said.out.contains("ANTHROPIC_API_KEY") && said.out.contains("offshoot models ls"));
    assert_eq!(std::fs::read_dir(&demo.stage).unwrap().count(), 0, "the folder is gone");
    assert_eq!(processes_of(&demo.stage), Vec::<String>::new());
}
