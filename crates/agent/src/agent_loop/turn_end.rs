//! The end of a turn: the agent waits for what it has sent off, or has ended.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Addressee, FailureKind, Owner, Payload, TaskState, WaitingOn, Wake, text};
use offshoot_models::Stop;
use offshoot_runtime::{Context, TaskRef};

use crate::agent_loop::{AgentLoop, Flow};
use crate::approval;
use crate::brief::Brief;
use crate::control;
use crate::conversation::entry::Entry;
use crate::delivery::{DeliveryPoint, question, steered, wanted};
use crate::delta::Delta;
use crate::finish_tool::FINISH;
use crate::loop_exit::LoopExit;
use crate::notice::envelope;
use crate::report::AgentReport;

/// How many of its tasks an agent waits for by name. If there are more it is
/// woken by what comes home.
const NAMED: usize = 64;

/// How many of them are told by name.
const TOLD: usize = 8;

/// How much of what each of them asks is told.
const ASKED: usize = 1_000;

/// How much of an answer that was cut off is told; the history has all of it.
const PARTIAL: usize = 16_000;

impl AgentLoop {
    /// The model has ended its turn.
    pub(crate) async fn end_turn(&mut self, stop: &Stop) -> Result<Flow, LoopExit> {
        // In this order: of whoever has ended by now the mail tells.
        let children = Box::pin(children(&self.cx, &self.brief)).await?;
        if Box::pin(self.deliver_inbox(DeliveryPoint::TurnEnd)).await? {
            return Ok(Flow::Continue);
        }
        if !children.is_empty() {
            if let Some(limit) = self.out_of_time() {
                Box::pin(self.request_last_words(limit)).await?;
                return Ok(Flow::Continue);
            }
            let asked = children.iter().all(|child| child.asks == Asks::Agent);
            if asked && !self.conversation.is_reminded() && Box::pin(self.remind(&children)).await?
            {
                return Ok(Flow::Continue);
            }
            if asked && self.conversation.is_reminded() {
                Box::pin(self.tell_unanswered(children.len() as u64)).await?;
            }
            Box::pin(self.tell_running(children)).await?;
            let woken = self.wait().await?;
            // It has waited without its conversation.
            Box::pin(self.reload()).await?;
            if !Box::pin(self.deliver_inbox(DeliveryPoint::TurnEnd)).await?
                && woken == Woken::ByActivity
            {
                Box::pin(self.tell_activity()).await?;
            }
            return Ok(Flow::Continue);
        }
        Box::pin(self.end(stop)).await
    }

    /// Says what is still running, once for each turn that ends so: what the
    /// model says of it need not be so.
    async fn tell_running(&mut self, children: Vec<Child>) -> Result<(), LoopExit> {
        if self.conversation.is_running_told() {
            return Ok(());
        }
        let mut handles: Vec<_> = children.iter().map(|child| child.task.handle()).collect();
        let more = handles.len().saturating_sub(TOLD);
        handles.truncate(TOLD);
        let mut text = format!("Still running: {}", handles.join(", "));
        if more > 0 {
            text = format!("{text} and {more} more");
        }
        if self.is_patient() {
            let turns = self.shared.limits.wakes;
            text = format!(
                "{text}. Nobody has spoken to it in {turns} turns for which results woke it, so it \
                 now waits until all have ended, or somebody speaks to it."
            );
        }
        let told: Arc<str> = text.as_str().into();
        self.shared.deltas.tell(self.cx.id(), || Delta::Running { text: told });
        self.write(vec![Entry::Running { text }], None, &[]).await
    }

    /// Whether it was woken so often in a row that it waits for everything now.
    fn is_patient(&self) -> bool {
        self.conversation.turns() > self.shared.limits.wakes
    }

    /// Waits until something has come home that is worth a turn, or nothing is
    /// out any more. An agent that nobody has spoken to for many turns waits
    /// for everything, unless it is asked something or spoken to.
    async fn wait(&mut self) -> Result<Woken, LoopExit> {
        let patient = self.is_patient();
        self.conversation = Default::default();
        let (cx, late) = (&self.cx, pin!(self.late()));
        let all = pin!(nobody_is_out(cx));
        if patient {
            let wanted = pin!(wanted(cx));
            let ended = select(all, select(wanted, late));
            if let Either::Left((ended, _)) = cx.waiting(WaitingOn::Children, ended).await? {
                ended?;
            }
            return Ok(Woken::ByMail);
        }
        let worth = pin!(cx.idle_on(WaitingOn::Children, 1));
        match select(all, select(worth, late)).await {
            Either::Left((ended, _)) => ended?,
            Either::Right((Either::Left((rows, _)), _)) => {
                if rows?.is_empty() {
                    return Ok(Woken::ByActivity);
                }
            }
            Either::Right((Either::Right(_), _)) => {}
        }
        Ok(Woken::ByMail)
    }

    /// Says how far those are that wake the agent with what they do.
    async fn tell_activity(&mut self) -> Result<(), LoopExit> {
        let own = Owner::Task(self.cx.id());
        let page = self.cx.tasks().owner(own).live().limit(NAMED).await?;
        let now = self.cx.now();
        let lively = page.items.iter().filter(|task| task.spec.wake == Wake::OnActivity);
        let lines: Vec<_> = lively.map(|task| control::line(task, now)).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let text = envelope("activity", &[], &lines.join("\n"));
        self.write(vec![Entry::Notice { text }], None, &[]).await
    }

    /// Says once more what is asked, where nothing goes on before it is answered;
    /// whether that is so.
    async fn remind(&mut self, children: &[Child]) -> Result<bool, LoopExit> {
        let mut asked = Vec::new();
        for Child { task, .. } in children {
            let questions = task.questions().await?;
            let mut own = questions.iter().filter(|asked| asked.addressee == Addressee::Owner);
            // One that was answered a moment ago goes on by itself.
            let Some(open) = own.find(|question| question.closed.is_none()) else {
                return Ok(false);
            };
            let handle = task.handle();
            asked.push(match self.request((handle, Some(open)), ASKED) {
                Some(request) => format!("- {request}"),
                None => format!("- {handle}: {}", text::cut(&open.text, ASKED)),
            });
        }
        asked.truncate(TOLD);
        let said = self.shared.dialects.get(&self.brief.dialect).reword(
            "You have ended your turn, but these tasks wait for your answers, and nothing goes on \
             before you answer them or stop them with cancel_task. Questions are answered with \
             send_message, approval requests with answer_request:",
        );
        let said = format!("{said}\n{}", asked.join("\n"));
        let text = envelope(REMINDER, &[], &said);
        self.write(vec![Entry::Notice { text }], None, &[]).await?;
        Ok(true)
    }

    /// Tells whoever looks that so many wait for answers, which the agent was
    /// reminded of and has not given.
    async fn tell_unanswered(&self, unanswered: u64) -> Result<(), LoopExit> {
        let report = self.cx.reported::<AgentReport>().await?.unwrap_or_default();
        Ok(self.cx.progress(&AgentReport { unanswered, ..report }).await?)
    }

    /// Nothing is out and nothing is unread: the agent has ended, if it has an
    /// answer.
    async fn end(&mut self, stop: &Stop) -> Result<Flow, LoopExit> {
        self.report().await?;
        if let Some(result) = self.conversation.result() {
            return Ok(Flow::End(Payload::from_json(result)?));
        }
        if let Stop::Refused(why) = stop {
            let words = format!("the model refused: {why}");
            return Err(LoopExit::failure(FailureKind::Error, words));
        }
        if let Some(finished) = self.conversation.finished() {
            // What it was told since may have made another one of it.
            if self.conversation.repairs() == 0 {
                return self.repair(Lack::Again).await;
            }
            return Ok(Flow::End(Payload::from_json(finished.result.as_str())?));
        }
        let answer = self.conversation.answer();
        let lacks = match (&self.brief.result_schema, stop) {
            (Some(_), _) => Some(Lack::Finish),
            (None, Stop::Length) => Some(Lack::Rest),
            (None, _) if answer.trim().is_empty() => Some(Lack::Answer),
            (None, _) => None,
        };
        match lacks {
            None => Ok(Flow::End(Payload::encode(&answer)?)),
            Some(lack) => self.repair(lack).await,
        }
    }

    /// The agent has handed in a result that does not fit, was told why, and has
    /// handed in another one that does not.
    pub(crate) fn invalid_result(&self) -> LoopExit {
        let (kind, words) = Lack::Finish.failure();
        LoopExit::failure(kind, words)
    }

    /// Asks once for what is missing, and fails the second time.
    async fn repair(&mut self, lack: Lack) -> Result<Flow, LoopExit> {
        if self.conversation.repairs() > 0 {
            let (kind, words) = lack.failure();
            let words = match (lack, self.conversation.answer()) {
                (Lack::Rest, answer) if !answer.trim().is_empty() => {
                    format!("{words}; what came of it:\n{}", text::cut(&answer, PARTIAL))
                }
                _ => words.to_owned(),
            };
            return Err(LoopExit::failure(kind, words));
        }
        let wanted = lack
            .wanted()
            .replace(FINISH, control::finish_name(&self.shared, &self.brief.dialect, &self.tools));
        let text = envelope(REPAIR, &[], &wanted);
        self.write(vec![Entry::Notice { text }], None, &[]).await?;
        Ok(Flow::Continue)
    }
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// Something came home, or may have.
    ByMail,
    /// One of the agent's tasks did something, and leaves no row.
    ByActivity,
}

/// A task whose end the agent must still be told.
struct Child {
    task: TaskRef,
    asks: Asks,
}

/// Whom a task asks something that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// Nobody, or a person.
    Nobody,
    /// The agent.
    Agent,
    /// The agent, which cannot approve the call. So a person is asked.
    InVain,
}

/// The first of the tasks whose ends the agent must still be told.
async fn children(cx: &Context, brief: &Brief) -> Result<Vec<Child>, LoopExit> {
    // Of its own only: a session may have any number of others.
    let page = cx.tasks().owner(Owner::Task(cx.id())).live().limit(NAMED).await?;
    let mut found = Vec::new();
    for task in &page.items {
        let asks = match task.state {
            TaskState::Waiting(WaitingOn::Approval(number)) => {
                match question(cx, task.id(), number).await? {
                    Some(asked) if asked.addressee == Addressee::Owner => {
                        let authority = brief.authority.as_deref();
                        if approval::may_approve(authority, &asked) {
                            Asks::Agent
                        } else {
                            Asks::InVain
                        }
                    }
                    _ => Asks::Nobody,
                }
            }
            TaskState::Waiting(WaitingOn::Input(_)) => Asks::Agent,
            _ => Asks::Nobody,
        };
        found.push(Child { task: cx.task(&task.id().to_string()).await?, asks });
    }
    Ok(found)
}

/// Resolves when the agent has no live task any more. Each end leaves a row, so
/// there is news whenever that may be so.
pub(crate) async fn nobody_is_out(cx: &Context) -> Result<(), LoopExit> {
    loop {
        let news = cx.news();
        // In a box, so that it takes no room between two looks.
        let live = Box::pin(cx.tasks().owner(Owner::Task(cx.id())).live().limit(1).into_future());
        if live.await?.items.is_empty() {
            return Ok(());
        }
        news.await;
    }
}

/// Waits until one of the agent's tasks has ended or asks, a message has
/// come, or a minute has passed. One that asked before does so until the agent
/// answers it.
pub(crate) async fn wait_for_change(cx: &Context, brief: &Brief) -> Result<(), LoopExit> {
    const LONGEST: Duration = Duration::from_secs(60);
    let children = children(cx, brief).await?;
    if children.is_empty() {
        return Ok(());
    }
    let at_work = children.into_iter().filter(|child| child.asks == Asks::Nobody);
    let at_work: Vec<_> = at_work.map(|child| child.task).collect();
    let ended = async {
        match at_work.as_slice() {
            [] => cx.waiting(WaitingOn::Children, tokio::time::sleep(LONGEST)).await,
            at_work => cx.wait(at_work).any().timeout(LONGEST).await.map(drop),
        }
    };
    match select(pin!(ended), pin!(steered(cx))).await {
        Either::Left((ended, _)) => ended?,
        Either::Right(_) => {}
    }
    Ok(())
}

/// The kind of notice that says once more what is asked.
pub(crate) const REMINDER: &str = "reminder";

/// The kind of notice that asks for what is missing.
pub(crate) const REPAIR: &str = "repair";

/// What is missing at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Finish,
    Again,
    Rest,
    Answer,
}

impl Lack {
    fn wanted(self) -> &'static str {
        match self {
            Self::Finish => {
                "You have ended your turn without a result. Call the tool finish now: its \
                 arguments are your result, and nothing else counts as one."
            }
            Self::Again => {
                "Somebody has spoken to you since you handed in your result. If it is another one \
                 now, call the tool finish again. If it is not, end your turn: the one that was \
                 accepted counts."
            }
            Self::Rest => {
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
            Self::Finish | Self::Again => {
                (FailureKind::InvalidResult, "ended without a result that fits its schema")
            }
            Self::Rest => {
                (FailureKind::Error, "the answer was cut off: it is longer than the model can give")
            }
            Self::Answer => (FailureKind::Error, "ended without an answer"),
        }
    }
}
