//! A store that contains an item of each kind.

use std::sync::Arc;

use offshoot_core::{
    Addressee, Block, BlockKind, Caller, Caps, Ceiling, Change, InboxMessage, Intent, LiveChildren,
    Outcome, Owner, Payload, Question, QuestionKind, Resolution, Row, RowBody, SessionRecord, Step,
    StepState, Task, TaskId, Timer,
};

use super::world::{StoreWorld, ack, called, keyed, record, spawn, spawn_under};
use crate::batch::{Ack, Batch, Counter, CounterChange, Guard, RowRef, Strictness, Write};
use crate::query::PendingRow;

/// A store in which every write is possible and every precondition can fail.
pub(super) struct PopulatedStore {
    pub(super) session: SessionRecord,
    pub(super) owner: Owner,
    pub(super) named: Task,
    pub(super) lead: Task,
    ended: Task,
    rows: Vec<PendingRow>,
}

impl PopulatedStore {
    pub(super) async fn new(world: &StoreWorld) -> Self {
        let session = world.session("main").await;
        let owner = Owner::Session(session.id);
        let named = world.spawn(keyed(called(world.spec(&session), "docs"), "step 1")).await;
        let lead = world.running(&session).await;
        world.running_child(&lead).await;
        let ended = world.running(&session).await;
        let ended = world.settle(&ended).await;
        let message = world.message(Caller::Task(lead.id()), Some("sent"));
        world.write(world.send(&message, named.id())).await;
        world.write(Write::Ask(Box::new(question(world, &lead, 1)))).await;
        let timer = Timer { task: lead.id(), key: "old".into(), due: world.now() };
        world.write(Write::Arm(timer)).await;
        let step = StepState::Committed(Payload::Null);
        world.write(Write::Step(Step { task: lead.id(), key: "once".into(), state: step })).await;
        let block = Block::new(BlockKind::User, "go", world.now());
        world.write(Write::Append { owner, blocks: vec![block] }).await;
        let rows = world.inbox(owner).await;
        Self { session, owner, named, lead, ended, rows }
    }

    /// One write of each kind, all of them valid.
    pub(super) fn everything(&self, world: &StoreWorld) -> Vec<Write> {
        let mut session = self.session.clone();
        session.seq += 1;
        let new = record(world.spec(&self.session));
        let to = Owner::Task(new.id());
        let (_, put) = world.decide(&self.lead, Intent::Park(offshoot_core::WaitingOn::Message));
        let lead = self.lead.id();
        let message = world.message(Caller::Host, Some("new"));
        let counter = Counter { owner: self.owner, name: "tokens".into() };
        let step = Step { task: lead, key: "fetch".into(), state: committed() };
        let timer = Timer { task: lead, key: "new".into(), due: world.now() };
        let block = Block::new(BlockKind::Notice, "read", world.now());
        let closed = Resolution::Withdrawn { at: world.now() };
        let asked = Row {
            id: world.message(Caller::Host, None).id.into(),
            owner: self.owner,
            at: world.now(),
            body: RowBody::Question { task: lead, number: 2 },
        };
        vec![
            Write::OpenSession(Box::new(world.new_session("another"))),
            Write::PutSession(Box::new(session), Change::SweepEnded),
            spawn(&new),
            put,
            Write::Deliver(Box::new(asked)),
            world.send(&message, lead),
            ack(self.owner, &self.rows, Strictness::MustBePending),
            world.end(&self.named, lost()).1,
            Write::Append { owner: self.owner, blocks: vec![block] },
            Write::Adopt { from: self.owner, to },
            Write::Step(step),
            Write::Ask(Box::new(question(world, &self.lead, 2))),
            Write::CloseQuestion { task: lead, number: 1, closed: Box::new(closed) },
            Write::Arm(timer),
            Write::Disarm { task: lead, key: "old".into() },
            Write::Count(CounterChange { counter, by: 5, limit: Some(5) }),
        ]
    }

    /// For every precondition of a write, a write that violates it.
    pub(super) fn impossible(&self, world: &StoreWorld) -> Vec<Write> {
        let unknown = record(world.spec(&self.session));
        let mut session = world.new_session("unknown");
        session.seq = 2;
        let unknown_owner = Owner::Session(session.id);
        let stale = self.ended.clone();
        let (_, absent) = world.decide(&unknown, Intent::Start(world.worker));
        let mut used = world.spec(&self.session);
        used.id = self.lead.id();
        let shut = Caps { live: Ceiling { space: Some(0), ..Ceiling::NONE }, ..Caps::default() };
        let send = |to: TaskId| Write::Send {
            message: world.message(Caller::Host, None),
            to: Owner::Task(to),
            room: 0,
        };
        let again = world.message(Caller::Task(self.lead.id()), Some("sent"));
        let other = Arc::new(InboxMessage { text: "another".into(), ..(*again).clone() });
        let gone = RowRef { number: 0, id: self.lead.id().into() };
        let gone =
            Ack { owner: self.owner, rows: [gone].into(), strictness: Strictness::MustBePending };
        let once = Step { task: self.lead.id(), key: "once".into(), state: committed() };
        let closed = Resolution::Withdrawn { at: world.now() };
        let counter = Counter { owner: self.owner, name: "money".into() };
        vec![
            Write::OpenSession(Box::new(world.new_session("main"))),
            Write::PutSession(Box::new(session), Change::SweepEnded),
            Write::PutSession(Box::new(self.session.clone()), Change::SweepEnded),
            spawn(&record(used)),
            spawn(&record(world.spec(&world.new_session("unknown")))),
            spawn(&record(world.child_spec(&self.ended))),
            spawn(&record(called(world.spec(&self.session), "docs"))),
            spawn(&record(keyed(world.spec(&self.session), "step 1"))),
            spawn_under(&record(world.spec(&self.session)), shut),
            absent,
            Write::Put(stale, Change::Activity),
            send(unknown.id()),
            send(self.ended.id()),
            send(self.named.id()),
            Write::Send { message: again, to: Owner::Task(self.named.id()), room: 9 },
            Write::Send { message: other, to: Owner::Task(self.named.id()), room: 9 },
            Write::Send { message: world.message(Caller::Host, None), to: self.owner, room: 0 },
            Write::Append { owner: unknown_owner, blocks: Vec::new() },
            Write::Deliver(Box::new(Row::result(self.ended.id(), unknown_owner, world.now()))),
            Write::Ack(gone),
            Write::Step(once),
            Write::Ask(Box::new(question(world, &self.named, 7))),
            Write::CloseQuestion { task: self.named.id(), number: 1, closed: Box::new(closed) },
            Write::Count(CounterChange { counter, by: -1, limit: None }),
        ]
    }

    /// A batch for every guard and fence that fails.
    pub(super) fn forbidden(&self, world: &StoreWorld) -> Vec<Batch> {
        let (lead, named) = (self.lead.id(), self.named.id());
        let guard = |guard| world.batch().guard(guard);
        vec![
            world.batch().fenced(lead, self.lead.lease.epoch + 1),
            world.batch().fenced(named, 0),
            world.batch().fenced(world.task_id(), 1),
            guard(Guard::Childless(lead)),
            guard(Guard::HasChildren(named)),
            guard(Guard::OnlyChild { owner: lead, child: named }),
            guard(Guard::Idle(self.session.id)),
            guard(Guard::HasChildren(named)).guard(Guard::HasChildren(lead)),
            guard(Guard::HasChildren(lead)).guard(Guard::HasChildren(named)),
        ]
    }
}

/// An intent that ends a task as lost.
fn lost() -> Intent {
    Intent::Finish(Outcome::Lost { reason: "gone".into() }, LiveChildren::None)
}

fn committed() -> StepState {
    StepState::Committed(Payload::encode("value").unwrap())
}

fn question(world: &StoreWorld, task: &Task, number: u32) -> Question {
    Question {
        task: task.id(),
        number,
        wants: QuestionKind::Input,
        addressee: Addressee::Owner,
        text: "which?".into(),
        about: Payload::Null,
        key: None,
        at: world.now(),
        closed: None,
    }
}
