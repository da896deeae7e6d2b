//! The offline model: what it counts is what is there.

use std::path::Path;

use offshoot_agent::{Agents, Brief, KIND, survey};
use offshoot_models::Offline;
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Makes a tree of files; which file is in which folder and how long it is.
fn grow(root: &Path, files: &[(u8, u8, u16)]) {
    for (number, (top, below, length)) in files.iter().enumerate() {
        let folder = match top % 5 {
            0 => root.to_owned(),
            top => root.join(format!("top {top}")).join(format!("b{}", below % 3)),
        };
        std::fs::create_dir_all(&folder).unwrap();
        let text: String = (0..*length).map(|at| if at % 7 == 3 { '\n' } else { 'x' }).collect();
        std::fs::write(folder.join(format!("f{number}")), text).unwrap();
    }
}

/// Counts with the tools of the system.
fn counted(root: &Path) -> String {
    let sh = |line: &str| {
        let out = std::process::Command::new("sh").args(["-c", line]).current_dir(root).output();
        String::from_utf8(out.unwrap().stdout).unwrap().trim().to_owned()
    };
    format!(
        "{} files, {} folders, {} bytes, {} lines",
        sh("find . -type f | wc -l"),
        sh("find . -mindepth 1 -type d | wc -l"),
        sh("find . -type f -exec cat {} + | wc -c"),
        sh("find . -type f -exec cat {} + | wc -l"),
    )
}

async fn asked(folder: &Path) -> String {
    let agents = Agents::with_model(Offline::default()).tool(survey());
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let brief = Brief::new("offline/survey".parse().unwrap(), "What is here?").folder(folder);
    let lead = session.spawn(agents.request(&brief).unwrap()).await.unwrap();
    lead.wait().await.unwrap().decode().unwrap()
}

#[test]
fn its_figures_are_those_of_an_independent_count() {
    let tokio = tokio::runtime::Runtime::new().unwrap();
    let tree = proptest::collection::vec((any::<u8>(), any::<u8>(), 0_u16..2_000), 0..40);
    let mut runner =
        TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    let held = runner.run(&tree, |files| {
        let folder = tempfile::tempdir().unwrap();
        grow(folder.path(), &files);
        let answer = tokio.block_on(asked(folder.path()));
        let wanted = format!("Here: {}", counted(folder.path()));
        prop_assert!(answer.lines().any(|line| line == wanted), "{answer}\nwanted {wanted}");
        prop_assert!(answer.contains("no language model"), "it is labelled");
        Ok(())
    });
    held.unwrap();
}
