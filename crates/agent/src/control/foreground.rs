//! A child in the foreground: the call that spawned it returns its result.

use std::pin::pin;

use futures_util::future::{Either, select};
use offshoot_core::{QuestionKind, text};
use offshoot_runtime::{Context, TaskRef};

use crate::delivery::{self, steered};
use crate::notice;
use crate::tool::{Output, ToolError};

/// How much of a child's question is shown.
const ASKED: usize = 4_000;

/// A child whose end the call waits for, with the few things that the wait needs.
pub(super) struct ForegroundChild {
    pub(super) cx: Context,
    pub(super) task: TaskRef,
    /// How many Unicode scalars of its result are shown.
    pub(super) allowance: usize,
}

impl ForegroundChild {
    /// Its result, unless it asks something or a message comes before.
    pub(super) async fn ends(&self) -> Result<Output, ToolError> {
        let Self { cx, task, allowance } = self;
        let (wait, steered) = (pin!(task.wait().into_future()), pin!(steered(cx)));
        match select(wait, steered).await {
            Either::Left((waited, _)) => {
                let waited = waited?;
                if let Some(number) = waited.task.state.question() {
                    return Box::pin(self.asks(number)).await;
                }
                Ok(match waited.is_ended() {
                    true => Output::default().telling(cx, &waited.task, *allowance),
                    false => Output::default()
                        .noting(notice::result(&waited.task, &cx.digest(&waited.task, *allowance))),
                })
            }
            Either::Right(_) => Ok(Output::text(format!(
                "A message for you came before {} had ended. It goes on in the background, nothing \
                 is done yet, and its result will come to you by itself.",
                task.handle()
            ))),
        }
    }

    /// The child cannot go on without an answer, which only a later call can give.
    async fn asks(&self, number: u32) -> Result<Output, ToolError> {
        let asked = delivery::question(&self.cx, self.task.id(), number).await?;
        let handle = self.task.handle();
        if asked.as_ref().is_some_and(|asked| asked.wants == QuestionKind::Approval) {
            return Ok(Output::text(format!(
                "{handle} has no result yet: it asks for your approval, and waits. What it asks comes to \
                 you as a notice. It goes on in the background once you have answered it with \
                 answer_request, and its result will come to you by itself."
            )));
        }
        let asked = asked.map(|asked| asked.text).unwrap_or_default();
        let asked =
            notice::envelope("question", &[("task", handle)], text::cut(&asked, ASKED).as_ref());
        Ok(Output::text(format!(
            "{handle} has no result yet: it asks something and waits. Answer with send_message, \
             to {handle:?}. It goes on in the background then, and its result will come to you by \
             itself."
        ))
        .noting(asked))
    }
}
