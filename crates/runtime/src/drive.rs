//! Polling a body to its end, whatever end that is.
//!
//! The driver is written by hand because there is one for each live task: it
//! holds the body, a pointer and nothing else, and takes the memory to settle
//! only when it settles.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use pin_project_lite::pin_project;

use crate::ambient;
use crate::body::{Body, BodyError, Ended};
use crate::cell::Eviction;
use crate::context::Context;
use crate::environment::BoxFuture;
use crate::panic;
use crate::settle::Conclusion;

pin_project! {
    pub(crate) struct Drive<B: Body> {
        // Moved into the thread while the body is polled.
        context: Option<Context>,
        #[pin]
        stage: Stage<B>,
    }
}

pin_project! {
    #[project = StageMut]
    enum Stage<B: Body> {
        Unborn { body: Option<B> },
        Running { #[pin] run: B::Run },
        Settling { settle: BoxFuture<()> },
        Over,
    }
}

impl<B: Body> Drive<B> {
    pub(crate) fn new(context: Context, body: B) -> Self {
        Self { context: Some(context), stage: Stage::Unborn { body: Some(body) } }
    }
}

impl<B: Body> Future for Drive<B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                StageMut::Over => return Poll::Ready(()),
                StageMut::Settling { settle } => {
                    std::task::ready!(settle.as_mut().poll(poller));
                    this.stage.set(Stage::Over);
                    continue;
                }
                StageMut::Unborn { .. } | StageMut::Running { .. } => {}
            }
            let conclusion = conclusion(this.context, this.stage.as_mut(), poller);
            let Some(context) = this.context.as_ref() else { return Poll::Ready(()) };
            let cell = context.cell();
            match conclusion {
                None => {
                    cell.wake_for_eviction(poller.waker());
                    if cell.eviction().is_none() {
                        return Poll::Pending;
                    }
                }
                Some(Conclusion::Evicted(Eviction::Abandon)) => {
                    context.engine().clear_later(cell);
                    return Poll::Ready(());
                }
                Some(conclusion) => match context.engine().conclude(cell, conclusion) {
                    None => return Poll::Ready(()),
                    Some(settle) => this.stage.set(Stage::Settling { settle }),
                },
            }
        }
    }
}

/// Polls the body, and drops it if it has come to its end or is to be dropped.
/// It goes before its end is told, and a panic in its destructors is the end
/// it comes to.
fn conclusion<B: Body>(
    context: &mut Option<Context>,
    mut stage: Pin<&mut Stage<B>>,
    poller: &mut Poller<'_>,
) -> Option<Conclusion> {
    let evicted = context.as_ref().and_then(|context| context.cell().eviction());
    let polled = panic::catch(|| {
        let conclusion = match evicted {
            Some(why) => Conclusion::Evicted(why),
            None => match poll_body(context, stage.as_mut(), poller) {
                Poll::Ready(ended) => Conclusion::Ended(ended),
                Poll::Pending => return None,
            },
        };
        stage.set(Stage::Over);
        Some(conclusion)
    });
    polled.unwrap_or_else(|panicked| {
        let dropped = panic::catch(|| stage.set(Stage::Over));
        Some(Conclusion::Panicked(dropped.err().unwrap_or(panicked)))
    })
}

/// Polls the body, beginning it first if it has not begun.
fn poll_body<B: Body>(
    context: &mut Option<Context>,
    mut stage: Pin<&mut Stage<B>>,
    poller: &mut Poller<'_>,
) -> Poll<Ended> {
    let cx = match stage.as_mut().project() {
        StageMut::Unborn { .. } => context.clone(),
        _ => None,
    };
    ambient::within(context, || {
        if let (StageMut::Unborn { body }, Some(cx)) = (stage.as_mut().project(), cx)
            && let Some(body) = body.take()
        {
            let run = body.begin(cx);
            stage.set(Stage::Running { run });
        }
        match stage.project() {
            StageMut::Running { run } => run.poll(poller),
            _ => Poll::Ready(Err(BodyError::message("the body is gone"))),
        }
    })
}
