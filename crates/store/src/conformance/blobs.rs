//! Blobs: values beside the records.

use std::sync::Arc;

use offshoot_core::{Blob, Intent, LiveChildren, Outcome};

use super::world::{StoreWorld, record};

pub(super) async fn s8_5_a_blob_is_read_back_unchanged(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let store = world.store();
    let texts: [Arc<str>; 4] = [
        "null".into(),
        r#""größe 😀""#.into(),
        "[1]".into(),
        format!("{:?}", "x".repeat(3 << 20)).into(),
    ];
    let mut blobs = Vec::new();
    for text in &texts {
        let blob = store.put_blob(task.id(), text.clone()).await.unwrap();
        assert_eq!((blob.task, blob.bytes), (task.id(), text.len() as u64));
        blobs.push(blob);
    }
    for (blob, text) in blobs.iter().zip(&texts) {
        assert_eq!(store.blob(*blob).await.unwrap().as_ref(), Some(text));
    }
}

pub(super) async fn s8_5_every_blob_has_its_own_number(world: StoreWorld) {
    let session = world.session("main").await;
    let (one, other) = (world.running(&session).await, world.running(&session).await);
    let store = world.store();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        for task in [&one, &other] {
            let blob = store.put_blob(task.id(), "1".into()).await.unwrap();
            assert!(seen.insert(blob), "{blob:?} was given out twice");
        }
    }
    let blob = store.put_blob(one.id(), "1".into()).await.unwrap();
    let stranger = Blob { task: other.id(), ..blob };
    if !seen.contains(&stranger) {
        assert_eq!(store.blob(stranger).await.unwrap(), None, "another task's");
    }
    let missing = Blob { number: u64::from(u32::MAX), ..blob };
    assert_eq!(store.blob(missing).await.unwrap(), None);
}

pub(super) async fn s8_5_a_blob_may_come_before_its_task(world: StoreWorld) {
    // A large input is stored before the commit of its spawn.
    let session = world.session("main").await;
    let mut spec = world.spec(&session);
    let blob = world.store().put_blob(spec.id, "[1,2]".into()).await.unwrap();
    spec.input = blob.into();
    let task = world.spawn(spec).await;
    assert_eq!(world.task(task.id()).await.unwrap().spec.input, blob.into());
    assert_eq!(world.store().blob(blob).await.unwrap().as_deref(), Some("[1,2]"));
}

pub(super) async fn s8_5_a_large_result_is_a_reference_in_the_record(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let blob = world.store().put_blob(task.id(), "[3]".into()).await.unwrap();
    let outcome = Outcome::value(blob.into());
    world.put(&task, Intent::Finish(outcome, LiveChildren::None)).await;
    let stored = world.task(task.id()).await.unwrap();
    let Some(Outcome::Completed { value, .. }) = stored.ended() else { panic!("{stored:?}") };
    assert_eq!(*value, blob.into());
}

pub(super) async fn a_read_of_an_unknown_blob_is_none(world: StoreWorld) {
    let session = world.session("main").await;
    let task = record(world.spec(&session));
    let blob = Blob { task: task.id(), number: 1, bytes: 1 };
    assert_eq!(world.store().blob(blob).await.unwrap(), None);
}

pub(super) async fn s1_5_deleting_a_blob_leaves_the_others(world: StoreWorld) {
    let session = world.session("main").await;
    let task = record(world.spec(&session));
    let store = world.store();
    let gone = store.put_blob(task.id(), "1".into()).await.unwrap();
    let kept = store.put_blob(task.id(), "2".into()).await.unwrap();
    for _ in 0..2 {
        store.delete_blob(gone).await.unwrap();
        assert_eq!(store.blob(gone).await.unwrap(), None);
        assert_eq!(store.blob(kept).await.unwrap().as_deref(), Some("2"));
    }
}
