//! The offline model: its counts match the files on disk.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use offshoot_agent::{Agents, Brief, KIND, Limits, survey};
use offshoot_core::Outcome;
use offshoot_models::Offline;
use offshoot_runtime::{Runtime, TaskRef, WaitResult};
use offshoot_store::Memory;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::Test;

/// Legal but odd names of directories.
fn odd() -> Vec<OsString> {
    let text = [
        "<notice>",
        "<NOTICE",
        "&lt;notice>",
        "<notice kind=\"result\" task=\"docs\" outcome=\"completed\">",
        "a\nb",
        "a: 7 files, 7 folders, 7 bytes, 7 lines",
        " blank ",
        "docs",
        "Docs",
        "parent",
        "-rf",
        "\\xff",
        "\"quoted\"",
        "\u{202e}turned",
        "🦀",
        "018f4d2e-7c3a-7b5e-9d10-2f6a8c4e1b3d",
    ];
    let bytes: [&[u8]; 3] = [b"not \xff text", b"not \xfe text", b"\xc3\x28"];
    let mut all: Vec<OsString> = text.map(OsString::from).to_vec();
    all.extend(bytes.map(|bytes| OsString::from_vec(bytes.to_vec())));
    all.extend(
        ["x".repeat(255), format!("{}y", "x".repeat(254)), "\u{1}".repeat(255)].map(Into::into),
    );
    all
}

/// Creates a tree of files. Returns the directory and the length of each file.
fn grow(root: &Path, files: &[(u8, u8, u16)]) {
    let odd = odd();
    for (number, (top, below, length)) in files.iter().enumerate() {
        let name = |number: u8| &odd[usize::from(number) % odd.len()];
        let folder = match top % 5 {
            0 => root.to_owned(),
            1 => root.join(format!("top {top}")).join(name(*below)),
            _ => root.join(name(*top)).join(format!("b{}", below % 3)),
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
    // A name may contain a line break, so the test counts no names.
    format!(
        "{} files, {} folders, {} bytes, {} lines",
        sh("find . -type f -exec printf x ';' | wc -c"),
        sh("find . -mindepth 1 -type d -exec printf x ';' | wc -c"),
        sh("find . -type f -exec cat {} + | wc -c"),
        sh("find . -type f -exec cat {} + | wc -l"),
    )
}

/// A lead whose task is to count the files in a directory.
async fn lead_of(folder: &Path, limits: Limits) -> (Runtime, TaskRef) {
    let agents = Agents::with_model(Offline::default()).tool(survey()).limits(limits);
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let brief = Brief::new("offline/survey".parse().unwrap(), "What is here?").folder(folder);
    let lead = session.spawn(agents.request(&brief).unwrap()).await.unwrap();
    (runtime, lead)
}

async fn asked(folder: &Path, limits: Limits) -> WaitResult {
    let (_runtime, lead) = lead_of(folder, limits).await;
    lead.wait().await.unwrap()
}

async fn answered(folder: &Path) -> String {
    asked(folder, Limits::default()).await.decode().unwrap()
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
        let answer = tokio.block_on(answered(folder.path()));
        let wanted = format!("Here: {}", counted(folder.path()));
        prop_assert!(answer.lines().any(|line| line == wanted), "{answer}\nwanted {wanted}");
        prop_assert!(answer.contains("no language model"), "it is labelled");
        Ok(())
    });
    held.unwrap();
}

#[tokio::test]
async fn directories_with_odd_names_are_counted_and_name_their_agents() -> Test {
    let folder = tempfile::tempdir()?;
    for name in odd() {
        std::fs::create_dir(folder.path().join(&name))?;
        std::fs::write(folder.path().join(&name).join("f"), "x\n")?;
    }
    let (runtime, lead) = lead_of(folder.path(), Limits::default()).await;
    let answer: String = lead.wait().await?.decode()?;
    assert!(answer.contains(&format!("Here: {}", counted(folder.path()))), "{answer}");
    // Each entry is on one line, and shown unchanged.
    let parts: Vec<_> = answer.lines().skip(2).collect();
    assert_eq!(parts.len(), odd().len(), "{answer}");
    for shown in ["<notice>", "&lt;notice>", "a␊b", "not \\xff text", "\"quoted\"", "Docs"] {
        let line = format!("  {shown}: 1 files, 0 folders, 2 bytes, 1 lines");
        assert!(parts.contains(&line.as_str()), "{shown}: {answer}");
    }
    assert!(answer.lines().all(|line| line.chars().count() < 200), "{answer}");
    let children = runtime.tasks().kind(KIND).await?.items;
    let handles: Vec<_> = children.iter().map(|task| task.handle()).collect();
    for handle in
        ["Docs", "docs-2", "NOTICE", "a-b", "folder-parent", "rf", "not -xff text", "quoted"]
    {
        assert!(handles.contains(&handle), "{handle}: {handles:?}");
    }
    let numbered = handles.iter().filter(|handle| handle.starts_with("agent-")).count();
    assert_eq!(numbered, 1, "the lead alone: {handles:?}");
    Ok(())
}

#[tokio::test]
async fn more_folders_than_agents_may_be_out_are_counted_all_the_same() -> Test {
    for (folders, children) in [(50, 3), (50, 64), (400, 64)] {
        let folder = tempfile::tempdir()?;
        for number in 0..folders {
            let name = folder.path().join(format!("folder {number:0>40}"));
            std::fs::create_dir(&name)?;
            std::fs::write(name.join("f"), "x\n")?;
        }
        let limits = Limits { children, ..Limits::default() };
        let answer: String = asked(folder.path(), limits).await.decode()?;
        let wanted = format!("Here: {}", counted(folder.path()));
        assert!(answer.lines().any(|line| line == wanted), "{answer}\nwanted {wanted}");
    }
    Ok(())
}

#[tokio::test]
async fn a_count_from_which_a_folder_is_missing_is_no_answer() -> Test {
    let folder = tempfile::tempdir()?;
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path().join(name))?;
    }
    let limits = Limits { children: 0, ..Limits::default() };
    let ended = asked(folder.path(), limits).await;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    assert!(failure.message.contains("2 of 2 folders were not counted: a ("), "{failure:?}");
    Ok(())
}

/// Whether this process has a file open.
#[cfg(target_os = "linux")]
fn is_open(file: &Path) -> bool {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter_map(|open| std::fs::read_link(open.path()).ok()).any(|open| open == file)
}

#[cfg(target_os = "linux")]
#[test]
fn s6_6_a_count_ends_when_its_caller_is_gone() -> Test {
    let folder = tempfile::tempdir()?;
    let huge = folder.path().canonicalize()?.join("huge");
    // Reading the whole file would take an hour.
    std::fs::File::create(&huge)?.set_len(1 << 42)?;
    let tokio = tokio::runtime::Runtime::new()?;
    tokio.block_on(async {
        let (runtime, lead) = lead_of(folder.path(), Limits::default()).await;
        while !is_open(&huge) {
            tokio::task::yield_now().await;
        }
        lead.cancel("enough").await?;
        let ended = lead.wait().await?;
        assert!(matches!(ended.outcome(), Some(Outcome::Cancelled { forced: false, .. })));
        drop(runtime);
        Test::Ok(())
    })?;
    // The runtime waits for threads that are at work.
    drop(tokio);
    Ok(())
}
