//! The end of a turn: the agent waits for its tasks, or ends with its result.

use std::pin::pin;
use std::sync::Arc;

use offshoot_core::{Addressee, FailureKind, Owner, Payload, WaitingOn, Wake, text};
use offshoot_models::Stop;

use crate::agent_loop::children::{Answerer, Child, MOST_CHILDREN, live_children};
use crate::agent_loop::{AgentLoop, Flow};
use crate::control;
use crate::conversation::entry::Entry;
use crate::delivery::{DeliveryPoint, children_ended, wanted};
use crate::delta::Delta;
use crate::finish_tool::FINISH;
use crate::loop_exit::LoopExit;
use crate::notice::{Notice, NoticeKind};

/// The most tasks that a message names.
const MOST_NAMED: usize = 8;

/// The most Unicode scalars of a question in a reminder.
const QUESTION: usize = 1_000;

/// The most Unicode scalars of a cut answer in a failure; the history keeps all.
const CUT_ANSWER: usize = 16_000;

impl AgentLoop {
    /// Ends a turn: delivers the inbox, waits for live tasks, or ends the agent.
    pub(super) async fn end_turn(&mut self, stop: &Stop) -> Result<Flow, LoopExit> {
        // In this order: the inbox has a row for each task that has ended by now.
        let children = Box::pin(live_children(&self.cx, &self.brief)).await?;
        if Box::pin(self.deliver_inbox(DeliveryPoint::TurnEnd)).await? {
            return Ok(Flow::Continue);
        }
        if children.is_empty() {
            return Box::pin(self.end(stop)).await;
        }
        if let Some(limit) = self.out_of_time() {
            Box::pin(self.request_last_words(limit)).await?;
            return Ok(Flow::Continue);
        }
        if children.iter().all(|child| child.waits_for == Answerer::Agent) {
            if !self.conversation.is_reminded() && Box::pin(self.remind(&children)).await? {
                return Ok(Flow::Continue);
            }
            if self.conversation.is_reminded() {
                Box::pin(self.report_unanswered(children.len() as u64)).await?;
            }
        }
        Box::pin(self.announce_running(children)).await?;
        let reason = self.wait().await?;
        // The wait has dropped the conversation from memory.
        Box::pin(self.reload()).await?;
        if !Box::pin(self.deliver_inbox(DeliveryPoint::TurnEnd)).await?
            && reason == WakeReason::Activity
        {
            Box::pin(self.write_activity()).await?;
        }
        Ok(Flow::Continue)
    }

    /// Shows the user, once for each turn, the tasks that still run: the model's own
    /// words may be wrong.
    async fn announce_running(&mut self, children: Vec<Child>) -> Result<(), LoopExit> {
        if self.conversation.has_announced_running() {
            return Ok(());
        }
        let mut handles: Vec<_> = children.iter().map(|child| child.task.handle()).collect();
        let more = handles.len().saturating_sub(MOST_NAMED);
        handles.truncate(MOST_NAMED);
        let mut text = format!("Still running: {}", handles.join(", "));
        if more > 0 {
            text = format!("{text} and {more} more");
        }
        if self.waits_for_all() {
            let turns = self.shared.limits.wakes;
            text = format!(
                "{text}. The agent has had no message in {turns} turns for which results woke \
                 it, so it now waits until all have ended, or until it gets a message."
            );
        }
        let shown: Arc<str> = text.as_str().into();
        self.shared.deltas.send(self.cx.id(), || Delta::Running { text: shown });
        self.commit(vec![Entry::StillRunning { text }], None, &[]).await
    }

    /// Whether results woke the agent so often in a row that it waits for all tasks.
    fn waits_for_all(&self) -> bool {
        self.conversation.turns() > self.shared.limits.wakes
    }

    /// Waits for a row that is worth a turn, or for the end of all tasks.
    ///
    /// An agent that results woke too often in a row waits for the end of all tasks,
    /// a message or a question.
    async fn wait(&mut self) -> Result<WakeReason, LoopExit> {
        let waits_for_all = self.waits_for_all();
        self.conversation = Default::default();
        let (cx, mut deadline) = (&self.cx, pin!(self.deadline()));
        if waits_for_all {
            let ended = async {
                tokio::select! {
                    biased;
                    ended = children_ended(cx) => ended,
                    () = wanted(cx) => Ok(()),
                    () = &mut deadline => Ok(()),
                }
            };
            cx.waiting(WaitingOn::Children, ended).await??;
            return Ok(WakeReason::Inbox);
        }
        tokio::select! {
            biased;
            ended = children_ended(cx) => ended?,
            rows = cx.idle_on(WaitingOn::Children, 1) => {
                if rows?.is_empty() {
                    return Ok(WakeReason::Activity);
                }
            }
            () = &mut deadline => {}
        }
        Ok(WakeReason::Inbox)
    }

    /// Writes the progress of the tasks that wake the agent by their activity.
    async fn write_activity(&mut self) -> Result<(), LoopExit> {
        let own = Owner::Task(self.cx.id());
        let page = self.cx.tasks().owner(own).live().limit(MOST_CHILDREN).await?;
        let now = self.cx.now();
        let active = page.items.iter().filter(|task| task.spec.wake == Wake::OnActivity);
        let lines: Vec<_> = active.map(|task| control::line(task, now)).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let notice = Notice::new(NoticeKind::Activity, &[], &lines.join("\n"));
        self.commit(vec![Entry::Notice(notice)], None, &[]).await
    }

    /// Repeats the open questions of tasks that all wait for the agent. Returns false
    /// if one of them has its answer already.
    async fn remind(&mut self, children: &[Child]) -> Result<bool, LoopExit> {
        let mut lines = Vec::new();
        for Child { task, .. } in children {
            let questions = task.questions().await?;
            let mut own = questions.iter().filter(|asked| asked.addressee == Addressee::Owner);
            // A task that was just answered goes on by itself.
            let Some(open) = own.find(|question| question.closed.is_none()) else {
                return Ok(false);
            };
            let handle = task.handle();
            lines.push(match self.approval_request((handle, Some(open)), QUESTION) {
                Some(request) => format!("- {request}"),
                None => format!("- {handle}: {}", text::cut(&open.text, QUESTION)),
            });
        }
        lines.truncate(MOST_NAMED);
        let body = self.shared.dialects.get(&self.brief.dialect).reword(
            "You have ended your turn, but these tasks wait for your answers, and nothing goes on \
             before you answer them or stop them with cancel_task. Questions are answered with \
             send_message, approval requests with answer_request:",
        );
        let body = format!("{body}\n{}", lines.join("\n"));
        let notice = Notice::new(NoticeKind::Reminder, &[], &body);
        self.commit(vec![Entry::Notice(notice)], None, &[]).await?;
        Ok(true)
    }

    /// Ends an agent without live tasks and unread rows, if it has a result.
    async fn end(&mut self, stop: &Stop) -> Result<Flow, LoopExit> {
        self.report().await?;
        if let Some(result) = self.conversation.result() {
            return Ok(Flow::End(Payload::from_json(result)?));
        }
        if let Stop::Refused(why) = stop {
            let words = format!("the model refused: {why}");
            return Err(LoopExit::failure(FailureKind::Error, words));
        }
        if let Some(submitted) = self.conversation.submitted() {
            // A later message may have changed the result.
            if self.conversation.repairs() == 0 {
                return self.repair(MissingPart::Confirmation).await;
            }
            return Ok(Flow::End(Payload::from_json(submitted.result.as_str())?));
        }
        let answer = self.conversation.answer();
        let missing = match (&self.brief.result_schema, stop) {
            (Some(_), _) => Some(MissingPart::Result),
            (None, Stop::Length) => Some(MissingPart::AnswerEnd),
            (None, _) if answer.trim().is_empty() => Some(MissingPart::Answer),
            (None, _) => None,
        };
        match missing {
            None => Ok(Flow::End(Payload::encode(&answer)?)),
            Some(missing) => self.repair(missing).await,
        }
    }

    /// The failure of an agent that has submitted two invalid results.
    pub(super) fn invalid_result(&self) -> LoopExit {
        let (kind, words) = MissingPart::Result.failure();
        LoopExit::failure(kind, words)
    }

    /// Asks once for the missing part. The second time, the agent fails.
    async fn repair(&mut self, missing: MissingPart) -> Result<Flow, LoopExit> {
        if self.conversation.repairs() > 0 {
            let (kind, words) = missing.failure();
            let words = match (missing, self.conversation.answer()) {
                (MissingPart::AnswerEnd, answer) if !answer.trim().is_empty() => {
                    format!("{words}; what came of it:\n{}", text::cut(&answer, CUT_ANSWER))
                }
                _ => words.to_owned(),
            };
            return Err(LoopExit::failure(kind, words));
        }
        let body = missing
            .request()
            .replace(FINISH, control::finish_name(&self.shared, &self.brief.dialect, &self.tools));
        let notice = Notice::new(NoticeKind::Repair, &[], &body);
        self.commit(vec![Entry::Notice(notice)], None, &[]).await?;
        Ok(Flow::Continue)
    }
}

/// The event that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeReason {
    /// The inbox may have a new row.
    Inbox,
    /// A task was active, which leaves no row.
    Activity,
}

/// The missing part at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingPart {
    /// A result that fits the schema.
    Result,
    /// The word whether a submitted result still holds after a later message.
    Confirmation,
    /// The rest of a cut answer.
    AnswerEnd,
    /// An answer.
    Answer,
}

impl MissingPart {
    fn request(self) -> &'static str {
        match self {
            Self::Result => {
                "You have ended your turn without a result. Call the tool finish now: its \
                 arguments are your result, and nothing else counts as one."
            }
            Self::Confirmation => {
                "You have received a message since you handed in your result. If it is another \
                 one now, call the tool finish again. If it is not, end your turn: the one that \
                 was accepted counts."
            }
            Self::AnswerEnd => {
                "Your answer was cut off because it was too long. Give a complete but shorter \
                 answer now."
            }
            Self::Answer => {
                "You have ended your turn without saying anything. Say now what you have found \
                 or done."
            }
        }
    }

    fn failure(self) -> (FailureKind, &'static str) {
        match self {
            Self::Result | Self::Confirmation => {
                (FailureKind::InvalidResult, "ended without a result that fits its schema")
            }
            Self::AnswerEnd => {
                (FailureKind::Error, "the answer was cut off: it is longer than the model can give")
            }
            Self::Answer => (FailureKind::Error, "ended without an answer"),
        }
    }
}
