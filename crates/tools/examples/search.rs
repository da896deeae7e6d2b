//! Compares a search with ripgrep's library on the same tree.
//!
//! ```text
//! cargo run --release -p offshoot-tools --example search [files]
//! ```
//! Makes a tree of 50,000 files in a temporary directory, and searches it in turn
//! with the tool, as an agent calls it, and with ripgrep's parallel walk and its
//! searcher. Prints the medians and their ratio.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::stream;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use ignore::{WalkBuilder, WalkState};
use offshoot_agent::{Agents, Brief, KIND};
use offshoot_models::{
    Answer, AnswerEvent, AnswerStream, Call, Model, ModelLimits, ModelName, Part, Stop, ToolCall,
    Usage,
};
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use offshoot_tools::Files;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The number of measurements, of which the median is used.
const RUNS: usize = 9;

/// The number of files in a directory.
const IN_FOLDER: usize = 50;

/// The patterns: a word in few files, a word in many files, and an expression.
const PATTERNS: [&str; 3] = ["needle", "let", r"\bneed\w+ [0-9]+"];

fn main() -> Outcome<()> {
    let files = std::env::args().nth(1).map_or(Ok(50_000), |files| files.parse())?;
    let home = tempfile::tempdir()?;
    plant(home.path(), files)?;
    let runtime = tokio::runtime::Runtime::new()?;
    println!("| what | measured | must be | |\n|---|---|---|---|");
    for pattern in PATTERNS {
        // The first run loads all files into memory for both.
        let lines = ripgrep(home.path(), pattern)?.1;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            theirs.push(ripgrep(home.path(), pattern)?.0);
            let (took, told) = runtime.block_on(tool(home.path(), pattern))?;
            assert!(told.contains(&format!("{lines} lines in ")), "{lines}: {told}");
            ours.push(took);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let verdict = if ratio <= 1.5 { "met" } else { "**not met**" };
        println!(
            "| `search` for `{pattern}` in {files} files ({lines} lines), against {theirs:.0?} of \
             ripgrep's library | {ours:.0?}, {ratio:.2}× | at most 1.5× | {verdict} |"
        );
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Creates a tree of files.
fn plant(home: &Path, files: usize) -> Outcome<()> {
    let line = "    let value = compute(input, &mut state)?; // as the others do\n";
    for number in 0..files {
        let folder = number / IN_FOLDER;
        let folder = home.join(format!("crate{}/src/part{folder}", folder % 25));
        if number % IN_FOLDER == 0 {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(".gitignore"), "*.log\n/target\n")?;
        }
        let mut text = format!("//! File {number}.\n\nfn work{number}() {{\n");
        text.push_str(&line.repeat(10 + number % 40));
        if number % 100 == 0 {
            text.push_str("    // the needle 42 is here\n");
        }
        text.push_str("}\n");
        std::fs::write(folder.join(format!("file{number}.rs")), text)?;
    }
    Ok(())
}

/// Measures ripgrep's library. Returns its time and number of lines.
fn ripgrep(home: &Path, pattern: &str) -> Outcome<(Duration, u64)> {
    let begun = Instant::now();
    let mut matcher = RegexMatcherBuilder::new();
    let matcher = matcher.case_smart(true).line_terminator(Some(b'\n')).build(pattern)?;
    let lines = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    // Both search hidden files, and neither reads rules above the directory.
    let walk = WalkBuilder::new(home)
        .hidden(false)
        .parents(false)
        .git_global(false)
        .threads(threads)
        .require_git(false)
        .build_parallel();
    walk.run(|| {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let (matcher, lines) = (&matcher, &lines);
        Box::new(move |entry| {
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|kind| kind.is_file())
            {
                let sink = Bytes(|_, _| {
                    lines.fetch_add(1, Ordering::Relaxed);
                    Ok(true)
                });
                // Unreadable files are skipped.
                let _ = searcher.search_path(matcher, entry.path(), sink);
            }
            WalkState::Continue
        })
    });
    Ok((begun.elapsed(), lines.into_inner()))
}

/// Measures a call of the tool. Returns its time and its text.
async fn tool(home: &Path, pattern: &str) -> Outcome<(Duration, String)> {
    let model = Once::new(pattern);
    let seen = model.seen.clone();
    let agents = Files::new().give(Agents::with_model(model));
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let mut brief = Brief::new("scripted/model".parse()?, "Search.");
    brief.folder = Some(home.canonicalize()?);
    session.spawn(agents.request(&brief)?).await?.wait().await?.ack().await?;
    let seen = seen.lock().map_err(|_| "the model panicked")?;
    let [(asked, _), (answered, told)] = &seen[..] else { return Err("no two calls".into()) };
    Ok((*answered - *asked, told.clone()))
}

/// A model that calls the tool once and notes the times of its requests.
#[derive(Debug)]
struct Once {
    name: ModelName,
    pattern: String,
    seen: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Once {
    fn new(pattern: &str) -> Self {
        let name = ModelName::new(offshoot_models::Provider::Scripted, "model");
        let name = name.unwrap_or_else(|_| unreachable!("a valid name"));
        Self { name, pattern: pattern.to_owned(), seen: Arc::default() }
    }
}

impl Model for Once {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { window: 1_000_000, ..ModelLimits::default() }
    }

    fn call(&self, call: Call) -> AnswerStream {
        let told =
            call.messages.iter().flat_map(|message| &message.parts).find_map(|part| match part {
                Part::ToolResult(result) => Some(result.text.clone()),
                _ => None,
            });
        let (parts, stop) = match &told {
            Some(_) => (vec![Part::text("Done.")], Stop::Done),
            None => {
                let arguments = format!("{{\"pattern\":{:?}}}", self.pattern);
                let (id, name) = ("call".to_owned(), "search".to_owned());
                let call = ToolCall { id, name, arguments, item: serde_json::Value::Null };
                (vec![Part::ToolCall(call)], Stop::ToolCalls)
            }
        };
        if let Ok(mut seen) = self.seen.lock() {
            seen.push((Instant::now(), told.unwrap_or_default()));
        }
        let answer =
            Answer { parts, stop, usage: Usage { input: 1, output: 1, ..Usage::default() } };
        Box::pin(stream::iter([Ok(AnswerEvent::Whole(Box::new(answer)))]))
    }
}
