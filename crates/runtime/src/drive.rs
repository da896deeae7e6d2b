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
use crate::body::Body;
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
            let Some(cell) = this.context.as_ref().map(Context::cell) else {
                return Poll::Ready(());
            };
            let conclusion = match this.stage.as_mut().project() {
                StageMut::Over => return Poll::Ready(()),
                StageMut::Settling { settle } => {
                    if settle.as_mut().poll(poller).is_pending() {
                        return Poll::Pending;
                    }
                    this.stage.set(Stage::Over);
                    continue;
                }
                StageMut::Unborn { body } => match cell.eviction(poller.waker()) {
                    Some(why) => Conclusion::Evicted(why),
                    None => {
                        let (body, cx) = (body.take(), this.context.clone());
                        let Some((body, cx)) = body.zip(cx) else { return Poll::Ready(()) };
                        let begun =
                            panic::catch(|| ambient::within(this.context, || body.begin(cx)));
                        match begun {
                            Ok(run) => {
                                this.stage.set(Stage::Running { run });
                                continue;
                            }
                            Err(panicked) => Conclusion::Panicked(panicked),
                        }
                    }
                },
                StageMut::Running { run } => match cell.eviction(poller.waker()) {
                    Some(why) => Conclusion::Evicted(why),
                    None => {
                        let polled =
                            panic::catch(|| ambient::within(this.context, || run.poll(poller)));
                        match polled {
                            Ok(Poll::Pending) => return Poll::Pending,
                            Ok(Poll::Ready(ended)) => Conclusion::Ended(ended),
                            Err(panicked) => Conclusion::Panicked(panicked),
                        }
                    }
                },
            };
            // The body goes before its end is told, and a panic in its
            // destructors is the end it comes to.
            let dropped = panic::catch(|| this.stage.set(Stage::Over));
            let conclusion = match dropped {
                Ok(()) => conclusion,
                Err(panicked) => Conclusion::Panicked(panicked),
            };
            if matches!(conclusion, Conclusion::Evicted(Eviction::Abandon)) {
                return Poll::Ready(());
            }
            let Some(context) = this.context.as_ref() else { return Poll::Ready(()) };
            match context.engine().conclude(context.cell(), conclusion) {
                None => return Poll::Ready(()),
                Some(settle) => this.stage.set(Stage::Settling { settle }),
            }
        }
    }
}
