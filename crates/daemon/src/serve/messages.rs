//! Messages to tasks.

use offshoot_client::wire::{Code, Fault, Message, Reply, Sequel};
use offshoot_core::MessageState;

use super::Answer;
use crate::fault::refusal_about;
use crate::house::House;

/// Sends a message to a task.
pub(super) async fn send(house: &House, message: &Message) -> Answer {
    let task = house.task(&message.to).await?;
    let sending = task.send(&message.text).key(&message.key);
    let sending = match message.sequel {
        Sequel::More => sending,
        Sequel::End => sending.last(),
    };
    let receipts = sending.await.map_err(|error| {
        let fault = refusal_about(&task, &message.to.task, &error);
        match fault.code {
            Code::TakesNoMessages => fault.hint(
                "its input is passed on by the `spawn` that sent it off; with --no-stdin a command \
                 reads messages",
            ),
            _ => fault,
        }
    })?;
    let Some(receipt) = receipts.first() else {
        return Err(Fault::new(Code::Other, "the message was queued for nobody").into());
    };
    let state = match receipt.state {
        MessageState::Queued => "queued",
        MessageState::Delivered => "delivered",
        MessageState::Consumed => "consumed",
        MessageState::Returned => "returned",
    };
    Ok(Reply::Sent {
        message: receipt.message.to_string(),
        task: receipt.task.to_string(),
        state: state.to_owned(),
    })
}
