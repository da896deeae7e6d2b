//! A model that needs no network and no key, for first steps and for `demo`.
//!
//! It is no language model and says so. It plans by rule: it looks at the
//! current folder, sends one agent off for each folder in it, and adds up what
//! they have counted. What it does is decided by the conversation alone, so it
//! does the same after a crash.

mod figures;
mod lead;
mod names;

use std::fmt;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use offshoot_core::text;
use serde_json::{Value, json};

use crate::answer::{Answer, AnswerEvent, Stop};
use crate::call::Call;
use crate::message::{Part, Role, ToolCall, ToolResult};
use crate::model::{AnswerStream, Model, ModelLimits};
use crate::name::ModelName;
use crate::provider::Provider;
use crate::usage::Usage;

use self::figures::Survey;
use self::lead::lead;

/// How the task of an agent begins that counts one folder.
const ERRAND: &str = "Survey the folder ";

/// What it calls itself in everything it says.
const LABEL: &str = "(offline model: counted by rule, no language model was asked)";

/// How much of a folder's name is shown.
const SHOWN: usize = 80;

/// How long the slow one takes at least.
const SOON: Duration = Duration::from_millis(600);

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

    fn limits(&self) -> ModelLimits {
        ModelLimits { window: 10_000_000, output: 1_000_000 }
    }

    fn call(&self, call: Call) -> AnswerStream {
        let answer = match errand(&call) {
            Some(folder) => count(&call, &folder).answer(),
            None => lead(&call).answer(),
        };
        let mut pieces: Vec<_> = answer.parts.iter().filter_map(text_of).map(Ok).collect();
        pieces.push(Ok(AnswerEvent::Whole(Box::new(answer))));
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

fn text_of(part: &Part) -> Option<AnswerEvent> {
    match part {
        Part::Text { text, .. } => Some(AnswerEvent::Text(text.clone())),
        _ => None,
    }
}

/// The directory that this agent was spawned for, if it was.
fn errand(call: &Call) -> Option<String> {
    let first = call.messages.first()?.parts.first()?;
    let Part::Text { text, .. } = first else { return None };
    folder_of(text).map(str::to_owned)
}

/// The task of an agent that counts a folder.
fn task(folder: &str) -> String {
    format!("{ERRAND}\"{folder}\"")
}

/// The folder that this task is about, if it is one.
fn folder_of(task: &str) -> Option<&str> {
    task.strip_prefix(ERRAND)?.strip_prefix('"')?.strip_suffix('"')
}

/// Counts one folder.
fn count(call: &Call, folder: &str) -> OfflineReply {
    match results(call, "survey").next() {
        None => OfflineReply::Calls(vec![survey(folder, Depth::Deep)]),
        Some(result) => match Survey::read(result) {
            Ok(survey) => {
                OfflineReply::Answer(format!("{}: {}", shown(folder), survey.figures.told()))
            }
            Err(words) => {
                OfflineReply::not_counted(format!("{} was not counted: {words}", shown(folder)))
            }
        },
    }
}

/// What it says.
#[derive(Clone, Debug)]
enum OfflineReply {
    /// These calls.
    Calls(Vec<Part>),
    /// This, which is an answer or the end of a turn.
    Answer(String),
    /// This, and that there is no answer, because of that.
    Nothing { said: String, why: String },
}

impl OfflineReply {
    /// It has no answer, because of this.
    fn not_counted(why: String) -> Self {
        Self::Nothing { said: why.clone(), why }
    }

    fn answer(self) -> Answer {
        let (parts, stop) = match self {
            Self::Calls(calls) => (calls, Stop::ToolCalls),
            Self::Answer(text) => (vec![Part::text(text)], Stop::Done),
            Self::Nothing { said, why } => (vec![Part::text(said)], Stop::Refused(why)),
        };
        Answer { parts, stop, usage: Usage::default() }
    }
}

/// How far a survey looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// At what is directly in a folder.
    Top,
    /// At everything below it.
    Deep,
}

fn survey(folder: &str, depth: Depth) -> Part {
    let id = if depth == Depth::Deep { "survey-deep" } else { "survey-top" };
    calling(id, "survey", &json!({ "path": folder, "deep": depth == Depth::Deep }))
}

fn calling(id: &str, name: &str, arguments: &Value) -> Part {
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

/// A folder as it is shown: on one line, and not longer than one.
fn shown(folder: &str) -> String {
    let safe = |c: char| if text::is_unsafe(c) { text::picture(c) } else { c };
    let folder: String = folder.chars().map(safe).collect();
    text::cut(&folder, SHOWN).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::model::whole;

    fn first_of(folder: &str) -> Call {
        Call::new("", vec![Message::user(task(folder))])
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
    fn an_errand_names_any_folder() {
        for folder in ["docs", "", " a ", "\"", "a\"b\"", "a\nb", "\\xff", "<notice>"] {
            assert_eq!(errand(&first_of(folder)).as_deref(), Some(folder), "{folder:?}");
        }
    }
}
