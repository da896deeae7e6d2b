//! The conversation of an agent, folded from the blocks of its history.
//!
//! The loop decides by this state alone, and all of it comes from the history. So an
//! attempt after a crash decides as the one before it would have.

pub(crate) mod entry;
pub(crate) mod estimate;
pub(crate) mod history;
pub(crate) mod poll_guard;
pub(crate) mod refusal;
mod size;
pub(crate) mod stored_output;

use std::collections::BTreeSet;
use std::sync::Arc;

use offshoot_core::TaskId;
use offshoot_models::{Message, Part, Role, Stop, ToolCall, ToolResult, Usage};
use serde::{Deserialize, Serialize};

use self::entry::{AnswerEnd, CallResult, Compaction, Continuation, Entry};
use self::poll_guard::PollGuard;
use crate::notice::NoticeKind;

/// A conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    messages: Arc<Vec<Message>>,
    tail: Tail,
    mode: ResultMode,
    /// The tasks whose ends the messages report.
    ends: BTreeSet<TaskId>,
    /// The number of blocks in the history.
    blocks: u64,
    /// The beginnings of the last two answers.
    recent: [Position; 2],
    /// The number of answers.
    step: u64,
    /// The number of tool calls.
    calls: u64,
    /// The usage of all answers.
    total: Usage,
    /// The number of turns since the agent was last spoken to.
    turns: u32,
    /// The polls of this turn.
    polls: PollGuard,
    /// The number of requests for a missing part.
    repairs: u32,
    /// The number of answers with invalid results only.
    invalid_results: u32,
    /// Whether the current answer has submitted an invalid result.
    has_invalid_result: bool,
    /// The beginnings of the turns.
    turn_starts: Arc<Vec<TurnStart>>,
    /// The bytes of all messages.
    bytes: usize,
    closing: Closing,
    /// Whether the running tasks were announced at the end of this turn.
    running_announced: bool,
    /// Whether a reminder of open questions is the last thing that was delivered.
    reminded: bool,
    /// The task that continues the conversation, if that is not the first one.
    continued_by: Option<TaskId>,
    /// The last valid result that the agent has submitted.
    submitted: Option<SubmittedResult>,
    /// Whether the current answer has submitted a valid result.
    has_submitted: bool,
    /// The tokens of the last call, if the conversation still has all of it.
    measured: u64,
    /// The bytes added since.
    added: usize,
    /// The most tokens that these bytes can be.
    bound: u64,
}

/// A position in a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The next block.
    pub(crate) block: u64,
    /// The next message.
    pub(crate) message: usize,
}

/// The way in which an agent gives its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResultMode {
    /// Its last answer is the result.
    #[default]
    Answer,
    /// It calls the tool of this name.
    Tool(&'static str),
}

/// A result that an agent has submitted. A later one replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubmittedResult {
    /// The result, as JSON.
    pub(crate) result: String,
    /// Whether the agent was spoken to since.
    #[serde(default)]
    pub(crate) spoken_since: bool,
}

/// The beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnStart {
    /// The first block of the turn.
    pub(crate) block: u64,
    /// The bytes of the messages before it.
    pub(crate) bytes: usize,
}

/// A position at which a call can fork the conversation: before the answer that
/// contains the call.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// The number of blocks before it.
    pub(crate) blocks: u64,
    /// An estimate of their tokens.
    pub(crate) size: u64,
    /// The beginnings of the turns.
    pub(crate) turn_starts: Arc<Vec<TurnStart>>,
    /// The bytes of all messages.
    pub(crate) bytes: usize,
}

impl Branch {
    /// The first block of the last turns, and an estimate of their tokens. A
    /// conversation with fewer turns is taken whole.
    pub(crate) fn last(&self, turns: usize) -> (u64, u64) {
        let index = self.turn_starts.len().checked_sub(turns.max(1));
        match index.and_then(|index| self.turn_starts.get(index)) {
            Some(TurnStart { block, bytes }) if *block > 0 => {
                (*block, (self.bytes.saturating_sub(*bytes) / 3) as u64)
            }
            _ => (0, self.size),
        }
    }
}

/// The state of an agent's last words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The agent has reached no limit.
    #[default]
    None,
    /// The agent was asked for its last words.
    Requested,
    /// The agent has given them.
    Done,
}

/// The end of the conversation. It decides the next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Tail {
    /// The conversation is empty.
    #[default]
    Empty,
    /// The model answers next.
    Spoken,
    /// These calls have no result yet.
    Calls(Vec<ToolCall>),
    /// The model has ended its turn.
    Ended(Stop),
}

impl Conversation {
    /// An empty conversation.
    pub(crate) fn new(mode: ResultMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// The messages for the model.
    pub(crate) fn messages(&self) -> &Arc<Vec<Message>> {
        &self.messages
    }

    /// The end of the conversation, which decides the next step.
    pub(crate) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// The number of blocks in the history.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The beginning of the last two answers.
    pub(crate) fn recent(&self) -> Position {
        self.recent[0]
    }

    /// The number of answers.
    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// The usage of all answers.
    pub(crate) fn usage(&self) -> Usage {
        self.total
    }

    /// The number of tool calls.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether a call in the conversation has this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let mut calls = parts.filter_map(|part| match part {
            Part::ToolCall(call) => Some(&call.id),
            _ => None,
        });
        calls.any(|used| used == id)
    }

    /// Whether the conversation reports the end of this task.
    pub(crate) fn reports_end(&self, task: TaskId) -> bool {
        self.ends.contains(&task)
    }

    /// The number of turns since the agent was last spoken to.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// The position at which a call of the last answer forks the conversation.
    pub(crate) fn branch(&self) -> Branch {
        Branch {
            blocks: self.recent[1].block,
            size: self.size(),
            turn_starts: self.turn_starts.clone(),
            bytes: self.bytes,
        }
    }

    /// The state of the agent's last words.
    pub(crate) fn closing(&self) -> Closing {
        self.closing
    }

    /// Whether a reminder of open questions is the last thing that was delivered.
    pub(crate) fn is_reminded(&self) -> bool {
        self.reminded
    }

    /// Whether the running tasks were announced at the end of this turn.
    pub(crate) fn has_announced_running(&self) -> bool {
        self.running_announced
    }

    /// The task that continues the conversation, if that is not the first one.
    pub(crate) fn continued_by(&self) -> Option<TaskId> {
        self.continued_by
    }

    /// The polls of this turn.
    pub(crate) fn polls(&self) -> &PollGuard {
        &self.polls
    }

    /// The number of requests for a missing part.
    pub(crate) fn repairs(&self) -> u32 {
        self.repairs
    }

    /// The number of answers with invalid results only.
    pub(crate) fn invalid_results(&self) -> u32 {
        self.invalid_results
    }

    /// The last valid result that the agent has submitted.
    pub(crate) fn submitted(&self) -> Option<&SubmittedResult> {
        self.submitted.as_ref()
    }

    /// The submitted result, unless the agent was spoken to since.
    pub(crate) fn result(&self) -> Option<&str> {
        let submitted = self.submitted.as_ref().filter(|submitted| !submitted.spoken_since);
        submitted.map(|submitted| submitted.result.as_str())
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

    /// Starts the conversation with a compaction.
    pub(crate) fn begin_with(&mut self, compaction: &Compaction) {
        let text = format!("<summary>\n{}\n</summary>", compaction.text);
        self.messages = Arc::new(vec![Message::user(text)]);
        self.ends.clear();
        self.added = compaction.text.len();
        self.bound = estimate::messages(&self.messages);
        self.continued_by = compaction.continued;
        self.submitted.clone_from(&compaction.finished);
    }

    /// The conversation with which a fork of this one begins.
    pub(crate) fn fork(mut self) -> Self {
        let (messages, ends) = (std::mem::take(&mut self.messages), std::mem::take(&mut self.ends));
        let (added, bound) = (messages.iter().map(bytes).sum(), estimate::messages(&messages));
        Self { messages, ends, added, bound, ..Self::new(self.mode) }
    }

    /// Adds the entry of the next block.
    pub(crate) fn push(&mut self, entry: Entry) {
        match entry {
            Entry::User { text, images } => {
                self.begin_anew();
                self.begin_turn();
                self.say(Role::User, Part::text(text));
                for image in images {
                    self.say(Role::User, Part::Image(image));
                }
                self.hear();
            }
            Entry::Notice(notice) => {
                if notice.is_from_owner {
                    self.begin_anew();
                }
                match notice.kind {
                    NoticeKind::Result => self.ends.extend(notice.task),
                    NoticeKind::Repair => self.repairs += 1,
                    NoticeKind::Limit => self.closing = Closing::Requested,
                    _ => {}
                }
                self.reminded = notice.kind == NoticeKind::Reminder;
                self.begin_turn();
                self.say(Role::User, Part::text(notice.text));
                self.hear();
            }
            Entry::Part(part) => {
                if self.messages.last().is_none_or(|last| last.role != Role::Assistant) {
                    let position = Position { block: self.blocks, message: self.messages.len() };
                    self.recent = [self.recent[1], position];
                }
                self.say(Role::Assistant, part);
            }
            Entry::AnswerEnd(end) => self.end_answer(end),
            Entry::Result(CallResult { result, ends, .. }) => {
                self.ends.extend(ends);
                self.take_result(result);
            }
            Entry::Compaction(compaction) => {
                (self.total, self.turns) = (compaction.total, compaction.turns);
                self.submitted = compaction.finished;
                self.measured = 0;
                self.added = self.messages.iter().map(bytes).sum();
                self.bound = estimate::messages(&self.messages);
            }
            Entry::Continuation(Continuation { by }) => {
                (self.step, self.calls, self.total) = (0, 0, Usage::default());
                self.continued_by = Some(by);
                self.begin_anew();
            }
            Entry::StillRunning { .. } => self.running_announced = true,
            Entry::Fork(_) | Entry::Partial { .. } | Entry::Output(_) => {}
        }
    }

    /// The agent is spoken to: its limits for repairs and turns start anew.
    fn begin_anew(&mut self) {
        (self.turns, self.repairs, self.invalid_results) = (0, 0, 0);
        (self.has_invalid_result, self.reminded) = (false, false);
        self.closing = Closing::None;
        self.polls = PollGuard::default();
        if let Some(submitted) = &mut self.submitted {
            submitted.spoken_since = true;
        }
    }

    /// The first message after the end of a turn begins another.
    fn begin_turn(&mut self) {
        if matches!(self.tail, Tail::Empty | Tail::Ended(_)) {
            let start = TurnStart { block: self.blocks, bytes: self.bytes };
            Arc::make_mut(&mut self.turn_starts).push(start);
        }
    }

    /// Sets the position of the next block.
    pub(crate) fn skip_to(&mut self, position: u64) {
        self.blocks = position;
    }

    fn hear(&mut self) {
        self.running_announced = false;
        if !matches!(self.tail, Tail::Calls(_)) {
            self.tail = Tail::Spoken;
        }
    }

    fn say(&mut self, role: Role, part: Part) {
        self.added += part_bytes(&part);
        self.bytes += part_bytes(&part);
        self.bound += estimate::AROUND + estimate::part(&part);
        let messages = Arc::make_mut(&mut self.messages);
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.push(part),
            None => messages.push(Message { role, parts: vec![part] }),
        }
    }

    fn end_answer(&mut self, end: AnswerEnd) {
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
            Tail::Ended(end.stop)
        } else {
            Tail::Calls(calls)
        };
        // Last words may read a shortened conversation.
        if end.usage.total() > 0 && self.closing != Closing::Requested {
            (self.measured, self.added, self.bound) = (end.usage.total(), 0, 0);
        }
        if self.closing == Closing::Requested {
            self.closing = Closing::Done;
        }
        (self.step, self.calls, self.total) = (end.step, end.calls, end.total);
    }

    fn take_result(&mut self, result: ToolResult) {
        if let Tail::Calls(calls) = &mut self.tail {
            if let Some(at) = calls.iter().position(|call| call.id == result.call) {
                let call = calls.remove(at);
                self.polls.note(&call, &result.text);
                if matches!(self.mode, ResultMode::Tool(name) if name == call.name) {
                    match result.failed {
                        true => self.has_invalid_result = true,
                        false => {
                            let (result, spoken_since) = (call.arguments, false);
                            self.submitted = Some(SubmittedResult { result, spoken_since });
                            self.has_submitted = true;
                        }
                    }
                }
            }
            if calls.is_empty() {
                let is_invalid =
                    std::mem::take(&mut self.has_invalid_result) && self.submitted.is_none();
                self.invalid_results += u32::from(is_invalid);
                // A valid result ends the turn.
                self.tail = match std::mem::take(&mut self.has_submitted) {
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
    // The cost of a picture does not depend on its bytes.
    const PICTURE: usize = 4_800;
    match part {
        Part::Text { text, .. } => text.len(),
        Part::Thought(thought) => thought.text.len(),
        Part::ToolCall(call) => call.arguments.len() + call.name.len(),
        Part::ToolResult(result) => result.text.len() + PICTURE * result.images.len(),
        _ => PICTURE,
    }
}
