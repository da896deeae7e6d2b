//! Leave: what a call wishes is judged before it is made, and where somebody must
//! be asked the call waits for the answer.
//!
//! A request for leave is a question in the store, bound to the call by the key of
//! the call and by its very arguments. It is there before anything is done, so a
//! process that dies finds it again, answered or not, and makes the call once. It
//! waits without a slot, and the other calls of the same answer go on. What ends
//! the wait without an answer withdraws it: a message that cannot wait, a cancel,
//! the end of the agent's time, and a deadline.

mod outside;
mod words;

use std::future::{poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use offshoot_core::permissions::{Access, Approver, Permissions, Verdict};
use offshoot_core::{Addressee, Caller, Owner, Payload, Question, QuestionKind, Resolution, text};
use offshoot_runtime::{BoxFuture, Context, Error, QuestionRequest, TaskRef};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::approval::{Approval, Leave};
use crate::brief::{Brief, Isolation};
use crate::delivery::interrupted;
use crate::loop_exit::LoopExit;
use crate::tool::{Output, Tool, ToolContext};

pub(crate) use outside::first_outside;
pub(crate) use words::{request, unmet};

/// How much of a call's arguments is in the words of its request; all of them
/// are in its matter.
const SHOWN: usize = 2_000;

/// How much of a path is in a note for the person who is asked.
const PATH: usize = 200;

/// What is said of a call before it is made.
pub(crate) enum Judged {
    /// It is made.
    Goes,
    /// It is not, and this is told.
    Refused(Output),
    /// Somebody is asked.
    Asks(Box<Plea>),
}

/// Judges a call by what it wishes and what its agent may do.
pub(crate) fn judge(tool: &Arc<dyn Tool>, cx: ToolContext, arguments: &str) -> Judged {
    let wish = match catch_unwind(AssertUnwindSafe(|| tool.wish(&cx, arguments))) {
        Ok(Ok(wish)) => wish,
        Ok(Err(error)) => return Judged::Refused(Output::failure(error.to_string())),
        Err(_) => return Judged::Refused(words::broken(&tool.spec().name)),
    };
    let authority = cx.brief.authority.as_deref();
    match verdict(authority, &wish) {
        Verdict::Allow => Judged::Goes,
        Verdict::Deny => Judged::Refused(words::forbidden(authority, &wish)),
        Verdict::Ask => {
            let doubt = authority.and_then(|authority| words::doubt(authority, &wish));
            if asks(authority) == Approver::None && !can_last(&wish) {
                return Judged::Refused(words::nobody(&wish, doubt));
            }
            Judged::Asks(Box::new(Plea { cx, wish, doubt, arguments: arguments.into() }))
        }
    }
}

/// What an agent of this authority may do of its own accord.
fn verdict(authority: Option<&Permissions>, wish: &Access) -> Verdict {
    match (authority, &wish.guarded) {
        (Some(authority), _) => authority.judge(wish),
        (None, Some(_)) => Verdict::Ask,
        (None, None) => Verdict::Allow,
    }
}

/// Whether an agent of this authority can give the leave that is asked for: only
/// for what it may do unasked itself.
pub(crate) fn may_give(authority: Option<&Permissions>, question: &Question) -> bool {
    let wish = Approval::of(question).map(|approval| approval.wish());
    wish.map(|wish| verdict(authority, &wish)) == Some(Verdict::Allow)
}

/// Whether a standing grant can cover a wish.
pub(crate) fn can_last(wish: &Access) -> bool {
    wish.guarded.is_none() && wish.lasting.is_some()
}

fn asks(authority: Option<&Permissions>) -> Approver {
    authority.map(Permissions::approver).unwrap_or_default()
}

/// A call that waits for leave.
pub(crate) struct Plea {
    cx: ToolContext,
    wish: Access,
    /// The rule that it may break by way of a command that it does not name.
    doubt: Option<String>,
    arguments: Arc<str>,
}

/// Why an agent stops while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was asked to.
    Cancelled,
    /// Its time is over.
    Late,
}

/// What has ended a wait before anybody answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GaveUp {
    /// A message that cannot wait.
    Interrupted,
    /// Nobody has answered for so long.
    Overdue(Duration),
    /// The agent stops.
    Stopped(Stop),
    /// There is lasting leave now.
    Granted,
    /// It is not known any more.
    Forgotten,
}

/// What there is to say of a call for which leave was asked: nothing if it is made.
type Settled = Result<Option<Output>, LoopExit>;

impl Plea {
    /// Asks for leave and waits for the answer; why the call is not made, if it is
    /// not. What an attempt before this one has asked is not asked again.
    async fn settle(mut self: Box<Self>, stop: watch::Receiver<Option<Stop>>) -> Settled {
        if self.asks_nobody() {
            return self.unasked(stop).await;
        }
        if let Some(doubt) = self.doubt.take() {
            self.wish = self.wish.noting(&doubt);
        }
        self.narrow().await;
        let own = self.own().await?;
        let before = self.asked(&own).await?;
        let approval = Approval::new(self.wish.clone(), &self.arguments);
        let is_for_it =
            |asked: &Question| Approval::of(asked).is_some_and(|of| of.is_for(&approval));
        if let Some(other) = before.as_ref().filter(|before| !is_for_it(before)) {
            if other.closed.is_none()
                && let Err(Error::Store(error)) = again(&self.cx.cx, other).unless(ready(())).await
            {
                return Err(Error::Store(error).into());
            }
            return Ok(Some(words::no_leave()));
        }
        if let Some(Question { closed: Some(closed), .. }) = &before {
            return self.read((&own, before.as_ref()), closed, GaveUp::Forgotten).await;
        }
        let folder = self.folder().await?;
        let granted = self.cx.shared.grants.has(folder.as_deref(), &self.wish).await;
        if granted && before.is_none() {
            return Ok(None);
        }
        let asking = match &before {
            Some(before) => again(&self.cx.cx, before),
            None => match self.ask(&approval, own.spec().owner()) {
                Ok(asking) => asking,
                Err(error) => return Ok(Some(words::unaskable(&error.to_string()))),
            },
        };
        let why = Arc::new(OnceLock::new());
        let (told, left) = (why.clone(), self.left(before.as_ref()));
        let given_up: BoxFuture<GaveUp> = match granted {
            true => Box::pin(ready(GaveUp::Granted)),
            false => Box::pin(self.given_up(left, folder, stop)),
        };
        let asking = asking.unless(async move { _ = told.set(given_up.await) });
        match self.wait(asking, own.spec().owner()).await {
            Ok(_) | Err(Error::Cancelled) => {}
            Err(Error::TooLarge(error)) => return Ok(Some(words::unaskable(&error.to_string()))),
            Err(error) => return Err(error.into()),
        }
        let why = why.get().copied().unwrap_or(GaveUp::Forgotten);
        match self.asked(&own).await? {
            Some(Question { closed: Some(closed), .. }) => {
                self.read((&own, None), &closed, why).await
            }
            _ => Ok(Some(self.unanswered(why))),
        }
    }

    /// The answer where nobody can be asked: a standing grant, or none.
    async fn unasked(self: Box<Self>, mut stop: watch::Receiver<Option<Stop>>) -> Settled {
        let stopped = pin!(stop.wait_for(Option::is_some));
        match select(pin!(self.is_granted()), stopped).await {
            Either::Left((Ok(true), _)) => Ok(None),
            Either::Left((Ok(false), _)) => Ok(Some(words::nobody(&self.wish, self.doubt.clone()))),
            Either::Left((Err(error), _)) => Err(error),
            Either::Right((stopped, _)) => {
                let why = stopped.ok().and_then(|stopped| *stopped).unwrap_or(Stop::Cancelled);
                Ok(Some(self.unanswered(GaveUp::Stopped(why))))
            }
        }
    }

    fn asks_nobody(&self) -> bool {
        asks(self.cx.brief.authority.as_deref()) == Approver::None
    }

    /// Offers no standing grant for a call that names a path outside its directory, and
    /// says so to the person who is asked.
    async fn narrow(&mut self) {
        let can_last = can_last(&self.wish);
        let Some(named) = self.wish.paths.clone().filter(|_| can_last) else { return };
        let directory = named.directory.display().to_string();
        let found = spawn_blocking(move || first_outside(&named).map(str::to_owned)).await;
        let note = match found {
            Ok(None) => return,
            // Quoted, so that a path can pose as nothing else.
            Ok(Some(path)) => format!("{:?} is outside {directory}", text::cut(&path, PATH)),
            Err(_) => "it is not known where its paths lead".to_owned(),
        };
        self.wish.lasting = None;
        self.wish.notes.push(format!("{note}, so no standing grant covers it").into());
    }

    /// Waits for the answer. What a person takes for it is not the agent's time.
    async fn wait(&self, asking: QuestionRequest, owner: Owner) -> Result<Payload, Error> {
        match self.asks_owner(owner) {
            true => asking.into_future().await,
            false => self.cx.on_hold(asking.into_future()).await,
        }
    }

    /// Whether the agent that sent it off is asked, and no person.
    fn asks_owner(&self, owner: Owner) -> bool {
        let asks = asks(self.cx.brief.authority.as_deref());
        asks == Approver::Owner && matches!(owner, Owner::Task(_))
    }

    fn ask(
        &self,
        approval: &Approval,
        owner: Owner,
    ) -> Result<QuestionRequest, offshoot_core::PayloadError> {
        let said = format!("May I call {}?", approval.shown(SHOWN));
        let asking = self.cx.cx.ask(text::cut(&said, 2 * SHOWN).as_ref()).approval();
        let asking = asking.about(Payload::encode(approval)?).key(&self.key());
        Ok(match self.asks_owner(owner) {
            true => asking,
            false => asking.of_person(),
        })
    }

    fn key(&self) -> String {
        key(&self.cx.key)
    }

    /// The agent itself, as a task.
    async fn own(&self) -> Result<TaskRef, LoopExit> {
        let cx = &self.cx.cx;
        Ok(cx.task(&cx.id().to_string()).await?)
    }

    /// The question that was put for this call, if one was.
    async fn asked(&self, own: &TaskRef) -> Result<Option<Question>, LoopExit> {
        let key = self.key();
        let asked = own.questions().await?;
        Ok(asked.into_iter().find(|asked| asked.key.as_deref() == Some(&key)))
    }

    /// The folder to which lasting leave belongs: of an agent that has a worktree
    /// the one from which that was taken, which outlives it.
    async fn folder(&self) -> Result<Option<PathBuf>, LoopExit> {
        match self.cx.brief.isolation {
            Isolation::None => Ok(self.cx.brief.folder.clone()),
            Isolation::Worktree => Ok(self.cx.cx.input::<Brief>().await?.folder),
        }
    }

    async fn is_granted(&self) -> Result<bool, LoopExit> {
        let folder = self.folder().await?;
        Ok(self.cx.shared.grants.has(folder.as_deref(), &self.wish).await)
    }

    /// How long there is to answer.
    fn left(&self, before: Option<&Question>) -> Duration {
        let waited = before.map(|before| self.cx.cx.now().since(before.at));
        self.cx.shared.limits.leave.saturating_sub(waited.unwrap_or_default())
    }

    /// Resolves when the wait is over without an answer.
    fn given_up(
        &self,
        left: Duration,
        folder: Option<PathBuf>,
        mut stop: watch::Receiver<Option<Stop>>,
    ) -> impl Future<Output = GaveUp> + Send + use<> {
        let (agent, shared, wish) = (self.cx.cx.clone(), self.cx.shared.clone(), self.wish.clone());
        async move {
            let stopped = pin!(async {
                let stopped = stop.wait_for(Option::is_some).await;
                stopped.ok().and_then(|stopped| *stopped).unwrap_or(Stop::Cancelled)
            });
            let (interrupted, overdue) =
                (pin!(interrupted(&agent)), pin!(tokio::time::sleep(left)));
            let granted = pin!(shared.grants.comes(folder.as_deref(), &wish));
            let by_itself = select(interrupted, stopped);
            match select(by_itself, select(overdue, granted)).await {
                Either::Left((Either::Left(_), _)) => GaveUp::Interrupted,
                Either::Left((Either::Right((stop, _)), _)) => GaveUp::Stopped(stop),
                Either::Right((Either::Left(_), _)) => GaveUp::Overdue(shared.limits.leave),
                Either::Right((Either::Right(_), _)) => GaveUp::Granted,
            }
        }
    }

    /// What follows from how the question was closed.
    async fn read(
        &self,
        (own, before): (&TaskRef, Option<&Question>),
        closed: &Resolution,
        why: GaveUp,
    ) -> Settled {
        let (by, answer) = match closed {
            Resolution::Answered { by, answer, .. } => (*by, answer),
            Resolution::Withdrawn { .. } if why == GaveUp::Granted => return Ok(None),
            // By an attempt before this one, perhaps because of that leave.
            Resolution::Withdrawn { .. }
                if why == GaveUp::Forgotten && self.is_granted().await? =>
            {
                return Ok(None);
            }
            Resolution::Withdrawn { at } => {
                let asked = before.map(|before| at.since(before.at));
                let limit = self.cx.shared.limits.leave;
                let overdue = asked.is_some_and(|waited| waited >= limit);
                let why = if overdue { GaveUp::Overdue(limit) } else { why };
                return Ok(Some(self.unanswered(why)));
            }
        };
        // Only a person or, where it is asked, the owner can give leave. Whatever
        // else the answer says, it counts as none.
        let asked = asks(self.cx.brief.authority.as_deref());
        let owns = |task| asked == Approver::Owner && own.spec().owner() == Owner::Task(task);
        let by_agent = match by {
            Caller::Task(task) if !owns(task) => return Ok(Some(words::not_theirs())),
            Caller::Task(_) => true,
            Caller::Host | Caller::Session(_) => false,
        };
        match answer.decode::<Leave>() {
            Ok(Leave::Once) => Ok(None),
            Ok(Leave::Always) => {
                if let (false, Some(rule)) = (by_agent, &self.wish.lasting) {
                    let folder = self.folder().await?;
                    self.cx.shared.grants.give(folder.as_deref(), rule).await;
                }
                Ok(None)
            }
            Ok(Leave::Denied { reason }) => Ok(Some(words::denied(reason.as_deref()))),
            Err(_) => Ok(Some(words::no_leave())),
        }
    }

    fn unanswered(&self, why: GaveUp) -> Output {
        let stops = self.cx.cx.is_cancelled();
        words::unanswered(if stops { GaveUp::Stopped(Stop::Cancelled) } else { why })
    }
}

/// The key under which leave for a call is asked.
fn key(call: &str) -> String {
    format!("leave {call}")
}

/// The same question once more: it is found again.
fn again(cx: &Context, before: &Question) -> QuestionRequest {
    let asking = cx.ask(&before.text).approval().about(before.about.clone());
    let asking = asking.key(before.key.as_deref().unwrap_or_default());
    match before.addressee {
        Addressee::Owner => asking,
        Addressee::Person => asking.of_person(),
    }
}

/// Withdraws what an attempt before this one has asked for the calls of a step.
pub(crate) async fn withdraw(cx: &Context, step: u64) -> Result<(), LoopExit> {
    let prefix = key(&format!("{step}."));
    let asked = cx.task(&cx.id().to_string()).await?.questions().await?;
    let open = asked.iter().filter(|asked| {
        let is_of_step = asked.key.as_ref().is_some_and(|key| key.starts_with(&prefix));
        asked.closed.is_none() && asked.wants == QuestionKind::Approval && is_of_step
    });
    for asked in open {
        // Answered or withdrawn: whichever, it is open no more.
        if let Err(Error::Store(error)) = again(cx, asked).unless(ready(())).await {
            return Err(Error::Store(error).into());
        }
    }
    Ok(())
}

/// The calls of an answer that wait for leave. Most answers have none.
#[derive(Default)]
pub(crate) struct Pleas(Option<Box<Waiting>>);

struct Waiting {
    pleas: FuturesUnordered<BoxFuture<(usize, Settled)>>,
    stop: watch::Sender<Option<Stop>>,
}

impl Pleas {
    /// One more, for the call of this number.
    pub(crate) fn push(&mut self, number: usize, plea: Box<Plea>) {
        let waiting = self.0.get_or_insert_with(|| {
            Box::new(Waiting { pleas: FuturesUnordered::new(), stop: watch::Sender::new(None) })
        });
        let stop = waiting.stop.subscribe();
        waiting.pleas.push(Box::pin(async move { (number, plea.settle(stop).await) }));
    }

    /// The next that has its answer; none if no call waits.
    pub(crate) fn poll_next(
        &mut self,
        task: &mut std::task::Context<'_>,
    ) -> Poll<Option<(usize, Settled)>> {
        match &mut self.0 {
            Some(waiting) => waiting.pleas.poll_next_unpin(task),
            None => Poll::Ready(None),
        }
    }

    /// Withdraws what is still asked. Of each call it tells why it is not made;
    /// one that was answered in the last moment is not made either.
    pub(crate) async fn stop(
        &mut self,
        why: Stop,
        outputs: &mut [Option<Output>],
    ) -> Result<(), LoopExit> {
        let Some(waiting) = &self.0 else { return Ok(()) };
        waiting.stop.send_replace(Some(why));
        while let Some((number, settled)) = poll_fn(|task| self.poll_next(task)).await {
            let told = settled?.unwrap_or_else(|| words::unanswered(GaveUp::Stopped(why)));
            outputs[number] = Some(told);
        }
        Ok(())
    }
}
