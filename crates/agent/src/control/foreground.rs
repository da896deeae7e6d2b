//! Foreground children: the call that spawns such a child returns its result.

use std::pin::pin;

use futures_util::future::{Either, select};
use offshoot_core::{QuestionKind, text};
use offshoot_runtime::{Context, TaskRef};

use crate::delivery::{self, steered};
use crate::notice;
use crate::tool::{Output, ToolError};

/// The most Unicode scalars of a child's question that the model reads.
const ASKED: usize = 4_000;

/// A child whose end the call waits for.
///
/// It holds only what the wait needs.
pub(super) struct ForegroundChild {
    pub(super) cx: Context,
    pub(super) task: TaskRef,
    /// The most Unicode scalars of its result that the model reads.
    pub(super) allowance: usize,
}

impl ForegroundChild {
    /// Waits for the result of the child.
    ///
    /// A question of the child or a message for the agent ends the wait.
    pub(super) async fn wait(&self) -> Result<Output, ToolError> {
        let Self { cx, task, allowance } = self;
        let (wait, steered) = (pin!(task.wait().into_future()), pin!(steered(cx)));
        match select(wait, steered).await {
            Either::Left((waited, _)) => {
                let waited = waited?;
                if let Some(number) = waited.task.state.question() {
                    return Box::pin(self.question_output(number)).await;
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

    /// The output of a call whose child waits for an answer. Only a later call can
    /// answer.
    async fn question_output(&self, number: u32) -> Result<Output, ToolError> {
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
