//! Inspection: lists, the end of a history, and what a task waits on.

use std::time::Duration;

use offshoot_core::{BlockKind, Owner, Phase, Stamp, Visibility};
use offshoot_runtime::{BodyError, Context, Kind, Peek, Runtime, Session, TaskList, WhyReason};
use offshoot_store::Memory;

use crate::support::{
    Done, Gate, VirtualWorld, block, capped, end_of, never, one_slot, returns, session, until,
    until_in,
};

async fn handles(list: TaskList) -> Vec<String> {
    let mut list = list;
    let mut found = Vec::new();
    loop {
        let page = list.clone().await.unwrap();
        found.extend(page.items.iter().map(|task| task.handle().to_owned()));
        match page.next {
            Some(next) => list = list.after(next),
            None => return found,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s10_1_list_filters_by_state_kind_profile_owner_and_name() {
    let kind: Kind<(), ()> = Kind::new("index", |cx, ()| never(cx));
    let runtime = Runtime::builder(Memory::new()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("indexer").await.unwrap();
    session.spawn_ephemeral(never).name("reviewer").profile("review").await.unwrap();
    let done = session.spawn_ephemeral(returns(())).name("done").await.unwrap();
    done.wait().await.unwrap();
    let lead = session.spawn_ephemeral(never).name("lead").await.unwrap();
    session.spawn_ephemeral(never).name("child").under(&lead).await.unwrap();
    let all = session.clone().with_visibility(Visibility::Subtree);

    assert_eq!(handles(session.tasks().phase(Phase::Completed)).await, ["done"]);
    assert_eq!(handles(session.tasks().live()).await, ["indexer", "reviewer", "lead"]);
    assert_eq!(handles(session.tasks().kind("index")).await, ["indexer"]);
    assert_eq!(handles(session.tasks().profile("review")).await, ["reviewer"]);
    assert_eq!(handles(session.tasks().name(" REVIEWER ")).await, ["reviewer"]);
    assert_eq!(handles(all.tasks().owner(Owner::Task(lead.id()))).await, ["child"]);
    assert_eq!(handles(all.tasks()).await.len(), 5);
    let newest = session.tasks().newest_first();
    assert_eq!(handles(newest).await, ["lead", "done", "reviewer", "indexer"]);
    let both = session.tasks().phase(Phase::Completed).kind("index");
    assert!(handles(both).await.is_empty(), "filters narrow each other");
}

#[tokio::test]
async fn s10_1_list_filters_by_run_and_the_runtime_makes_runs() {
    let (runtime, session) = session().await;
    let (one, other) = (runtime.new_run(), runtime.new_run());
    assert_ne!(one, other);
    for (name, run) in [("a", one), ("b", other), ("c", one)] {
        session.spawn_ephemeral(never).name(name).run(run).await.unwrap();
    }
    assert_eq!(handles(session.tasks().run(one)).await, ["a", "c"]);
    assert_eq!(handles(session.tasks().run(other)).await, ["b"]);
}

#[tokio::test]
async fn s10_1_pages_go_by_cursor_and_there_is_no_hidden_cap() {
    let (runtime, session) = session().await;
    for n in 0..5_000 {
        let spawn = session.spawn_ephemeral(never);
        match n % 1_000 {
            0 => spawn.profile("rare").await.unwrap(),
            _ => spawn.await.unwrap(),
        };
    }
    assert_eq!(handles(session.tasks()).await.len(), 5_000);
    assert_eq!(handles(session.tasks().limit(7).profile("rare")).await.len(), 5);
    assert_eq!(session.tasks().await.unwrap().items.len(), 50, "fifty unless said");
    assert_eq!(session.tasks().limit(3_000).await.unwrap().items.len(), 3_000);
    let mut seen = handles(runtime.tasks().limit(999).newest_first()).await;
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5_000, "each exactly once");
}

/// A task that waits, with a block of every kind in its history.
async fn storyteller(session: &Session) -> (offshoot_runtime::TaskRef, Gate) {
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let mut call = block(BlockKind::ToolUse, r#"{"path":"a"}"#);
            call.name = Some("read_file".into());
            let blocks = [
                block(BlockKind::User, "find it"),
                block(BlockKind::Thought, "hm"),
                call,
                block(BlockKind::ToolResult, "contents"),
                block(BlockKind::Notice, "a child is done"),
                block(BlockKind::Other, "?"),
                block(BlockKind::Assistant, "grüße, wörld"),
            ];
            cx.append(blocks).await?;
            body.pass().await;
            cx.append((0..12).map(|n| block(BlockKind::User, &n.to_string()))).await?;
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    (task, gate)
}

fn kinds(peek: &Peek) -> Vec<BlockKind> {
    peek.blocks.iter().map(|block| block.kind).collect()
}

#[tokio::test]
async fn s10_2_peek_shows_the_last_blocks_of_every_kind_and_the_total() {
    let (_runtime, session) = session().await;
    let (task, gate) = storyteller(&session).await;
    let peek = task.peek().await.unwrap();
    assert_eq!(peek.total, 7);
    use BlockKind::{Assistant, Notice, Other, Thought, ToolResult, ToolUse, User};
    assert_eq!(kinds(&peek), [User, Thought, ToolUse, ToolResult, Notice, Other, Assistant]);
    assert_eq!(peek.blocks[0].text.as_deref(), Some("find it"));
    assert_eq!(peek.blocks[2].name.as_deref(), Some("read_file"), "a tool call shows its name");
    let two = task.peek().last(2).await.unwrap();
    assert_eq!((kinds(&two), two.total), (vec![Other, Assistant], 7));
    assert_eq!(task.peek().last(0).await.unwrap().blocks.len(), 1, "at least one");
    gate.admit(1);
    gate.arrived().await;
    let peek = task.peek().await.unwrap();
    assert_eq!((peek.blocks.len(), peek.total), (10, 19), "ten unless said");
}

#[tokio::test]
async fn s10_2_text_is_cut_in_scalars_and_limit_zero_gives_kinds_only() {
    let (_runtime, session) = session().await;
    let (task, _gate) = storyteller(&session).await;
    let cut = task.peek().last(1).limit(3).await.unwrap();
    assert_eq!(cut.blocks[0].text.as_deref(), Some("grü …(+9 more chars)"));
    let whole = task.peek().last(1).limit(12).await.unwrap();
    assert_eq!(whole.blocks[0].text.as_deref(), Some("grüße, wörld"));
    let bare = task.peek().limit(0).await.unwrap();
    assert!(bare.blocks.iter().all(|block| block.text.is_none()));
    assert_eq!(bare.blocks[2].name.as_deref(), Some("read_file"));
}

#[tokio::test]
async fn s10_2_since_gives_only_what_is_new() {
    let (_runtime, session) = session().await;
    let (task, gate) = storyteller(&session).await;
    let seen = task.peek().await.unwrap().total;
    assert!(task.peek().since(seen).await.unwrap().blocks.is_empty());
    gate.admit(1);
    gate.arrived().await;
    let new = task.peek().since(seen).last(99).await.unwrap();
    assert_eq!((new.blocks.len(), new.total), (12, 19));
    assert_eq!((new.blocks[0].position, new.blocks[0].text.as_deref()), (7, Some("0")));
    assert_eq!(task.peek().since(18).await.unwrap().blocks.len(), 1);
    assert!(task.peek().since(1_000).await.unwrap().blocks.is_empty());
}

#[tokio::test(start_paused = true)]
async fn s10_3_why_names_the_queue_position() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    session.spawn_ephemeral(never).await.unwrap();
    for before in 0..3 {
        let task = session.spawn_ephemeral(never).await.unwrap();
        let why = task.why().await.unwrap();
        assert_eq!(why.reasons, [WhyReason::Queue(before)]);
        assert!(why.to_string().contains(&format!("{before} before it")), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn s10_3_why_names_the_reason_of_a_wait() {
    let (_runtime, session) = session().await;
    for what in ["approval", "input", "child", "message"] {
        let task = session
            .spawn_ephemeral(move |cx: Context| async move {
                match what {
                    "approval" => drop(cx.ask("may I?").approval().await?),
                    "input" => drop(cx.ask("what?").await?),
                    "message" => drop(cx.receive(1).await?),
                    _ => {
                        let child = cx.spawn_ephemeral(never).await?;
                        child.wait().await?;
                    }
                }
                Ok::<_, BodyError>(())
            })
            .await
            .unwrap();
        until_in(&task, Phase::Waiting).await;
        let expected = match what {
            "approval" => WhyReason::Approval(1),
            "input" => WhyReason::Input(1),
            "child" => WhyReason::Children(1),
            _ => WhyReason::Message,
        };
        assert_eq!(task.why().await.unwrap().reasons, [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn s10_3_why_reports_silence_and_a_pending_cancel() {
    let world = VirtualWorld::new();
    let runtime = Runtime::builder(Memory::new()).environment(world).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            cx.progress(&1).await?;
            never(cx).await
        })
        .await
        .unwrap();
    let started = task.record().await.unwrap().since;
    assert_eq!(task.why().await.unwrap().reasons, [WhyReason::SilentSince(started)]);
    until(&task, |task| task.progress.is_some()).await;
    let said: Stamp = started.after(Duration::from_secs(10));
    assert_eq!(task.why().await.unwrap().reasons, [WhyReason::SilentSince(said)]);
    task.cancel("enough").await.unwrap();
    let reasons = task.why().await.unwrap().reasons;
    assert!(matches!(reasons[..], [_, WhyReason::Stopping(_)]), "{reasons:?}");
    end_of(&task).await;
    assert_eq!(task.why().await.unwrap().reasons, [WhyReason::Ended]);
}
