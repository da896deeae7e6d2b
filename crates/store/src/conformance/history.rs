//! Histories: they only grow, and a successor continues one.

use offshoot_core::{Block, BlockKind, Change, Owner, Payload};

use super::world::{StoreWorld, record, spawn};
use crate::batch::Write;

fn block(world: &StoreWorld, text: &str) -> Block {
    Block::new(BlockKind::Assistant, text, world.now())
}

pub(super) async fn s10_2_blocks_are_read_back_as_they_were_appended(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let kinds = [
        BlockKind::User,
        BlockKind::Assistant,
        BlockKind::Thought,
        BlockKind::ToolUse,
        BlockKind::ToolResult,
        BlockKind::Notice,
        BlockKind::Other,
    ];
    let blocks: Vec<_> = kinds
        .into_iter()
        .map(|kind| Block {
            name: (kind == BlockKind::ToolUse).then(|| "grep".into()),
            data: Payload::from_json(r#"{"id":"call-1","größe":[1, 2]}"#).unwrap(),
            ..Block::new(kind, format!("{kind:?} 😀\n\0"), world.now())
        })
        .collect();
    world.write(Write::Append { owner, blocks: blocks.clone() }).await;
    let page = world.store().history(owner, 0, 100).await.unwrap();
    assert_eq!((page.blocks, page.first, page.total), (blocks, 0, 7));
}

pub(super) async fn s10_2_a_history_is_read_from_any_position(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let owner = Owner::Task(task.id());
    let mut all = Vec::new();
    for n in 0..5 {
        let blocks = vec![block(&world, &format!("{n}a")), block(&world, &format!("{n}b"))];
        all.extend(blocks.clone());
        let after = world.store().cursor();
        world.write(Write::Append { owner, blocks }).await;
        let grew = Change::HistoryGrew(all.len() as u64);
        assert_eq!(world.changes(&session, after).await, [grew]);
    }
    for (first, limit) in [(0, 3), (4, 4), (7, 100), (9, 1), (0, 10), (3, 0)] {
        let page = world.store().history(owner, first, limit).await.unwrap();
        let from = usize::try_from(first).unwrap();
        let wanted = &all[from..(from + limit).min(all.len())];
        assert_eq!((&page.blocks[..], page.first, page.total), (wanted, first, 10));
    }
    let page = world.store().history(owner, 99, 5).await.unwrap();
    assert_eq!((page.blocks.len(), page.total), (0, 10), "past the end");
}

pub(super) async fn an_owner_without_a_history_has_an_empty_one(world: StoreWorld) {
    let session = world.session("main").await;
    let page = world.store().history(Owner::Session(session.id), 0, 5).await.unwrap();
    assert_eq!((page.blocks.len(), page.first, page.total), (0, 0, 0));
}

pub(super) async fn s3_5_each_owner_has_its_own_history(world: StoreWorld) {
    let session = world.session("main").await;
    let (one, other) = (world.running(&session).await, world.running(&session).await);
    for (owner, text) in [
        (Owner::Session(session.id), "session"),
        (Owner::Task(one.id()), "one"),
        (Owner::Task(other.id()), "other"),
    ] {
        world.write(Write::Append { owner, blocks: vec![block(&world, text)] }).await;
        let page = world.store().history(owner, 0, 5).await.unwrap();
        let texts: Vec<_> = page.blocks.iter().map(|block| &*block.text).collect();
        assert_eq!(texts, [text]);
    }
}

pub(super) async fn s5_2_a_successor_starts_with_the_history_of_the_old_task(world: StoreWorld) {
    let session = world.session("main").await;
    let old = world.running(&session).await;
    let from = Owner::Task(old.id());
    let expected = vec![block(&world, "one"), block(&world, "two")];
    world.write(Write::Append { owner: from, blocks: expected.clone() }).await;
    world.settle(&old).await;
    let mut spec = world.spec(&session);
    spec.terms.continues = Some(old.id());
    let new = record(spec);
    let to = Owner::Task(new.id());
    let more = block(&world, "three");
    let batch = world.batch().write(spawn(&new)).write(Write::Adopt { from, to });
    let batch = batch.write(Write::Append { owner: to, blocks: vec![more.clone()] });
    let after = world.store().cursor();
    world.commit(batch).await.unwrap();
    let changes = world.changes(&session, after).await;
    assert_eq!(changes, [Change::Spawned, Change::HistoryGrew(3)]);
    let page = world.store().history(to, 0, 10).await.unwrap();
    assert_eq!(page.blocks, [expected[0].clone(), expected[1].clone(), more]);
    // The old history does not change when the new one grows.
    let page = world.store().history(from, 0, 10).await.unwrap();
    assert_eq!((page.blocks, page.total), (expected, 2));
}

pub(super) async fn s5_2_an_empty_history_is_adopted_as_one(world: StoreWorld) {
    let session = world.session("main").await;
    let old = world.running(&session).await;
    let new = record(world.spec(&session));
    let adopt = Write::Adopt { from: Owner::Task(old.id()), to: Owner::Task(new.id()) };
    world.commit(world.batch().write(spawn(&new)).write(adopt)).await.unwrap();
    let page = world.store().history(Owner::Task(new.id()), 0, 10).await.unwrap();
    assert_eq!(page.total, 0);
}
