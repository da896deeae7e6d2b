//! The future that polls a body to its end.
//!
//! It is written by hand because there is one for each live task: it holds the
//! body and one pointer, and allocates for the settlement only if the store
//! does not answer at once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use pin_project_lite::pin_project;

use crate::cancel;
use crate::engine::ambient;
use crate::engine::body::{BodyError, BodyResult, TaskBody};
use crate::engine::handle::Context;
use crate::engine::live_task::Eviction;
use crate::environment::BoxFuture;
use crate::panic;
use crate::settle::{self, BodyEnd};

pin_project! {
    pub(super) struct Drive<B: TaskBody> {
        // Moved into a thread-local while the body is polled.
        context: Option<Context>,
        #[pin]
        stage: DriveStage<B>,
    }
}

pin_project! {
    #[project = DriveStageMut]
    enum DriveStage<B: TaskBody> {
        NotBegun { body: Option<B> },
        Running { #[pin] run: B::Run },
        Settling { settle: BoxFuture<()> },
        Done,
    }
}

impl<B: TaskBody> Drive<B> {
    pub(super) fn new(context: Context, body: B) -> Self {
        Self { context: Some(context), stage: DriveStage::NotBegun { body: Some(body) } }
    }
}

impl<B: TaskBody> Future for Drive<B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                DriveStageMut::Done => return Poll::Ready(()),
                DriveStageMut::Settling { settle } => {
                    std::task::ready!(settle.as_mut().poll(poller));
                    this.stage.set(DriveStage::Done);
                    continue;
                }
                DriveStageMut::NotBegun { .. } | DriveStageMut::Running { .. } => {}
            }
            let end = poll_to_end(this.context, this.stage.as_mut(), poller);
            let Some(Context { engine, live }) = this.context.as_ref() else {
                return Poll::Ready(());
            };
            match end {
                None => {
                    live.wake_for_eviction(poller.waker());
                    if live.eviction().is_none() {
                        return Poll::Pending;
                    }
                }
                Some(BodyEnd::Evicted(Eviction::Abandon)) => {
                    settle::clear_later(engine, live);
                    return Poll::Ready(());
                }
                Some(end) => match settle::begin(engine, live, end) {
                    None => return Poll::Ready(()),
                    Some(pending) => {
                        let settle = Box::pin(cancel::finish_settle(pending));
                        this.stage.set(DriveStage::Settling { settle });
                    }
                },
            }
        }
    }
}

/// Polls the body, and drops it once it has ended or is evicted. The body is
/// dropped before its end is written, so a panic in its destructors decides how
/// it ended.
fn poll_to_end<B: TaskBody>(
    context: &mut Option<Context>,
    mut stage: Pin<&mut DriveStage<B>>,
    poller: &mut Poller<'_>,
) -> Option<BodyEnd> {
    let eviction = context.as_ref().and_then(|context| context.live.eviction());
    let polled = panic::catch(|| {
        let end = match eviction {
            Some(why) => BodyEnd::Evicted(why),
            None => match poll_body(context, stage.as_mut(), poller) {
                Poll::Ready(ended) => BodyEnd::Returned(ended),
                Poll::Pending => return None,
            },
        };
        stage.set(DriveStage::Done);
        Some(end)
    });
    polled.unwrap_or_else(|panicked| {
        let dropped = panic::catch(|| stage.set(DriveStage::Done));
        Some(BodyEnd::Panicked(dropped.err().unwrap_or(panicked)))
    })
}

/// Polls the body, and begins it first if it has not begun.
fn poll_body<B: TaskBody>(
    context: &mut Option<Context>,
    mut stage: Pin<&mut DriveStage<B>>,
    poller: &mut Poller<'_>,
) -> Poll<BodyResult> {
    let cx = match stage.as_mut().project() {
        DriveStageMut::NotBegun { .. } => context.clone(),
        _ => None,
    };
    ambient::within(context, || {
        if let (DriveStageMut::NotBegun { body }, Some(cx)) = (stage.as_mut().project(), cx)
            && let Some(body) = body.take()
        {
            let run = body.begin(cx);
            stage.set(DriveStage::Running { run });
        }
        match stage.project() {
            DriveStageMut::Running { run } => run.poll(poller),
            _ => Poll::Ready(Err(BodyError::message("the body is gone"))),
        }
    })
}
