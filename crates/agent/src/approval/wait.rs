//! The wait of a call for its approval.

use std::future::{poll_fn, ready};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_core::permissions::{Access, Approver};
use offshoot_core::{Addressee, Caller, Owner, Payload, Question, QuestionKind, Resolution, text};
use offshoot_runtime::{BoxFuture, Context, Error, QuestionRequest, TaskRef};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::judge::approver;
use super::request::{ApprovalRequest, Decision};
use super::texts::{self, NoDecision, StopCause};
use crate::brief::{Brief, Isolation};
use crate::grants::{can_grant, first_outside};
use crate::tool::{Output, ToolContext};

/// The most characters of a call's arguments in the text of its request. The request itself has
/// all of them.
const SHOWN_ARGUMENTS: usize = 2_000;

/// The most characters of a path in a note for the approver.
const SHOWN_PATH: usize = 200;

/// A call that waits for an approval.
pub(crate) struct ApprovalWait {
    cx: ToolContext,
    access: Access,
    /// The rule that the call may break through a command that the rule does not name.
    doubt: Option<String>,
    arguments: Arc<str>,
}

/// The result of a call that is not made. None if the call is approved.
type WaitResult = Result<Option<Output>, Error>;

impl ApprovalWait {
    pub(super) fn new(
        cx: ToolContext,
        access: Access,
        doubt: Option<String>,
        arguments: &str,
    ) -> Self {
        Self { cx, access, doubt, arguments: arguments.into() }
    }

    /// Asks for an approval and waits for the decision. A request of an earlier attempt is taken
    /// up and not asked again.
    async fn settle(
        mut self: Box<Self>,
        stop: watch::Receiver<Option<StopCause>>,
        interrupted: impl Future<Output = ()> + Send + 'static,
    ) -> WaitResult {
        if self.approver() == Approver::None {
            return self.settle_by_grant(stop).await;
        }
        if let Some(doubt) = self.doubt.take() {
            self.access = self.access.noting(&doubt);
        }
        self.withhold_grant_outside().await;
        let agent = self.agent().await?;
        let earlier = self.question(&agent).await?;
        let request = ApprovalRequest::new(self.access.clone(), &self.arguments);
        let covers = |question: &Question| {
            ApprovalRequest::of(question).is_some_and(|earlier| earlier.covers(&request))
        };
        if let Some(other) = earlier.as_ref().filter(|earlier| !covers(earlier)) {
            if other.closed.is_none()
                && let Err(Error::Store(error)) =
                    ask_again(&self.cx.cx, other).unless(ready(())).await
            {
                return Err(Error::Store(error));
            }
            return Ok(Some(texts::no_decision()));
        }
        if let Some(Question { closed: Some(closed), .. }) = &earlier {
            return self.apply((&agent, earlier.as_ref()), closed, NoDecision::Unknown).await;
        }
        let directory = self.grant_directory().await?;
        let granted = self.cx.shared.grants.cover(directory.as_deref(), &self.access).await;
        if granted && earlier.is_none() {
            return Ok(None);
        }
        let asking = match &earlier {
            Some(earlier) => ask_again(&self.cx.cx, earlier),
            None => match self.ask(&request, agent.spec().owner()) {
                Ok(asking) => asking,
                Err(error) => return Ok(Some(texts::too_long(&error.to_string()))),
            },
        };
        let why = Arc::new(OnceLock::new());
        let (ended, left) = (why.clone(), self.time_left(earlier.as_ref()));
        let given_up: BoxFuture<NoDecision> = match granted {
            true => Box::pin(ready(NoDecision::Granted)),
            false => Box::pin(self.given_up(left, directory, (stop, interrupted))),
        };
        let asking = asking.unless(async move { _ = ended.set(given_up.await) });
        match self.wait(asking, agent.spec().owner()).await {
            Ok(_) | Err(Error::Cancelled) => {}
            Err(Error::TooLarge(error)) => return Ok(Some(texts::too_long(&error.to_string()))),
            Err(error) => return Err(error),
        }
        let why = why.get().copied().unwrap_or(NoDecision::Unknown);
        match self.question(&agent).await? {
            Some(Question { closed: Some(closed), .. }) => {
                self.apply((&agent, None), &closed, why).await
            }
            _ => Ok(Some(self.undecided(why))),
        }
    }

    /// Settles a call without an approver: by a standing grant, or not at all.
    async fn settle_by_grant(
        self: Box<Self>,
        stop: watch::Receiver<Option<StopCause>>,
    ) -> WaitResult {
        tokio::select! {
            biased;
            granted = self.is_granted() => Ok(match granted? {
                true => None,
                false => Some(texts::no_approver(&self.access, self.doubt.clone())),
            }),
            cause = stopped(stop) => Ok(Some(self.undecided(NoDecision::Stopped(cause)))),
        }
    }

    fn approver(&self) -> Approver {
        approver(self.cx.brief.authority.as_deref())
    }

    /// Offers no standing grant for a call that names a path outside the working directory, and
    /// notes that for the approver.
    async fn withhold_grant_outside(&mut self) {
        let can_grant = can_grant(&self.access);
        let Some(named) = self.access.paths.clone().filter(|_| can_grant) else { return };
        let directory = named.directory.display().to_string();
        let found = spawn_blocking(move || first_outside(&named).map(str::to_owned)).await;
        let note = match found {
            Ok(None) => return,
            // Quoted, so that a path cannot pose as other text.
            Ok(Some(path)) => {
                format!("{:?} is outside {directory}", text::cut(&path, SHOWN_PATH))
            }
            Err(_) => "it is not known where its paths lead".to_owned(),
        };
        self.access.lasting = None;
        self.access.notes.push(format!("{note}, so no standing grant covers it").into());
    }

    /// Waits for the answer. The time that a person takes is not the agent's time.
    async fn wait(&self, asking: QuestionRequest, owner: Owner) -> Result<Payload, Error> {
        match self.asks_owner(owner) {
            true => asking.into_future().await,
            false => self.cx.on_hold(asking.into_future()).await,
        }
    }

    /// Whether the approver is the agent that owns this one, and not a person.
    fn asks_owner(&self, owner: Owner) -> bool {
        self.approver() == Approver::Owner && matches!(owner, Owner::Task(_))
    }

    fn ask(
        &self,
        request: &ApprovalRequest,
        owner: Owner,
    ) -> Result<QuestionRequest, offshoot_core::PayloadError> {
        let text = format!("May I call {}?", request.call_text(SHOWN_ARGUMENTS));
        let asking = self.cx.cx.ask(text::cut(&text, 2 * SHOWN_ARGUMENTS).as_ref()).approval();
        let asking = asking.about(Payload::encode(request)?).key(&self.key());
        Ok(match self.asks_owner(owner) {
            true => asking,
            false => asking.of_person(),
        })
    }

    fn key(&self) -> String {
        question_key(&self.cx.key)
    }

    /// The agent, as a task.
    async fn agent(&self) -> Result<TaskRef, Error> {
        let cx = &self.cx.cx;
        cx.task(&cx.id().to_string()).await
    }

    /// The question about this call, if it was asked.
    async fn question(&self, agent: &TaskRef) -> Result<Option<Question>, Error> {
        let key = self.key();
        let questions = agent.questions().await?;
        Ok(questions.into_iter().find(|question| question.key.as_deref() == Some(&key)))
    }

    /// The directory to which standing grants belong. An agent in a worktree uses the grants of
    /// the directory that the worktree was made from, which outlives the worktree.
    async fn grant_directory(&self) -> Result<Option<PathBuf>, Error> {
        match self.cx.brief.isolation {
            Isolation::None => Ok(self.cx.brief.folder.clone()),
            Isolation::Worktree => Ok(self.cx.cx.input::<Brief>().await?.folder),
        }
    }

    async fn is_granted(&self) -> Result<bool, Error> {
        let directory = self.grant_directory().await?;
        Ok(self.cx.shared.grants.cover(directory.as_deref(), &self.access).await)
    }

    /// The time until the deadline.
    fn time_left(&self, earlier: Option<&Question>) -> Duration {
        let waited = earlier.map(|earlier| self.cx.cx.now().since(earlier.at));
        self.cx.shared.limits.approval.saturating_sub(waited.unwrap_or_default())
    }

    /// Resolves when the wait ends without a decision.
    fn given_up<I: Future<Output = ()> + Send + 'static>(
        &self,
        left: Duration,
        directory: Option<PathBuf>,
        (stop, interrupted): (watch::Receiver<Option<StopCause>>, I),
    ) -> impl Future<Output = NoDecision> + Send + use<I> {
        let (shared, access) = (self.cx.shared.clone(), self.access.clone());
        async move {
            tokio::select! {
                biased;
                () = interrupted => NoDecision::Interrupted,
                cause = stopped(stop) => NoDecision::Stopped(cause),
                () = tokio::time::sleep(left) => NoDecision::Overdue(shared.limits.approval),
                () = shared.grants.covered(directory.as_deref(), &access) => NoDecision::Granted,
            }
        }
    }

    /// Applies the resolution of the question.
    async fn apply(
        &self,
        (agent, earlier): (&TaskRef, Option<&Question>),
        resolution: &Resolution,
        why: NoDecision,
    ) -> WaitResult {
        let (by, answer) = match resolution {
            Resolution::Answered { by, answer, .. } => (*by, answer),
            Resolution::Withdrawn { .. } if why == NoDecision::Granted => return Ok(None),
            // An earlier attempt withdrew it, perhaps because of that grant.
            Resolution::Withdrawn { .. }
                if why == NoDecision::Unknown && self.is_granted().await? =>
            {
                return Ok(None);
            }
            Resolution::Withdrawn { at } => {
                let waited = earlier.map(|earlier| at.since(earlier.at));
                let limit = self.cx.shared.limits.approval;
                let overdue = waited.is_some_and(|waited| waited >= limit);
                let why = if overdue { NoDecision::Overdue(limit) } else { why };
                return Ok(Some(self.undecided(why)));
            }
        };
        // Only a person may decide, or the owner if it is the approver.
        let is_owner =
            |task| self.approver() == Approver::Owner && agent.spec().owner() == Owner::Task(task);
        let by_agent = match by {
            Caller::Task(task) if !is_owner(task) => return Ok(Some(texts::not_the_approver())),
            Caller::Task(_) => true,
            Caller::Host | Caller::Session(_) => false,
        };
        match answer.decode::<Decision>() {
            Ok(Decision::Once) => Ok(None),
            Ok(Decision::Always) => {
                if let (false, Some(rule)) = (by_agent, &self.access.lasting) {
                    let directory = self.grant_directory().await?;
                    self.cx.shared.grants.add(directory.as_deref(), rule).await;
                }
                Ok(None)
            }
            Ok(Decision::Denied { reason }) => Ok(Some(texts::denied(reason.as_deref()))),
            Err(_) => Ok(Some(texts::no_decision())),
        }
    }

    fn undecided(&self, why: NoDecision) -> Output {
        let cancelled = NoDecision::Stopped(StopCause::Cancelled);
        texts::undecided(if self.cx.cx.is_cancelled() { cancelled } else { why })
    }
}

/// Resolves when the agent stops, with the cause.
async fn stopped(mut stop: watch::Receiver<Option<StopCause>>) -> StopCause {
    let cause = stop.wait_for(Option::is_some).await;
    cause.ok().and_then(|cause| *cause).unwrap_or(StopCause::Cancelled)
}

/// The key of the question about a call. It is stored, so its form stays.
fn question_key(call: &str) -> String {
    format!("leave {call}")
}

/// Asks the same question again. The key finds the stored one.
fn ask_again(cx: &Context, earlier: &Question) -> QuestionRequest {
    let asking = cx.ask(&earlier.text).approval().about(earlier.about.clone());
    let asking = asking.key(earlier.key.as_deref().unwrap_or_default());
    match earlier.addressee {
        Addressee::Owner => asking,
        Addressee::Person => asking.of_person(),
    }
}

/// Withdraws the open requests of an earlier attempt for the calls of a step.
pub(crate) async fn withdraw(cx: &Context, step: u64) -> Result<(), Error> {
    let prefix = question_key(&format!("{step}."));
    let questions = cx.task(&cx.id().to_string()).await?.questions().await?;
    let open = questions.iter().filter(|question| {
        let is_of_step = question.key.as_ref().is_some_and(|key| key.starts_with(&prefix));
        question.closed.is_none() && question.wants == QuestionKind::Approval && is_of_step
    });
    for question in open {
        // Whether it is answered or withdrawn meanwhile, it is no longer open.
        if let Err(Error::Store(error)) = ask_again(cx, question).unless(ready(())).await {
            return Err(Error::Store(error));
        }
    }
    Ok(())
}

/// The calls of one answer that wait for an approval. Most answers have none.
#[derive(Default)]
pub(crate) struct ApprovalWaits(Option<Box<Waiting>>);

struct Waiting {
    waits: FuturesUnordered<BoxFuture<(usize, WaitResult)>>,
    stop: watch::Sender<Option<StopCause>>,
}

impl ApprovalWaits {
    /// Adds the wait of the call of this number. `interrupted` ends it without a decision.
    pub(crate) fn push(
        &mut self,
        number: usize,
        wait: Box<ApprovalWait>,
        interrupted: impl Future<Output = ()> + Send + 'static,
    ) {
        let waiting = self.0.get_or_insert_with(|| {
            Box::new(Waiting { waits: FuturesUnordered::new(), stop: watch::Sender::new(None) })
        });
        let stop = waiting.stop.subscribe();
        let settled = async move { (number, wait.settle(stop, interrupted).await) };
        waiting.waits.push(Box::pin(settled));
    }

    /// Polls for the next call whose wait has ended. None if no call waits.
    pub(crate) fn poll_next(
        &mut self,
        task: &mut std::task::Context<'_>,
    ) -> Poll<Option<(usize, WaitResult)>> {
        match &mut self.0 {
            Some(waiting) => waiting.waits.poll_next_unpin(task),
            None => Poll::Ready(None),
        }
    }

    /// Withdraws the open requests and sets the result of each call. No call is made any more,
    /// also if it was approved in the last moment.
    pub(crate) async fn stop(
        &mut self,
        cause: StopCause,
        outputs: &mut [Option<Output>],
    ) -> Result<(), Error> {
        let Some(waiting) = &self.0 else { return Ok(()) };
        waiting.stop.send_replace(Some(cause));
        while let Some((number, settled)) = poll_fn(|task| self.poll_next(task)).await {
            let output = settled?.unwrap_or_else(|| texts::undecided(NoDecision::Stopped(cause)));
            outputs[number] = Some(output);
        }
        Ok(())
    }
}
