//! Messages, receipts and answers.

use offshoot_core::{Caller, Capabilities, MessageState, Owner, Receipt, Task, TaskId, Visibility};
use offshoot_runtime::{
    Error, MessageRecipient, Receipts, RefusedRecipient, SendRequest, Session, TaskRef,
};

use crate::model::RuntimeModel;
use crate::model::store_model::RowFate;
use crate::task_script::ScriptMessage;
use crate::violation::{Checked, ensure};
use crate::worker_context::WorkerContext;

/// Sends a message, perhaps twice under one key, and returns its receipt. The sender is the
/// parent of the task, or the session: each has its own keys.
pub async fn send(
    world: &WorkerContext,
    session: &Session,
    task: &TaskRef,
) -> Result<Option<Receipt>, Error> {
    let letter = world.draw(ScriptMessage::draw);
    let session = session.clone().with_visibility(Visibility::Subtree);
    let from = world.draw(|rng| rng.happens(500)).then_some(Caller::Session(session.id()));
    let send = || match from {
        Some(_) => session.send(MessageRecipient::Task(task), letter.text()),
        None => task.send(letter.text()),
    };
    let first = post(world, send(), letter, from).await?.first();
    let Some(first) = first else { return Ok(None) };
    if letter.key.is_some() {
        let again = post(world, send(), letter, from).await?.first();
        world.model(|model| {
            model.acknowledged("a repeated message", |model| {
                // A task that ended meanwhile is continued by another.
                let same = again.is_some_and(|again| again.message == first.message);
                let other = again.is_some_and(|again| again.task != first.task);
                let gone = !model.shadow.is_stored(first.task);
                ensure(
                    same || (other && gone),
                    "S5.3 a repeated key finds the same message",
                    || format!("{first:?}, then {again:?}"),
                )
            });
        });
    }
    Ok(Some(first))
}

/// Sends the message of a letter, and checks the answer of the runtime. `from` is the sender,
/// where it is known.
pub async fn post(
    world: &WorkerContext,
    sending: SendRequest,
    letter: ScriptMessage,
    from: Option<Caller>,
) -> Result<Receipts, Error> {
    let sending = match letter.key() {
        Some(key) => sending.key(&key),
        None => sending,
    };
    let posted = sending.await;
    let text = letter.text();
    world.model(|model| match &posted {
        Ok(receipts) => model.acknowledged("a message", |model| {
            receipts.iter().try_for_each(|receipt| model.sent(*receipt, text))
        }),
        Err(Error::MessageKeyReused { message, .. }) => {
            let checked = model.key_reused(*message, text, from);
            model.expect(checked);
        }
        Err(_) => {}
    });
    posted
}

/// Sends a message to all tasks of an owner: each receives it, or the result gives the reason.
pub async fn tell_all(
    world: &WorkerContext,
    sending: SendRequest,
    letter: ScriptMessage,
    sender: Owner,
) -> Result<(), Error> {
    let before: Vec<TaskId> = world.model(|model| {
        let live = model.shadow.live().map(|known| &known.task);
        live.filter(|task| task.owner() == sender).map(Task::id).collect()
    });
    let receipts = post(world, sending, letter, None).await?;
    world.model(|model| {
        model.acknowledged("a message to all", |model| {
            let told = |id: TaskId| {
                receipts.iter().any(|receipt| receipt.task == id)
                    || receipts.refused().iter().any(|refused| refused.task == id)
            };
            let live = |id: TaskId| model.shadow.task(id).is_some_and(Task::is_live);
            let missed = before.iter().find(|id| live(**id) && !told(**id));
            ensure(
                missed.is_none(),
                "S5.1 all live children are told, or it is said why not",
                || format!("{missed:?} is neither among {receipts:?}"),
            )?;
            receipts.refused().iter().try_for_each(|refused| check_refused(model, refused))
        });
    });
    Ok(())
}

fn check_refused(model: &RuntimeModel, refused: &RefusedRecipient) -> Checked {
    let task = model.shadow.task(refused.task);
    let reads = task.is_some_and(|task| task.spec.can.has(Capabilities::MESSAGES));
    let truthful = match refused.error {
        Error::TakesNoMessages(_) => !reads,
        Error::Ended { .. } => task.is_some_and(|task| !task.is_live()),
        // The commit that was refused checks the reason.
        _ => true,
    };
    ensure(truthful, "S5.4 a refusal is truthful", || format!("{refused:?} of {task:?}"))
}

/// Asks for the state of a message.
pub async fn ask_receipt(
    world: &WorkerContext,
    session: &Session,
    receipt: Receipt,
) -> Result<(), Error> {
    let state = session.receipt(receipt).await?;
    world.model(|model| {
        model.acknowledged("a receipt", |model| {
            let Some(row) = model.shadow.message(receipt.message) else { return Ok(()) };
            let returned = row.is_passed_on();
            let consumed = matches!(row.fate, RowFate::Acked | RowFate::Appended) && !returned;
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

/// Answers the oldest open question of a known task.
pub async fn answer(world: &WorkerContext) -> Result<(), Error> {
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
