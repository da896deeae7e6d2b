//! Tests of the fault injection.

// A test helper fails by panicking.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::task::Poll;

use offshoot_core::{Name, SessionId, SessionRecord, Space, Stamp, TaskId};
use offshoot_store::{
    Batch, CommitError, FaultPlan, FaultPoint, FaultyStore, InjectedFault, Memory, Store,
    StoreError, Write,
};

const AT: Stamp = Stamp::from_millis(1);

fn opening(number: u128) -> Batch {
    let name = Name::numbered("session", number as u64);
    let session = SessionRecord::new(SessionId::mint(AT, number), Space::default(), name, AT);
    Batch::new(AT).write(Write::OpenSession(Box::new(session)))
}

async fn opened(memory: &Memory) -> usize {
    memory.sessions(None, 100).await.unwrap().items.len()
}

fn faulty(memory: &Memory, fault: InjectedFault) -> FaultyStore {
    FaultyStore::new(Arc::new(memory.clone()), FaultPoint { commit: 2, fault })
}

fn store_error(answer: Result<offshoot_core::Cursor, CommitError>) -> StoreError {
    match answer {
        Err(CommitError::Store(error)) => error,
        other => panic!("expected an error of the store, got {other:?}"),
    }
}

#[tokio::test]
async fn a_fault_affects_only_the_commit_with_its_number() {
    for (fault, written) in
        [(InjectedFault::Before, 2), (InjectedFault::After, 3), (InjectedFault::LostReply, 3)]
    {
        let memory = Memory::new();
        let store = faulty(&memory, fault);
        store.commit(opening(1)).await.unwrap();
        let error = store_error(store.commit(opening(2)).await);
        match fault {
            InjectedFault::Before => assert!(matches!(error, StoreError::NotWritten(_))),
            _ => assert!(matches!(error, StoreError::Unknown(_))),
        }
        store.commit(opening(3)).await.unwrap();
        assert_eq!(opened(&memory).await, written, "{fault:?}");
        assert_eq!(store.commits(), 3);
        assert!(!store.has_crashed());
    }
}

#[tokio::test]
async fn a_withheld_answer_comes_only_when_the_store_is_dropped() {
    let memory = Memory::new();
    let store = faulty(&memory, InjectedFault::NoReply);
    store.commit(opening(1)).await.unwrap();
    let mut silent = std::pin::pin!(store.commit(opening(2)));
    store.withheld().await;
    assert_eq!(opened(&memory).await, 2, "it is written");
    let pending = std::future::poll_fn(|context| {
        Poll::Ready(std::future::Future::poll(silent.as_mut(), context).is_pending())
    });
    assert!(pending.await);
    store.crash();
    assert!(matches!(store_error(silent.await), StoreError::Unknown(_)));
}

#[tokio::test]
async fn a_crash_closes_the_store_and_releases_the_data() {
    for (fault, written) in [(InjectedFault::CrashBefore, 1), (InjectedFault::CrashAfter, 2)] {
        let memory = Memory::new();
        let store = faulty(&memory, fault);
        store.commit(opening(1)).await.unwrap();
        let at = store.cursor();
        assert!(matches!(store_error(store.commit(opening(2)).await), StoreError::Unknown(_)));
        assert!(store.has_crashed());
        assert!(matches!(store_error(store.commit(opening(3)).await), StoreError::Closed));
        assert!(matches!(store.sessions(None, 1).await, Err(StoreError::Closed)));
        let task = TaskId::mint(AT, 1);
        assert!(matches!(store.put_blob(task, "1".into()).await, Err(StoreError::Closed)));
        let worker = offshoot_core::WorkerId::mint(AT, 1);
        assert!(matches!(store.claim(worker), Err(StoreError::Closed)));
        assert_eq!(store.commits(), 2, "what comes after the crash is not counted");
        assert!(store.cursor() >= at);
        assert_eq!(opened(&memory).await, written, "{fault:?}");
    }
}

#[tokio::test]
async fn a_conflict_is_not_an_injected_fault() {
    let memory = Memory::new();
    let store = faulty(&memory, InjectedFault::Before);
    store.commit(opening(1)).await.unwrap();
    store_error(store.commit(opening(1)).await);
    let refused = store.commit(opening(1)).await;
    assert!(matches!(refused, Err(CommitError::Conflict(_))));
}

#[tokio::test]
async fn the_contents_of_the_batch_decide_the_fault() {
    let memory = Memory::new();
    let guarded = |_: u64, batch: &Batch| (batch.writes.len() > 1).then_some(InjectedFault::Before);
    let store = FaultyStore::new(Arc::new(memory.clone()), guarded);
    store.commit(opening(1)).await.unwrap();
    let mut two = opening(2);
    two.writes.extend(opening(3).writes);
    store_error(store.commit(two).await);
    assert_eq!(opened(&memory).await, 1);
}

#[tokio::test]
async fn blobs_fail_as_commits_do() {
    struct Second(InjectedFault);
    impl FaultPlan for Second {
        fn at_commit(&self, _number: u64, _batch: &Batch) -> Option<InjectedFault> {
            None
        }
        fn at_blob(&self, number: u64) -> Option<InjectedFault> {
            (number == 2).then_some(self.0)
        }
    }
    let task = TaskId::mint(AT, 1);
    for fault in [
        InjectedFault::Before,
        InjectedFault::After,
        InjectedFault::LostReply,
        InjectedFault::CrashAfter,
    ] {
        let store = FaultyStore::new(Arc::new(Memory::new()), Second(fault));
        store.put_blob(task, "1".into()).await.unwrap();
        assert!(store.put_blob(task, "2".into()).await.is_err(), "{fault:?}");
        assert_eq!((store.blobs(), store.has_crashed()), (2, fault.crashes()));
    }
}
