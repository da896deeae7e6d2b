//! Messages to tasks.

use offshoot_client::wire::{Code, Fault, Named, Reply};
use offshoot_core::MessageState;

use super::Answer;
use crate::house::House;

/// Sends a message to a task.
pub(super) async fn send(house: &House, to: &Named, text: &str, key: &str) -> Answer {
    let receipts = house.task(to).await?.send(text).key(key).await?;
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
