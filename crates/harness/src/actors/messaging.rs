//! Messages, receipts and answers.

use offshoot_core::{MessageState, Receipt, RowBody};
use offshoot_runtime::{Error, Session, TaskRef};

use crate::shadow::Fate;
use crate::violation::ensure;
use crate::world::World;

/// Sends a message, perhaps twice under one key; its receipt.
pub async fn send(world: &World, task: &TaskRef) -> Result<Option<Receipt>, Error> {
    let key = world.draw(|rng| rng.happens(500).then(|| format!("m{}", rng.below(4))));
    let send = || {
        let sending = task.send("steer");
        match &key {
            Some(key) => sending.key(key),
            None => sending,
        }
    };
    let first = send().await?.first();
    let Some(first) = first else { return Ok(None) };
    world.model(|model| model.acknowledged("a message", |model| model.sent(first)));
    if key.is_some() {
        let again = send().await?.first();
        world.model(|model| {
            model.acknowledged("a repeated message", |_| {
                let same = again.is_some_and(|again| again.message == first.message);
                ensure(same, "S5.3 a repeated key finds the same message", || {
                    format!("{first:?}, then {again:?}")
                })
            });
        });
    }
    Ok(Some(first))
}

/// Asks how far a message has come.
pub async fn ask_receipt(world: &World, session: &Session, receipt: Receipt) -> Result<(), Error> {
    let state = session.receipt(receipt).await?;
    world.model(|model| {
        model.acknowledged("a receipt", |model| {
            let Some(row) = model.shadow.message(receipt.message) else { return Ok(()) };
            let returned = matches!(row.body, RowBody::Returned(_)) || row.fate == Fate::Nowhere;
            let consumed = matches!(row.fate, Fate::Acked | Fate::Appended) && !returned;
            let truthful = match state {
                MessageState::Queued | MessageState::Delivered => true,
                MessageState::Consumed => consumed,
                MessageState::Returned => returned,
            };
            ensure(truthful, "S5.1 receipts are truthful", || {
                format!("{receipt:?} is said to be {state:?}, but is {row:?}")
            })
        });
    });
    Ok(())
}

/// Answers the oldest open question that anybody known asks.
pub async fn answer(world: &World) -> Result<(), Error> {
    let open = world.model(|model| {
        model.shadow.live().find_map(|known| {
            let asked = model.shadow.questions.get(&known.task.id())?;
            let number = asked.iter().position(Option::is_none)? + 1;
            Some((known.task.id(), number as u32))
        })
    });
    let Some((id, number)) = open else { return Ok(()) };
    let Some(task) = world.known(id) else { return Ok(()) };
    let answer = world.draw(|rng| rng.bits() >> 12);
    task.answer(number, &answer).await?;
    world.model(|model| {
        model.acknowledged("an answer", |model| {
            let asked = model.shadow.questions.get(&id);
            let closed = asked.and_then(|asked| asked.get(number as usize - 1));
            ensure(
                closed.is_some_and(Option::is_some),
                "S5.5 an answer is durable before it is acknowledged",
                || format!("question {number} of {id} is {closed:?}"),
            )
        });
    });
    Ok(())
}
