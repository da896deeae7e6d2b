//! A model that needs no network and no key, for first steps and for `demo`.
//!
//! It is no language model and says so. It plans by rule: it looks at the
//! current folder, sends one agent off for each folder in it, and adds up what
//! they have counted. What it does is decided by the conversation alone, so it
//! does the same after a crash.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::answer::{Answer, Piece, Stop};
use crate::call::Call;
use crate::message::{Part, Role, ToolCall, ToolResult};
use crate::model::{Facts, Model, Pieces};
use crate::name::{ModelName, Provider};
use crate::usage::Usage;

/// How the task of an agent begins that counts one folder.
const ERRAND: &str = "Survey the folder ";

/// What it calls itself in everything it says.
const LABEL: &str = "(offline model: counted by rule, no language model was asked)";

/// How many agents it sends off in one answer.
const AT_ONCE: usize = 16;

/// How long a folder's name may be for the agent that counts it to bear it.
const SHORT: usize = 24;

/// How long the slow one takes at least.
const SOON: Duration = Duration::from_millis(600);

/// What may not be the name of an agent.
const RESERVED: [&str; 5] = ["parent", "self", "all", "broadcast", "root"];

/// A model that surveys the current folder by rule. By default it is
/// `offline/survey`, which answers at once.
#[derive(Clone, Debug)]
pub struct Offline {
    name: ModelName,
    pace: Pace,
}

/// How soon it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    AtOnce,
    /// After a second or so, like a model that is far away.
    Slowly,
}

/// What there is in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    files: u64,
    folders: u64,
    bytes: u64,
    lines: u64,
}

impl Default for Offline {
    fn default() -> Self {
        Self::of("survey", Pace::AtOnce)
    }
}

impl Offline {
    /// How a line of the log begins that says what was asked of the slow one.
    pub const ASKED: &str = "the offline model is asked for ";

    /// `offline/slow-survey`: it says the same after a second or so, like a model
    /// that is far away, and notes in the log what it is asked. So its agents can
    /// be watched, and it can be told afterwards what was asked twice.
    pub fn slow() -> Self {
        Self::of("slow-survey", Pace::Slowly)
    }

    /// All of them.
    pub fn all() -> [Self; 2] {
        [Self::default(), Self::slow()]
    }

    fn of(name: &str, pace: Pace) -> Self {
        // The names are some.
        let name = ModelName::new(Provider::Offline, name);
        Self { name: name.unwrap_or_else(|_| unreachable!("a valid name")), pace }
    }
}

impl Model for Offline {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn facts(&self) -> Facts {
        Facts { window: 10_000_000, output: 1_000_000 }
    }

    fn call(&self, call: Call) -> Pieces {
        let parts = match errand(&call) {
            Some(folder) => count(&call, &folder),
            None => lead(&call),
        };
        let mut pieces: Vec<_> = parts.iter().filter_map(text_of).map(Ok).collect();
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = if calls { Stop::ToolCalls } else { Stop::Done };
        let answer = Answer { parts, stop, usage: Usage::default() };
        pieces.push(Ok(Piece::Whole(Box::new(answer))));
        let pieces = stream::iter(pieces);
        if self.pace == Pace::AtOnce {
            return Box::pin(pieces);
        }
        let question = Question::of(&call);
        let late = async move {
            tracing::info!("{}{question}", Self::ASKED);
            tokio::time::sleep(question.span()).await;
            pieces
        };
        Box::pin(stream::once(late).flatten())
    }
}

/// What the model is asked for: which answer, and of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    answer: usize,
    folder: Option<String>,
}

impl Question {
    fn of(call: &Call) -> Self {
        let answers = call.messages.iter().filter(|message| message.role == Role::Assistant);
        let short = |folder: String| folder.chars().take(100).collect();
        Self { answer: answers.count() + 1, folder: errand(call).map(short) }
    }

    /// How long the answer takes: not the same for all, and always the same for
    /// one.
    fn span(&self) -> Duration {
        let Some(folder) = &self.folder else { return SOON };
        let name = folder.bytes().map(u64::from).sum::<u64>();
        let answer = self.answer as u64;
        SOON + Duration::from_millis((name * 550 + answer * 100) % 1_400)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answer {} of ", self.answer)?;
        match &self.folder {
            Some(folder) => write!(f, "{}", Value::from(folder.as_str())),
            None => f.write_str("the lead"),
        }
    }
}

fn text_of(part: &Part) -> Option<Piece> {
    match part {
        Part::Text { text, .. } => Some(Piece::Text(text.clone())),
        _ => None,
    }
}

/// The folder that this agent was sent off for, if it was.
fn errand(call: &Call) -> Option<String> {
    let first = call.messages.first()?.parts.first()?;
    let Part::Text { text, .. } = first else { return None };
    serde_json::from_str(text.strip_prefix(ERRAND)?).ok()
}

/// Counts one folder.
fn count(call: &Call, folder: &str) -> Vec<Part> {
    match results(call, "survey").next() {
        None => vec![calling("survey-1", "survey", json!({ "path": folder, "deep": true }))],
        Some(result) => vec![Part::text(match Survey::read(result) {
            Ok(survey) => format!("{}: {}", Value::from(folder), survey.figures.told()),
            Err(words) => format!("{folder} could not be counted: {words}"),
        })],
    }
}

/// Looks, sends off, and adds up.
fn lead(call: &Call) -> Vec<Part> {
    let Some(result) = results(call, "survey").next() else {
        return vec![calling("survey-1", "survey", json!({ "path": ".", "deep": false }))];
    };
    let top = match Survey::read(result) {
        Ok(top) => top,
        Err(words) => return vec![Part::text(format!("{LABEL}\nNothing was counted: {words}"))],
    };
    let sent = results(call, "spawn_agent").count();
    if sent < top.folders.len() {
        let next = top.folders.iter().enumerate().skip(sent).take(AT_ONCE);
        return next.map(|(number, folder)| send_off(number, folder)).collect();
    }
    let (home, failed) = (come_home(call), failures(call));
    let out = sent.saturating_sub(home.len() + failed.len());
    if out > 0 {
        return vec![Part::text(format!("{LABEL}\nWaiting for {out} of {sent} surveys."))];
    }
    vec![Part::text(told(&top, &home, &failed))]
}

fn send_off(number: usize, folder: &str) -> Part {
    let id = format!("spawn-{}", number + 1);
    let task = format!("{ERRAND}{}", Value::from(folder));
    let mut arguments = json!({ "task": task });
    if is_name(folder) {
        arguments["name"] = folder.into();
    }
    calling(&id, "spawn_agent", arguments)
}

/// Whether an agent may bear the name of this folder: no other folder beside it
/// reads the same, and it is not reserved.
fn is_name(folder: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=SHORT).contains(&folder.len()) && folder.bytes().all(plain) && !RESERVED.contains(&folder)
}

fn calling(id: &str, name: &str, arguments: Value) -> Part {
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_string());
    Part::ToolCall(ToolCall { id, name, arguments, item: Value::Null })
}

fn results<'a>(call: &'a Call, tool: &'a str) -> impl Iterator<Item = &'a ToolResult> {
    let parts = call.messages.iter().flat_map(|message| &message.parts);
    parts.filter_map(move |part| match part {
        Part::ToolResult(result) if result.name == tool => Some(result),
        _ => None,
    })
}

/// What a survey says of one folder and those in it.
struct Survey {
    folders: Vec<String>,
    figures: Figures,
}

impl Survey {
    fn read(result: &ToolResult) -> Result<Self, String> {
        if result.failed {
            return Err(result.text.clone());
        }
        let told: Value = serde_json::from_str(&result.text).map_err(|error| error.to_string())?;
        let number = |name: &str| told[name].as_u64().unwrap_or(0);
        let names = told["names"].as_array().into_iter().flatten();
        Ok(Self {
            folders: names.filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
            figures: Figures {
                files: number("files"),
                folders: number("folders"),
                bytes: number("bytes"),
                lines: number("lines"),
            },
        })
    }
}

impl Figures {
    fn told(self) -> String {
        let Self { files, folders, bytes, lines } = self;
        format!("{files} files, {folders} folders, {bytes} bytes, {lines} lines")
    }

    fn read(told: &str) -> Option<Self> {
        let mut parts = told.split(", ");
        let mut number = |what: &str| -> Option<u64> {
            parts.next()?.trim().strip_suffix(what)?.trim().parse().ok()
        };
        let (files, folders) = (number("files")?, number("folders")?);
        Some(Self { files, folders, bytes: number("bytes")?, lines: number("lines")? })
    }

    fn add(&mut self, more: Self) {
        self.files += more.files;
        self.folders += more.folders;
        self.bytes += more.bytes;
        self.lines += more.lines;
    }
}

/// Notices of results, by the task they tell of.
fn notices(call: &Call) -> impl Iterator<Item = (&str, &str)> {
    let said = call.messages.iter().filter(|message| message.role == Role::User);
    said.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text { text, .. } => {
            let rest = text.strip_prefix("<notice kind=\"result\" task=\"")?;
            rest.split_once('"')
        }
        _ => None,
    })
}

/// What the agents that have ended have counted, by their folders.
fn come_home(call: &Call) -> BTreeMap<String, Figures> {
    notices(call).filter_map(|(_, rest)| counted(rest)).collect()
}

/// The agents that have ended and have counted nothing.
fn failures(call: &Call) -> Vec<&str> {
    notices(call).filter(|(_, rest)| counted(rest).is_none()).map(|(task, _)| task).collect()
}

fn counted(notice: &str) -> Option<(String, Figures)> {
    notice.lines().find_map(|line| {
        let (folder, figures) = line.rsplit_once(": ")?;
        Some((serde_json::from_str(folder).ok()?, Figures::read(figures)?))
    })
}

fn told(top: &Survey, home: &BTreeMap<String, Figures>, failed: &[&str]) -> String {
    let mut all = top.figures;
    home.values().for_each(|figures| all.add(*figures));
    let mut lines = vec![LABEL.to_owned(), format!("Here: {}", all.told())];
    lines.extend(home.iter().map(|(folder, figures)| format!("  {folder}: {}", figures.told())));
    if !failed.is_empty() {
        lines.push(format!("Not counted, because their agents failed: {}", failed.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::model::whole;

    fn first_of(folder: &str) -> Call {
        Call::new("", vec![Message::user(format!("{ERRAND}{}", Value::from(folder)))])
    }

    #[tokio::test(start_paused = true)]
    async fn the_slow_one_says_the_same_later() {
        let (soon, slow) = (Offline::default(), Offline::slow());
        let began = tokio::time::Instant::now();
        let said = whole(soon.call(first_of("docs"))).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(whole(slow.call(first_of("docs"))).await.unwrap(), said);
        assert!(began.elapsed() >= SOON);
        assert_eq!(Question::of(&first_of("docs")).to_string(), "answer 1 of \"docs\"");
    }

    #[test]
    fn an_agent_bears_the_name_of_its_folder_if_nothing_else_reads_the_same() {
        for name in ["docs", "v2", "agent-1"] {
            assert!(is_name(name), "{name}");
        }
        for other in ["", "Docs", "all", "a b", "ü", "self", &"x".repeat(65)] {
            assert!(!is_name(other), "{other}");
        }
    }
}
