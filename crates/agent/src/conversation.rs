//! A conversation as the model sees it, folded from the blocks of a history.
//!
//! Everything the loop decides by is in here and comes from the history alone,
//! so an attempt that takes up another one's work stands where that one stood.

pub(crate) mod entry;
pub(crate) mod estimate;
pub(crate) mod history;
pub(crate) mod poll_guard;
pub(crate) mod refusal;
pub(crate) mod stored_output;

use std::sync::Arc;

use offshoot_core::TaskId;
use offshoot_models::{Message, Part, Role, Stop, ToolCall, ToolResult, Usage};
use serde::{Deserialize, Serialize};

use crate::agent_loop::turn_end::{REMINDER, REPAIR};
use crate::conversation::entry::{Answered, Compaction, Continued, Entry};
use crate::conversation::poll_guard::PollGuard;
use crate::notice::{self, is_from_owner, is_of};
use crate::tool::Branch;

/// The kind of notice after which the model says its last words.
pub(crate) const LIMIT: &str = "limit";

/// A conversation so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    messages: Arc<Vec<Message>>,
    tail: Tail,
    finishes: Finishes,
    /// How many blocks the history has.
    blocks: u64,
    /// Where the last two answers begin.
    recent: [Place; 2],
    /// How many answers the model has given.
    step: u64,
    /// How many calls of tools there were.
    calls: u64,
    /// What all answers took.
    total: Usage,
    /// How many turns have ended since somebody spoke to the agent.
    turns: u32,
    /// How often in this turn a look at a task showed what the one before did.
    polls: PollGuard,
    /// How often the agent was asked for what was missing at its end.
    repairs: u32,
    /// In how many answers it has handed in results of which none fitted.
    misfits: u32,
    /// Whether it has in the last one.
    misfit: bool,
    /// Where its turns begin.
    starts: Arc<Vec<Start>>,
    /// How many bytes were said in all.
    said: usize,
    closing: Closing,
    /// Whether it was said at the end of this turn what is still running.
    running_told: bool,
    /// Whether nothing was heard since it was told what is asked.
    reminded: bool,
    /// The task that goes on with it, if that is not the one that began.
    continued: Option<TaskId>,
    /// The last result that it has handed in and that fits.
    finished: Option<Finished>,
    /// Whether it has handed one in with its last answer.
    handed_in: bool,
    /// How many tokens the last call took, if what it was about is all there.
    measured: u64,
    /// How many bytes were added since.
    added: usize,
    /// How many tokens that is at the most.
    bound: u64,
}

/// A place in a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Before this block.
    pub(crate) block: u64,
    /// Before this message.
    pub(crate) message: usize,
}

/// How an agent hands in its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Finishes {
    /// What it says last is its result.
    #[default]
    BySaying,
    /// It calls the tool of this name for it.
    ByTool(&'static str),
}

/// A result that an agent has handed in. It counts until another one does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// What it is, as JSON.
    pub(crate) result: String,
    /// Whether somebody whom the agent works for has spoken to it since.
    #[serde(default)]
    pub(crate) spoken_since: bool,
}

/// Where a turn begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Before this block.
    pub(crate) block: u64,
    /// After so many bytes.
    pub(crate) said: usize,
}

/// Whether an agent that has come to a limit has said its last words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Closing {
    /// It has come to none.
    #[default]
    No,
    /// It was asked for them.
    Asked,
    /// It has.
    Said,
}

/// What comes next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Tail {
    /// Nothing was said yet.
    #[default]
    Empty,
    /// The model is to answer.
    Spoken,
    /// These calls have no result yet.
    Calls(Vec<ToolCall>),
    /// The model has ended its turn.
    Ended(Stop),
}

impl Conversation {
    /// Nothing was said yet.
    pub(crate) fn new(finishes: Finishes) -> Self {
        Self { finishes, ..Self::default() }
    }

    /// What is sent to the model.
    pub(crate) fn messages(&self) -> &Arc<Vec<Message>> {
        &self.messages
    }

    /// What comes next.
    pub(crate) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// How many blocks the history has.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// From where on the last two steps are.
    pub(crate) fn recent(&self) -> Place {
        self.recent[0]
    }

    /// How many answers the model has given.
    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// What all answers took.
    pub(crate) fn usage(&self) -> Usage {
        self.total
    }

    /// How many calls of tools there were.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether a call in the conversation has this id.
    pub(crate) fn has_called(&self, id: &str) -> bool {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let mut calls = parts.filter_map(|part| match part {
            Part::ToolCall(call) => Some(&call.id),
            _ => None,
        });
        calls.any(|used| used == id)
    }

    /// Whether the end of a task is told in it.
    pub(crate) fn tells(&self, task: TaskId) -> bool {
        let mut parts = self.messages.iter().flat_map(|message| &message.parts);
        parts.any(|part| match part {
            Part::Text { text, .. } => notice::tells(text, task),
            Part::ToolResult(result) => notice::tells(&result.text, task),
            _ => false,
        })
    }

    /// How many turns have ended since somebody spoke to the agent.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// Where a conversation branches off that is forked now.
    pub(crate) fn branch(&self) -> Branch {
        Branch {
            blocks: self.recent[1].block,
            size: self.size(),
            starts: self.starts.clone(),
            said: self.said,
        }
    }

    /// Whether the agent has come to a limit.
    pub(crate) fn closing(&self) -> Closing {
        self.closing
    }

    /// Whether nothing was heard since the agent was told what is asked.
    pub(crate) fn is_reminded(&self) -> bool {
        self.reminded
    }

    /// Whether it was said at the end of this turn what is still running.
    pub(crate) fn is_running_told(&self) -> bool {
        self.running_told
    }

    /// The task that goes on with the conversation, if that is not the one that
    /// began it.
    pub(crate) fn continued(&self) -> Option<TaskId> {
        self.continued
    }

    /// The looks at tasks in this turn.
    pub(crate) fn polls(&self) -> &PollGuard {
        &self.polls
    }

    /// How often the agent was asked for what was missing at its end.
    pub(crate) fn repairs(&self) -> u32 {
        self.repairs
    }

    /// In how many answers it has handed in results of which none fitted.
    pub(crate) fn misfits(&self) -> u32 {
        self.misfits
    }

    /// The last result that it has handed in and that fits.
    pub(crate) fn finished(&self) -> Option<&Finished> {
        self.finished.as_ref()
    }

    /// The same, if nobody whom it works for has spoken to it since.
    pub(crate) fn result(&self) -> Option<&str> {
        let finished = self.finished.as_ref().filter(|finished| !finished.spoken_since);
        finished.map(|finished| finished.result.as_str())
    }

    /// About how many tokens the next call reads.
    pub(crate) fn size(&self) -> u64 {
        // A token is seldom less than three bytes.
        self.measured.saturating_add(self.added as u64 / 3)
    }

    /// How many tokens the next call reads at the most, where so many stand before
    /// the conversation.
    pub(crate) fn bound(&self, preface: u64) -> u64 {
        // What a provider tells may leave out what it had in its cache.
        const LEAST: u64 = 6;
        match self.measured {
            0 => preface + self.bound,
            told => told.max(self.said as u64 / LEAST).saturating_add(self.bound),
        }
    }

    /// Adds the tokens of new tools, which the last answer did not measure.
    pub(crate) fn grow_preface(&mut self, tokens: u64) {
        if self.measured > 0 {
            self.bound = self.bound.saturating_add(tokens);
        }
    }

    /// The text with which the model ended its turn.
    pub(crate) fn answer(&self) -> String {
        let last = self.messages.iter().rfind(|message| message.role == Role::Assistant);
        let texts =
            last.into_iter().flat_map(|message| &message.parts).filter_map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                _ => None,
            });
        texts.collect()
    }

    /// Begins with a summary, as if nothing had been said before.
    pub(crate) fn begin_with(&mut self, summary: &Compaction) {
        let text = format!("<summary>\n{}\n</summary>", summary.text);
        self.messages = Arc::new(vec![Message::user(text)]);
        self.added = summary.text.len();
        self.bound = estimate::messages(&self.messages);
        self.continued = summary.continued;
        self.finished.clone_from(&summary.finished);
    }

    /// What a conversation says that branches off here.
    pub(crate) fn fork(mut self) -> Self {
        let messages = std::mem::take(&mut self.messages);
        let (added, bound) = (messages.iter().map(bytes).sum(), estimate::messages(&messages));
        Self { messages, added, bound, ..Self::new(self.finishes) }
    }

    /// Adds what the next block keeps.
    pub(crate) fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Said { text, images } => {
                self.begin_anew();
                self.begin_turn();
                self.say(Role::User, Part::text(text));
                for image in images {
                    self.say(Role::User, Part::Image(image));
                }
                self.hear();
            }
            Entry::Notice { text } => {
                if is_from_owner(&text) {
                    self.begin_anew();
                }
                self.repairs += u32::from(is_of(&text, REPAIR));
                self.reminded = is_of(&text, REMINDER);
                if is_of(&text, LIMIT) {
                    self.closing = Closing::Asked;
                }
                self.begin_turn();
                self.say(Role::User, Part::text(text));
                self.hear();
            }
            Entry::Part(part) => {
                if self.messages.last().is_none_or(|last| last.role != Role::Assistant) {
                    let place = Place { block: self.blocks, message: self.messages.len() };
                    self.recent = [self.recent[1], place];
                }
                self.say(Role::Assistant, part);
            }
            Entry::Answered(answered) => self.end_answer(answered),
            Entry::Result(result) | Entry::Refused(result, _) => self.take_result(result),
            Entry::Compaction(summary) => {
                (self.total, self.turns) = (summary.total, summary.turns);
                self.finished = summary.finished;
                self.measured = 0;
                self.added = self.messages.iter().map(bytes).sum();
                self.bound = estimate::messages(&self.messages);
            }
            Entry::Continued(Continued { by }) => {
                (self.step, self.calls, self.total) = (0, 0, Usage::default());
                self.continued = Some(by);
                self.begin_anew();
            }
            Entry::Running { .. } => self.running_told = true,
            Entry::Fork(_) | Entry::Partial { .. } | Entry::Output(_) => {}
        }
    }

    /// Somebody whom the agent works for has spoken: it has new chances.
    fn begin_anew(&mut self) {
        (self.turns, self.repairs, self.misfits) = (0, 0, 0);
        (self.misfit, self.reminded, self.closing) = (false, false, Closing::No);
        self.polls = PollGuard::default();
        if let Some(finished) = &mut self.finished {
            finished.spoken_since = true;
        }
    }

    /// Whoever speaks after a turn has ended begins another.
    fn begin_turn(&mut self) {
        if matches!(self.tail, Tail::Empty | Tail::Ended(_)) {
            let start = Start { block: self.blocks, said: self.said };
            Arc::make_mut(&mut self.starts).push(start);
        }
    }

    /// The next block stands at this position.
    pub(crate) fn skip_to(&mut self, position: u64) {
        self.blocks = position;
    }

    fn hear(&mut self) {
        self.running_told = false;
        if !matches!(self.tail, Tail::Calls(_)) {
            self.tail = Tail::Spoken;
        }
    }

    fn say(&mut self, role: Role, part: Part) {
        self.added += part_bytes(&part);
        self.said += part_bytes(&part);
        self.bound += estimate::AROUND + estimate::part(&part);
        let messages = Arc::make_mut(&mut self.messages);
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.push(part),
            None => messages.push(Message { role, parts: vec![part] }),
        }
    }

    fn end_answer(&mut self, answered: Answered) {
        let last = self.messages.last().filter(|last| last.role == Role::Assistant);
        let calls: Vec<_> = last
            .into_iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::ToolCall(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        self.tail = if calls.is_empty() {
            self.turns = self.turns.saturating_add(1);
            self.polls = PollGuard::default();
            Tail::Ended(answered.stop)
        } else {
            Tail::Calls(calls)
        };
        // Last words may have read less than there is.
        if answered.usage.total() > 0 && self.closing != Closing::Asked {
            (self.measured, self.added, self.bound) = (answered.usage.total(), 0, 0);
        }
        if self.closing == Closing::Asked {
            self.closing = Closing::Said;
        }
        (self.step, self.calls, self.total) = (answered.step, answered.calls, answered.total);
    }

    fn take_result(&mut self, result: ToolResult) {
        if let Tail::Calls(calls) = &mut self.tail {
            if let Some(at) = calls.iter().position(|call| call.id == result.call) {
                let call = calls.remove(at);
                self.polls.note(&call, &result.text);
                if matches!(self.finishes, Finishes::ByTool(name) if name == call.name) {
                    match result.failed {
                        true => self.misfit = true,
                        false => {
                            let (result, spoken_since) = (call.arguments, false);
                            self.finished = Some(Finished { result, spoken_since });
                            self.handed_in = true;
                        }
                    }
                }
            }
            if calls.is_empty() {
                let misfit = std::mem::take(&mut self.misfit) && self.finished.is_none();
                self.misfits += u32::from(misfit);
                // Whoever has handed in a result is done.
                self.tail = match std::mem::take(&mut self.handed_in) {
                    true => Tail::Ended(Stop::Done),
                    false => Tail::Spoken,
                };
            }
        }
        self.say(Role::User, Part::ToolResult(result));
    }
}

fn bytes(message: &Message) -> usize {
    message.parts.iter().map(part_bytes).sum()
}

fn part_bytes(part: &Part) -> usize {
    // What a picture costs does not go by its bytes.
    const PICTURE: usize = 4_800;
    match part {
        Part::Text { text, .. } => text.len(),
        Part::Thought(thought) => thought.text.len(),
        Part::ToolCall(call) => call.arguments.len() + call.name.len(),
        Part::ToolResult(result) => result.text.len() + PICTURE * result.images.len(),
        _ => PICTURE,
    }
}
