//! The loop: what an agent does next follows from its conversation alone.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Failure, FailureKind, Payload, PayloadError, TaskId};
use offshoot_models::{Gate, Model};
use offshoot_runtime::{BodyError, BodyResult, Context, Error, InboxRows, StepError};
use offshoot_store::CounterChange;

use crate::act::unanswered;
use crate::agents::{NoModel, Seat};
use crate::block::{Continued, Entry, Fork, Unreadable};
use crate::brief::{Brief, Context as Knows, Isolation};
use crate::clock::{Clock, Timed};
use crate::control;
use crate::conversation::{Closing, Conversation, Finishes, Tail};
use crate::estimate;
use crate::hitch::Hitch;
use crate::load::load;
use crate::notice::envelope;
use crate::purse::Purse;
use crate::report::Report;
use crate::spend::{self, fit};
use crate::tool::Toolbox;
use crate::worktree::{self, Tree};

/// How long an agent waits, for its calls or at the gate, before it lets go of
/// its conversation, which may be large. Reading it again for less would cost
/// more than it is worth.
pub(crate) const WHILE: Duration = Duration::from_secs(2);

/// An agent at work.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) seat: Arc<Seat>,
    pub(crate) cx: Context,
    pub(crate) brief: Arc<Brief>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) gate: Gate,
    pub(crate) tools: Arc<Toolbox>,
    /// The worktree in which it works, if it has its own.
    pub(crate) tree: Option<Arc<Tree>>,
    /// How the agent shall behave.
    pub(crate) system: Arc<str>,
    pub(crate) talk: Conversation,
    /// How long it may take, if that is limited and known.
    pub(crate) clock: Option<Box<Timed>>,
    /// What it may spend, if that is limited.
    pub(crate) purse: Option<Box<Purse>>,
    /// How often in a row its model did not answer.
    pub(crate) failures: u32,
    /// Why it has not answered yet, if something went wrong.
    pub(crate) hitch: Option<Box<Hitch>>,
    /// Up to where it has looked for what its session has for it.
    pub(crate) looked: u64,
}

/// Why a step of the loop did not come to its end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The store could not be asked or told: what is in the history is not
    /// known, and is to be read again.
    Store(Error),
    /// The agent ends.
    End(BodyError),
}

impl Trouble {
    /// The agent fails, in these words.
    pub(crate) fn failure(kind: FailureKind, words: impl Into<String>) -> Self {
        Self::End(BodyError::Failed(Failure::new(kind, words)))
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            // Somebody else may have read a row meanwhile: what is there is to be
            // looked at again.
            Error::Store(_) | Error::RowGone(_) | Error::Contended => Self::Store(error),
            error => Self::End(error.into()),
        }
    }
}

impl From<PayloadError> for Trouble {
    fn from(error: PayloadError) -> Self {
        Self::End(error.into())
    }
}

impl From<Unreadable> for Trouble {
    fn from(error: Unreadable) -> Self {
        Self::End(error.into())
    }
}

impl From<NoModel> for Trouble {
    fn from(error: NoModel) -> Self {
        Self::End(error.into())
    }
}

impl Life {
    /// Takes up the agent's work where its history ends.
    pub(crate) async fn begin(seat: Arc<Seat>, cx: Context) -> Result<Box<Self>, BodyError> {
        let mut brief = cx.input::<Brief>().await?;
        let (model, gate) = seat.find(&brief, cx.lineage().session)?;
        let mut purse = spend::purse(&seat, &cx, &brief)
            .map_err(|error| Failure::new(FailureKind::Budget, error.to_string()))?;
        let tools = control::toolbox(&seat, &cx, &brief).await?;
        let mut system = control::system(&seat, &cx, &brief);
        let tree = match brief.isolation {
            Isolation::None => None,
            Isolation::Worktree => {
                Some(Box::pin(worktree::settle_in(&seat, &cx, &mut brief)).await?)
            }
        };
        if let Some(tree) = &tree {
            system = format!("{system}\n{}", tree.told()).into();
        }
        if let Some(purse) = &mut purse {
            purse.preface = estimate::preface(&system, &tools.specs(), &brief.model);
        }
        let brief = Arc::new(brief);
        let talk = Conversation::default();
        let (clock, failures, hitch, looked) = (None, 0, None, 0);
        Ok(Box::new(Self {
            seat,
            cx,
            brief,
            model,
            gate,
            tools,
            tree,
            system,
            talk,
            clock,
            purse,
            failures,
            hitch,
            looked,
        }))
    }

    /// Goes on until the agent has ended.
    pub(crate) async fn live(mut self: Box<Self>) -> BodyResult {
        let mut known = Known::No;
        let mut failures = 0;
        loop {
            let went = match known {
                Known::No => Box::pin(self.recall()).await.map(|()| Next::Goes),
                Known::Yes => self.go_on().await,
            };
            match went {
                Ok(Next::Ends(value)) => return Ok(value),
                Ok(Next::Goes) => (known, failures) = (Known::Yes, 0),
                Err(Trouble::End(error)) => return Err(error),
                Err(Trouble::Store(error)) => {
                    tracing::warn!(task = %self.cx.id(), %error, "an agent could not be written on");
                    failures += 1;
                    known = Known::No;
                    Box::pin(self.cx.back_off(failures)).await?;
                }
            }
        }
    }

    /// Reads the conversation from the history.
    pub(crate) async fn recall(&mut self) -> Result<(), Trouble> {
        let finishes = match self.brief.result_schema {
            Some(_) => {
                Finishes::ByTool(control::finish_name(&self.seat, &self.brief.dialect, &self.tools))
            }
            None => Finishes::BySaying,
        };
        // Whatever was under way is known by now, or stays counted as reserved.
        self.land();
        self.talk = load(&self.cx, finishes).await?;
        if self.is_another() && !matches!(self.talk.tail(), Tail::Empty) {
            self.take_over().await?;
        }
        if let (None, Some(length)) = (&self.clock, self.length()) {
            self.clock = Box::pin(self.measure(length)).await?;
        }
        Ok(())
    }

    /// Whether the conversation is another task's, and this one has not said yet
    /// that it goes on with it.
    fn is_another(&self) -> bool {
        self.cx.continues().is_some() && self.talk.continued() != Some(self.cx.id())
    }

    /// Says that this task goes on with the conversation. What the one before it
    /// has called and has no result may have been done, and only that one's
    /// journal would know.
    async fn take_over(&mut self) -> Result<(), Trouble> {
        let said = "Whether this call took effect is unknown: the task that made it ended before \
                    it had a result. Find out before you repeat it.";
        let mut entries = Vec::new();
        if let Tail::Calls(calls) = self.talk.tail() {
            entries.extend(calls.iter().map(|call| Entry::Result(unanswered(call, said))));
        }
        entries.push(Entry::Continued(Continued { by: self.cx.id() }));
        self.write(entries, None, &[]).await
    }

    /// How long the agent may take, if that is limited.
    fn length(&self) -> Option<Duration> {
        let own = self.brief.time.into_iter().chain(self.brief.budget.time).min();
        own.or(self.seat.limits.time)
    }

    /// The clock of an agent that may take so long. When it began is kept, so
    /// that a crash gives it no more time.
    async fn measure(&self, length: Duration) -> Result<Option<Box<Timed>>, Trouble> {
        let now = self.cx.now();
        let began =
            self.cx.step("began", move || async move { Ok::<_, BodyError>(now) }).value().await;
        let began = began.map_err(|error| match error {
            StepError::Journal(error) => error.into(),
            StepError::Work(error) => Trouble::End(error),
            StepError::Unknown => Trouble::failure(FailureKind::Error, "when it began is unknown"),
        })?;
        let clock = Clock::start(&self.cx, length, began).await?;
        Ok(clock.map(|clock| Box::new(self.seat.clocks.hang_up(self.cx.id(), clock))))
    }

    /// The same, if the agent has let go of what was said.
    pub(crate) async fn recall_if_forgotten(&mut self) -> Result<(), Trouble> {
        match self.talk.tail() {
            Tail::Empty => Box::pin(self.recall()).await,
            _ => Ok(()),
        }
    }

    async fn go_on(&mut self) -> Result<Next, Trouble> {
        if self.cx.is_cancelled() {
            return Box::pin(self.stop()).await;
        }
        if self.talk.closing() == Closing::Said && !matches!(self.talk.tail(), Tail::Calls(_)) {
            return Box::pin(self.end_at_limit()).await;
        }
        if self.talk.misfits() > 1 && !matches!(self.talk.tail(), Tail::Calls(_)) {
            return Err(self.misfit());
        }
        // Each in a box, so that an agent that waits in one of them does not take
        // the room of the largest.
        match self.talk.tail().clone() {
            Tail::Empty => Box::pin(self.open()).await.map(|()| Next::Goes),
            Tail::Spoken => Box::pin(self.ask()).await.map(|()| Next::Goes),
            Tail::Calls(calls) => Box::pin(self.act(calls)).await.map(|()| Next::Goes),
            Tail::Ended(stop) => Box::pin(self.rest(&stop)).await,
        }
    }

    /// Says what the agent shall do.
    async fn open(&mut self) -> Result<(), Trouble> {
        let mut entries = Vec::new();
        if let (Knows::Fork { from, blocks }, Some(task)) =
            (self.brief.context, self.cx.lineage().parent)
        {
            entries.push(Entry::Fork(Fork { task, from, blocks }));
            entries.push(Entry::Notice { text: forked(self.cx.handle()) });
        }
        entries.push(Entry::Said { text: self.brief.task.clone(), images: Vec::new() });
        let forked = entries.len() > 1;
        if self.is_another() {
            // The one before it never began.
            entries.push(Entry::Continued(Continued { by: self.cx.id() }));
        }
        self.write(entries, None, &[]).await?;
        if forked {
            self.recall().await?;
        }
        Ok(())
    }

    /// The agent was asked to stop: whatever it has called gets a result that
    /// says so, because its history may go on in another task.
    async fn stop(&mut self) -> Result<Next, Trouble> {
        if let Tail::Calls(calls) = self.talk.tail().clone() {
            self.give_up(calls).await?;
        }
        Err(Trouble::End(BodyError::Cancelled))
    }

    /// Commits entries to the history, with the acknowledgement of the rows
    /// they carry and of the ends they tell, and only then goes on from there.
    pub(crate) async fn write(
        &mut self,
        entries: Vec<Entry>,
        read: Option<&InboxRows>,
        ends: &[TaskId],
    ) -> Result<(), Trouble> {
        let at = self.cx.now();
        let blocks: Result<Vec<_>, _> = entries.iter().map(|entry| entry.to_block(at)).collect();
        let mut appending = self.cx.append(blocks?);
        if let Some(rows) = read {
            appending = appending.acking(rows);
        }
        if !ends.is_empty() {
            appending = appending.acking_ends(ends).await?;
        }
        appending.await?;
        self.go_on_from(entries);
        Ok(())
    }

    /// The same with changes of counters in place of rows.
    pub(crate) async fn write_counting(
        &mut self,
        entries: Vec<Entry>,
        mut counts: Vec<CounterChange>,
    ) -> Result<(), Trouble> {
        if counts.is_empty() {
            return self.write(entries, None, &[]).await;
        }
        let at = self.cx.now();
        let blocks: Result<Vec<_>, _> = entries.iter().map(|entry| entry.to_block(at)).collect();
        let blocks = blocks?;
        loop {
            match self.cx.append(blocks.clone()).counting(counts.clone()).await {
                Ok(()) => break,
                // Counters end with their task, and it may have ended long ago.
                Err(Error::Limit { .. }) => {
                    let fitting = fit(&self.cx, counts.clone()).await?;
                    if same(&fitting, &counts) {
                        return Err(Error::Contended.into());
                    }
                    counts = fitting;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.go_on_from(entries);
        Ok(())
    }

    /// The conversation goes on from what is in the history.
    fn go_on_from(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.talk.push(entry);
            self.talk.skip_to(self.talk.blocks() + 1);
        }
    }

    /// Tells whoever looks what the agent has done so far.
    pub(crate) async fn report(&self) -> Result<(), Trouble> {
        let usage = self.talk.usage();
        let cost = self.seat.prices.of(&self.brief.model).map(|price| price.of(usage));
        let (steps, tool_calls) = (self.talk.step(), self.talk.calls());
        // What the agent says itself stays, and where it works.
        let Report { note, worktree, .. } = self.cx.reported().await?.unwrap_or_default();
        let (hitch, unanswered) = (None, 0);
        let spent = Box::pin(self.spent()).await?;
        let report =
            Report { steps, tool_calls, usage, cost, spent, note, hitch, unanswered, worktree };
        Ok(self.cx.progress(&report).await?)
    }
}

/// Whether changes of counters are the same.
fn same(one: &[CounterChange], other: &[CounterChange]) -> bool {
    one.iter().map(|count| count.by).eq(other.iter().map(|count| count.by))
}

/// What stands between what a forked agent knows and its own task: to its model
/// both are said by the same user.
fn forked(handle: &str) -> String {
    let said = format!(
        "What stands above was said to the agent that has sent you off. You are now another one, \
         {handle}: what was asked there is for that one to do, and what was said there is what you \
         know. What follows is your task, and nothing else is."
    );
    envelope("fork", &[("task", handle)], &said)
}

/// Whether what is in memory is what the history says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

/// How the loop goes on.
#[derive(Debug)]
pub(crate) enum Next {
    /// With the next step.
    Goes,
    /// It ends with this.
    Ends(Payload),
}
