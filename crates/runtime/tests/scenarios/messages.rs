//! Messages: their recipients, their receipts, and what refuses them.

use offshoot_core::{BlockKind, Caller, MessageState, Receipt, RowBody, TaskId, Visibility};
use offshoot_runtime::{BodyError, Context, Error, Kind, MessageRecipient, Runtime};
use offshoot_store::{InjectedFault, Memory};

use crate::support::{
    CommitFaults, CommitFilter, Disk, Done, Gate, block, message_texts, never, on_every_store,
    returns, session,
};

on_every_store!(
    s2_9_a_childs_message_that_its_parent_leaves_unread_is_read_by_the_next_above,
    s2_9_a_message_of_the_host_that_a_task_leaves_unread_is_read_by_its_owner,
);

/// Reads one message into its history and returns it.
async fn listen(cx: Context) -> Result<String, BodyError> {
    let rows = cx.receive(1).await?;
    let text = message_texts(&rows).join(" ");
    cx.append([block(BlockKind::User, &text)]).acking(&rows).await?;
    Ok(text)
}

#[tokio::test]
async fn s5_1_a_message_is_addressed_by_handle_or_id_or_reference() {
    let (_runtime, session) = session().await;
    for way in ["handle", "id", "reference"] {
        let task = session.spawn_ephemeral(listen).name("listener").await.unwrap();
        let id = task.id().to_string();
        let address = match way {
            "handle" => MessageRecipient::Handle(" LISTENER "),
            "id" => MessageRecipient::Handle(&id),
            _ => MessageRecipient::Task(&task),
        };
        let receipts = session.send(address, way).await.unwrap();
        assert_eq!(receipts.first().unwrap().task, task.id());
        assert_eq!(task.wait().await.unwrap().decode::<String>().unwrap(), way);
    }
}

#[tokio::test]
async fn s5_1_parent_is_the_owner_a_task_or_the_session() {
    let (_runtime, session) = session().await;
    let parent = session
        .spawn_ephemeral(|cx| async move {
            let child = |cx: Context| async move {
                cx.send(MessageRecipient::Parent, "from the child").await?;
                Done::Ok(())
            };
            cx.spawn_ephemeral(child).await?;
            let heard = listen(cx.clone()).await?;
            cx.send(MessageRecipient::Handle("parent"), "from the parent").await?;
            Ok::<_, BodyError>(heard)
        })
        .await
        .unwrap();
    let waited = parent.wait().await.unwrap();
    assert_eq!(waited.decode::<String>().unwrap(), "from the child");
    assert_eq!(message_texts(&session.drain(8).await.unwrap()), ["from the parent"]);
}

#[tokio::test]
async fn s5_1_parent_of_a_detached_task_is_its_session() {
    let (_runtime, session) = session().await;
    session
        .spawn_ephemeral(|cx| async move {
            let child = |cx: Context| async move {
                cx.send(MessageRecipient::Parent, "to the session").await?;
                Done::Ok(())
            };
            cx.spawn_ephemeral(child).detached().await?.wait().await.ok();
            Ok::<_, BodyError>(cx.drain(8).await?.len())
        })
        .await
        .unwrap();
    let rows = session.receive(8).await.unwrap();
    assert_eq!(message_texts(&rows), ["to the session"]);
}

#[tokio::test(start_paused = true)]
async fn s5_1_all_reaches_only_the_senders_own_live_children() {
    let (_runtime, session) = session().await;
    let ended = session.spawn_ephemeral(returns(())).await.unwrap();
    ended.wait().await.unwrap();
    let gate = Gate::new();
    let body = gate.clone();
    let family = session
        .spawn_ephemeral(|cx| async move {
            let grandchild = cx.spawn_ephemeral(never).await?;
            let heard = listen(cx).await?;
            body.pass().await;
            let unread = grandchild.record().await?.is_live();
            grandchild.cancel("over").await?;
            Ok::<_, BodyError>((heard, unread))
        })
        .await
        .unwrap();
    let other = session.spawn_ephemeral(listen).await.unwrap();
    let receipts = session.send(MessageRecipient::All, "hear").await.unwrap();
    let mut reached: Vec<_> = receipts.as_slice().iter().map(|receipt| receipt.task).collect();
    reached.sort();
    let mut children = vec![family.id(), other.id()];
    children.sort();
    assert_eq!(reached, children);
    assert_eq!(other.wait().await.unwrap().decode::<String>().unwrap(), "hear");
    gate.admit(1);
    let heard = family.wait().await.unwrap().decode::<(String, bool)>().unwrap();
    assert_eq!(heard, ("hear".to_owned(), true));
}

#[tokio::test]
async fn s5_1_a_receipt_goes_from_queued_over_delivered_to_consumed() {
    let (_runtime, session) = session().await;
    let (before, between, after) = (Gate::new(), Gate::new(), Gate::new());
    let gates = (before.clone(), between.clone(), after.clone());
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            gates.0.pass().await;
            let rows = cx.receive(1).await?;
            gates.1.pass().await;
            cx.append([block(BlockKind::User, "it")]).acking(&rows).await?;
            gates.2.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    before.arrived().await;
    let receipt = task.send("it").await.unwrap().first().unwrap();
    assert_eq!(receipt.state, MessageState::Queued);
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Queued);
    before.admit(1);
    between.arrived().await;
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Delivered);
    between.admit(1);
    after.arrived().await;
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Consumed);
    after.admit(1);
    task.wait().await.unwrap();
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Consumed);
}

#[tokio::test]
async fn s5_1_a_message_to_the_session_is_queued_until_it_is_acknowledged() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let receipts = cx.send(MessageRecipient::Parent, "hear").await?;
            Ok::<_, BodyError>(receipts.first())
        })
        .await
        .unwrap();
    let receipt = task.wait().await.unwrap().decode::<Option<Receipt>>().unwrap().unwrap();
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Queued);
    let rows = session.drain(8).await.unwrap();
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Queued);
    rows.ack().await.unwrap();
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Consumed);
}

#[tokio::test]
async fn s5_1_a_message_unread_at_the_end_returns_to_its_sender() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await.unwrap();
    let receipt = task.send("too late").await.unwrap().first().unwrap();
    gate.admit(1);
    task.wait().await.unwrap();
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Returned);
    let rows = session.drain(8).await.unwrap();
    let returned: Vec<_> = rows
        .iter()
        .filter_map(|row| match row.body() {
            RowBody::Returned(message) => Some(message.text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(returned, ["too late"]);
}

#[tokio::test]
async fn s5_1_a_returned_message_wakes_a_sender_that_is_not_the_owner() {
    let (_runtime, session) = session().await;
    let sender = session
        .spawn_ephemeral(|cx: Context| async move {
            let (young, old) = (Gate::new(), Gate::new());
            let (child, grandchild) = (old.clone(), young.clone());
            let child = |cx: Context| async move {
                let run = |_| async move {
                    grandchild.pass().await;
                    Done::Ok(())
                };
                cx.spawn_ephemeral(run).name("grandchild").await?;
                child.pass().await;
                Done::Ok(())
            };
            cx.spawn_ephemeral(child).await?;
            young.arrived().await;
            cx.send(MessageRecipient::Handle("grandchild"), "unread").await?;
            // The child is still live, so only the message is in the inbox.
            young.admit(1);
            let rows = cx.receive(1).await?;
            old.admit(1);
            let row = rows.iter().next().map(|row| row.body().clone());
            Ok::<_, BodyError>(matches!(row, Some(RowBody::Returned(_))))
        })
        .visibility(Visibility::Subtree)
        .await
        .unwrap();
    assert!(sender.wait().await.unwrap().decode::<bool>().unwrap());
}

async fn s2_9_a_childs_message_that_its_parent_leaves_unread_is_read_by_the_next_above(
    disk: &impl Disk,
) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = |cx: Context| async move {
                let receipts = cx.send(MessageRecipient::Parent, "found it").await?;
                Ok::<_, BodyError>(receipts.first())
            };
            let child = cx.spawn_ephemeral(child).await?;
            let receipt = child.wait().await?.decode::<Option<Receipt>>()?;
            Ok::<_, BodyError>((child.id(), receipt))
        })
        .await
        .unwrap();
    let (child, receipt) =
        parent.wait().await.unwrap().decode::<(TaskId, Option<Receipt>)>().unwrap();
    assert_eq!(session.receipt(receipt.unwrap()).await.unwrap(), MessageState::Returned);
    let rows = session.drain(8).await.unwrap();
    assert_eq!(message_texts(&rows), ["found it"]);
    assert_eq!(rows.iter().find_map(|row| row.message()).unwrap().from, Caller::Task(child));
    rows.ack().await.unwrap();
    assert!(session.drain(8).await.unwrap().is_empty());
    assert_eq!(session.receipt(receipt.unwrap()).await.unwrap(), MessageState::Returned);
}

async fn s2_9_a_message_of_the_host_that_a_task_leaves_unread_is_read_by_its_owner(
    disk: &impl Disk,
) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).name("deaf").await.unwrap();
    let by_host = runtime.task("deaf").await.unwrap();
    let receipt = by_host.send("listen").await.unwrap().first().unwrap();
    gate.admit(1);
    task.wait().await.unwrap();
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Returned);
    let rows = session.drain(8).await.unwrap();
    assert_eq!(message_texts(&rows), ["listen"]);
    assert_eq!(rows.iter().find_map(|row| row.message()).unwrap().from, Caller::Host);
}

#[tokio::test]
async fn s5_2_steer_is_read_before_the_next_step() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let mut heard = Vec::new();
            for _ in 0..2 {
                let rows = cx.drain(8).await?;
                heard.push(message_texts(&rows));
                rows.ack().await?;
                body.pass().await;
            }
            Ok::<_, BodyError>(heard)
        })
        .await
        .unwrap();
    gate.arrived().await;
    task.send("left").await.unwrap();
    task.send("right").await.unwrap();
    gate.admit(2);
    let heard = task.wait().await.unwrap().decode::<Vec<Vec<String>>>().unwrap();
    assert_eq!(heard, [vec![], vec!["left".to_owned(), "right".to_owned()]]);
}

fn talker() -> Kind<(), String> {
    Kind::new("talker", |cx: Context, ()| listen(cx)).resumable()
}

async fn with_talker() -> Runtime {
    Runtime::builder(Memory::new()).kind(&talker()).open().await.unwrap()
}

#[tokio::test]
async fn s5_2_a_message_to_a_finished_resumable_task_makes_a_new_one() {
    let runtime = with_talker().await;
    let session = runtime.session("main").await.unwrap();
    let old = session.spawn(talker().with(())).name("talker").message("one").await.unwrap();
    old.wait().await.unwrap();
    let before = old.record().await.unwrap();

    let receipt = old.send("two").await.unwrap().first().unwrap();
    assert_ne!(receipt.task, old.id());
    let new = session.task(&receipt.task.to_string()).await.unwrap();
    assert_eq!(new.spec().terms.continues, Some(old.id()));
    assert_eq!(new.handle(), "talker", "the old handle is free");
    assert_eq!(new.wait().await.unwrap().decode::<String>().unwrap(), "two");
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Consumed);
    let history = new.peek().await.unwrap();
    let texts: Vec<_> = history.blocks.into_iter().filter_map(|block| block.text).collect();
    assert_eq!(texts, ["one", "two"], "it goes on with the old history");
    assert_eq!(old.record().await.unwrap(), before, "the old record never changes");
    assert_eq!(old.peek().await.unwrap().total, 1);
    assert_eq!(new.record().await.unwrap().attempts, 1);
}

#[tokio::test]
async fn s5_2_a_continuing_task_is_numbered_when_the_old_handle_is_taken() {
    let runtime = with_talker().await;
    let session = runtime.session("main").await.unwrap();
    let old = session.spawn(talker().with(())).name("chat").message("one").await.unwrap();
    old.wait().await.unwrap();
    let other = session.spawn_ephemeral(never).name("chat").await.unwrap();
    let receipt = old.send("two").await.unwrap().first().unwrap();
    let new = session.task(&receipt.task.to_string()).await.unwrap();
    assert_ne!(new.handle(), "chat");
    assert_eq!(session.task("chat").await.unwrap().id(), other.id());
}

#[tokio::test]
async fn s5_3_a_message_is_durable_before_it_is_reported_as_queued() {
    let runtime = CommitFaults::with(CommitFilter::Messages, InjectedFault::Before).open().await;
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn_ephemeral(listen).await.unwrap();
    let refused = task.send("lost").await.unwrap_err();
    assert!(matches!(refused, Error::Store(_)), "{refused}");
}

#[tokio::test]
async fn s5_3_a_send_repeated_with_its_key_finds_the_first() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            body.pass().await;
            let rows = cx.drain(8).await?;
            rows.ack().await?;
            body.pass().await;
            Ok::<_, BodyError>(message_texts(&rows))
        })
        .await
        .unwrap();
    let first = task.send("once").key("k").await.unwrap().first().unwrap();
    let again = task.send("once").key("k").await.unwrap().first().unwrap();
    assert_eq!(first, again);
    gate.arrived().await;
    gate.admit(1);
    gate.arrived().await;
    let read = task.send("once").key("k").await.unwrap().first().unwrap();
    assert_eq!((read.message, read.state), (first.message, MessageState::Consumed));
    gate.admit(1);
    assert_eq!(task.wait().await.unwrap().decode::<Vec<String>>().unwrap(), ["once"]);
    let late = task.send("once").key("k").await.unwrap().first().unwrap();
    assert_eq!((late.message, late.state), (first.message, MessageState::Consumed));
}

#[tokio::test]
async fn s5_3_a_message_is_consumed_only_by_the_commit_that_keeps_it() {
    let runtime =
        CommitFaults::only(1..=1, CommitFilter::Appends, InjectedFault::Before).open().await;
    let session = runtime.session("main").await.unwrap();
    let (gate, tried) = (Gate::new(), Gate::new());
    let (body, try_again) = (gate.clone(), tried.clone());
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            body.pass().await;
            let refused = listen(cx.clone()).await.is_err();
            try_again.pass().await;
            Ok::<_, BodyError>((refused, listen(cx).await?))
        })
        .await
        .unwrap();
    let receipt = task.send("kept").await.unwrap().first().unwrap();
    gate.admit(1);
    tried.arrived().await;
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Delivered);
    tried.admit(1);
    let heard = task.wait().await.unwrap().decode::<(bool, String)>().unwrap();
    assert_eq!(heard, (true, "kept".to_owned()));
    assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Consumed);
}
