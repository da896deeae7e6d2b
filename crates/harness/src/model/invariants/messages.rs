//! The rules for accepted and refused messages.

use offshoot_core::{Capabilities, InboxMessage, Owner};
use offshoot_store::{Batch, Conflict, Write};

use crate::model::store_model::StoreModel;
use crate::violation::{Checked, ensure};

/// Checks an accepted message against the state before it.
pub fn check(shadow: &StoreModel, message: &InboxMessage, to: Owner, room: usize) -> Checked {
    let before = shadow.sent_before(to, message);
    ensure(before.is_none(), "S5.3 a repeated key finds the same message", || {
        format!("{message:?} was sent to {to}, and before it {before:?}")
    })?;
    let unread = shadow.unread_messages(to);
    ensure(unread < room, "S8.5 a full inbox takes no message", || {
        format!("{to} took {} with {unread} of {room} unread", message.id)
    })?;
    if let Owner::Task(id) = to {
        let task = shadow.task(id);
        ensure(
            task.is_some_and(|task| task.is_live() && task.spec.can.has(Capabilities::MESSAGES)),
            "S5.4 only who lives and reads messages is sent one",
            || format!("{task:?} was sent {}", message.id),
        )?;
    }
    Ok(())
}

/// Checks that the reason of a refusal is true.
pub fn check_refusal(shadow: &StoreModel, batch: &Batch, conflict: &Conflict) -> Checked {
    let sent = batch.writes.iter().find_map(|write| match write {
        Write::Send { message, to, .. } => Some((*to, message)),
        _ => None,
    });
    let Some((owner, message)) = sent else { return Ok(()) };
    let before = shadow.sent_before(owner, message);
    let holds = match conflict {
        Conflict::InboxFull { limit, .. } => shadow.unread_messages(owner) >= *limit,
        Conflict::MessageKeyUsed(id) => {
            before.is_some_and(|before| before.id == *id && says_the_same(before, message))
        }
        Conflict::MessageKeyReused(id) => {
            before.is_some_and(|before| before.id == *id && !says_the_same(before, message))
        }
        _ => true,
    };
    ensure(holds, "S5.4 a refusal is truthful", || {
        format!("{owner} refused {message:?} because {conflict}, and had {before:?}")
    })
}

fn says_the_same(one: &InboxMessage, other: &InboxMessage) -> bool {
    one.text == other.text && one.mode == other.mode
}
