//! A scenario with every kind of write, of which any step can be repeated.
//!
//! Each step reads the store and decides: it returns the batch to commit, or nothing if it
//! has taken effect before. Every caller recovers from a failure in this way, so the
//! scenario must reach the same end with any faults.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use offshoot_core::{
    Addressee, Block, BlockKind, Caller, Change, InboxMessage, Intent, LiveChildren, Owner,
    Payload, Phase, Question, QuestionKind, Resolution, Row, RowBody, SessionRecord, Stamp, Step,
    StepState, Sweep, SweepScope, Task, TaskId, Timer, Transition, WaitingOn, decide,
};

use super::world::{StoreWorld, ack, called, cancel, keyed, record, spawn, value};
use crate::batch::{Batch, Counter, CounterChange, EndWrite, Guard, Strictness, Write};
use crate::store::Store;

type StepFuture<'a> = Pin<Box<dyn Future<Output = Option<Batch>> + 'a>>;
type ScenarioStep = for<'a> fn(&'a Scenario, &'a dyn Store) -> StepFuture<'a>;

/// The fixed records of the scenario, so that two runs can be compared.
pub(super) struct Scenario {
    session: SessionRecord,
    lead: Task,
    child: Task,
    successor: Task,
    first: Arc<InboxMessage>,
    second: Arc<InboxMessage>,
    last: Arc<InboxMessage>,
    asked: Row,
    at: Stamp,
}

macro_rules! steps {
    ($($step:ident),* $(,)?) => { [$(|scenario, store| Box::pin(scenario.$step(store))),*] };
}

/// The steps in order.
pub(super) const SCENARIO_STEPS: [ScenarioStep; 18] = steps![
    opens_the_session,
    spawns_the_lead,
    starts_the_lead,
    begins_a_step,
    commits_the_step,
    spawns_the_child,
    sends_the_first_message,
    sends_the_second_message,
    reads_the_first_message,
    asks_a_question,
    answers_the_question,
    requests_a_cancel,
    begins_a_sweep,
    returns_before_the_child,
    ends_with_the_child,
    continues_the_lead,
    drains_the_session,
    gives_back_the_tokens,
];

impl Scenario {
    /// Creates the same scenario in every world that has not created one.
    pub(super) fn new(world: &StoreWorld) -> Self {
        let session = world.new_session("main");
        let spec = keyed(called(world.spec(&session), "lead"), "step 1");
        let lead = record(spec);
        let child = record(called(world.child_spec(&lead), "child"));
        let mut spec = called(world.spec(&session), "lead");
        spec.terms.continues = Some(lead.id());
        let asked = Row {
            id: world.message(Caller::Host, None).id.into(),
            owner: Owner::Task(lead.id()),
            at: world.now(),
            body: RowBody::Question { task: child.id(), number: 1 },
        };
        Self {
            successor: record(spec),
            first: world.message(Caller::Task(lead.id()), Some("first")),
            second: world.message(Caller::Task(lead.id()), None),
            last: world.message(Caller::Host, Some("last")),
            session,
            lead,
            child,
            asked,
            at: world.now(),
        }
    }

    /// The messages of the scenario, with their recipients.
    pub(super) fn messages(&self) -> [(TaskId, offshoot_core::MessageId); 3] {
        [
            (self.child.id(), self.first.id),
            (self.child.id(), self.second.id),
            (self.successor.id(), self.last.id),
        ]
    }

    fn owner(&self) -> Owner {
        Owner::Session(self.session.id)
    }

    fn batch(&self) -> Batch {
        Batch::new(self.at)
    }

    fn block(&self, text: &str) -> Vec<Block> {
        vec![Block::new(BlockKind::Notice, text, self.at)]
    }

    fn put(&self, task: &Task, intent: Intent) -> Write {
        let decision = decide(task, intent, self.at).unwrap();
        Write::Put(decision.task, decision.change)
    }

    async fn stored(&self, store: &dyn Store, task: &Task) -> Option<Task> {
        store.task(task.id()).await.unwrap()
    }

    async fn opens_the_session(&self, store: &dyn Store) -> Option<Batch> {
        let found = store.session(self.session.id).await.unwrap();
        let open = || self.batch().write(Write::OpenSession(Box::new(self.session.clone())));
        found.is_none().then(open)
    }

    async fn spawns_the_lead(&self, store: &dyn Store) -> Option<Batch> {
        let found = store.keyed(self.lead.owner(), "step 1").await.unwrap();
        found.is_none().then(|| self.batch().write(spawn(&self.lead)))
    }

    async fn starts_the_lead(&self, store: &dyn Store) -> Option<Batch> {
        let lead = self.stored(store, &self.lead).await.unwrap();
        let worker = offshoot_core::WorkerId::mint(self.at, 1);
        let start = || self.batch().write(self.put(&lead, Intent::Start(worker)));
        (lead.state.phase() == Phase::Queued).then(start)
    }

    async fn begins_a_step(&self, store: &dyn Store) -> Option<Batch> {
        let task = self.lead.id();
        if store.step(task, "fetch").await.unwrap().is_some() {
            return None;
        }
        let step = Step { task, key: "fetch".into(), state: StepState::Started };
        let timer = Timer { task, key: "due".into(), due: self.at };
        let count = CounterChange { counter: self.tokens(), by: 5, limit: Some(8) };
        let batch = self.batch().fenced(task, 1).write(Write::Step(step));
        Some(batch.write(Write::Arm(timer)).write(Write::Count(count)))
    }

    async fn commits_the_step(&self, store: &dyn Store) -> Option<Batch> {
        let task = self.lead.id();
        let found = store.step(task, "fetch").await.unwrap();
        if matches!(found, Some(StepState::Committed(_))) {
            return None;
        }
        let state = StepState::Committed(Payload::encode("page").unwrap());
        let step = Step { task, key: "fetch".into(), state };
        let append = Write::Append { owner: Owner::Task(task), blocks: self.block("fetched") };
        let disarm = Write::Disarm { task, key: "due".into() };
        let batch = self.batch().fenced(task, 1).write(Write::Step(step));
        Some(batch.write(disarm).write(append))
    }

    async fn spawns_the_child(&self, store: &dyn Store) -> Option<Batch> {
        let worker = offshoot_core::WorkerId::mint(self.at, 1);
        let running = offshoot_core::spawn(self.child.spec.clone(), Some(worker), self.at);
        let found = self.stored(store, &self.child).await;
        let spawn = || self.batch().fenced(self.lead.id(), 1).write(spawn(&running));
        found.is_none().then(spawn)
    }

    async fn sends_the_first_message(&self, store: &dyn Store) -> Option<Batch> {
        self.sends(store, &self.first).await
    }

    async fn sends_the_second_message(&self, store: &dyn Store) -> Option<Batch> {
        self.sends(store, &self.second).await
    }

    async fn sends(&self, store: &dyn Store, message: &Arc<InboxMessage>) -> Option<Batch> {
        let child = self.child.id();
        let found = store.message(Owner::Task(child), message.id).await.unwrap();
        let (message, to) = (message.clone(), Owner::Task(child));
        found.is_none().then(|| self.batch().write(Write::Send { message, to, room: 2 }))
    }

    async fn reads_the_first_message(&self, store: &dyn Store) -> Option<Batch> {
        let owner = Owner::Task(self.child.id());
        if store.history(owner, 0, 1).await.unwrap().total > 0 {
            return None;
        }
        let rows = store.inbox(owner, 0, 1).await.unwrap();
        let append = Write::Append { owner, blocks: self.block("read") };
        let batch = self.batch().fenced(self.child.id(), 1).write(append);
        Some(batch.write(ack(owner, &rows, Strictness::MustBePending)))
    }

    async fn asks_a_question(&self, store: &dyn Store) -> Option<Batch> {
        let task = self.child.id();
        if !store.questions(task).await.unwrap().is_empty() {
            return None;
        }
        let question = Question {
            task,
            number: 1,
            wants: QuestionKind::Input,
            addressee: Addressee::Owner,
            text: "which?".into(),
            about: Payload::Null,
            key: None,
            at: self.at,
            closed: None,
        };
        let child = self.stored(store, &self.child).await.unwrap();
        let park = self.put(&child, Intent::Park(WaitingOn::Input(1)));
        let batch = self.batch().fenced(task, 1).write(Write::Ask(Box::new(question))).write(park);
        Some(batch.write(Write::Deliver(Box::new(self.asked.clone()))))
    }

    async fn answers_the_question(&self, store: &dyn Store) -> Option<Batch> {
        let task = self.child.id();
        if store.questions(task).await.unwrap()[0].closed.is_some() {
            return None;
        }
        let answer = Payload::encode("this one").unwrap();
        let closed = Resolution::Answered { by: Caller::Host, answer, at: self.at };
        let child = self.stored(store, &self.child).await.unwrap();
        let close = Write::CloseQuestion { task, number: 1, closed: Box::new(closed) };
        Some(self.batch().write(close).write(self.put(&child, Intent::Resume)))
    }

    async fn requests_a_cancel(&self, store: &dyn Store) -> Option<Batch> {
        let child = self.stored(store, &self.child).await.unwrap();
        let stop = || self.batch().write(self.put(&child, Intent::Cancel(cancel(self.at))));
        child.cancel.is_none().then(stop)
    }

    async fn begins_a_sweep(&self, store: &dyn Store) -> Option<Batch> {
        let mut session = store.session(self.session.id).await.unwrap().unwrap();
        if !session.sweeps.is_empty() {
            return None;
        }
        session.seq += 1;
        let reach = SweepScope::ChildrenOf(self.lead.id());
        session.sweeps.push(Sweep { id: None, cancel: (*cancel(self.at)).clone(), reach });
        Some(self.batch().write(Write::PutSession(Box::new(session), Change::SweepBegan)))
    }

    async fn returns_before_the_child(&self, store: &dyn Store) -> Option<Batch> {
        let lead = self.stored(store, &self.lead).await.unwrap();
        if lead.outcome.is_some() {
            return None;
        }
        let batch = self.batch().fenced(lead.id(), 1).guard(Guard::HasChildren(lead.id()));
        Some(batch.write(self.put(&lead, Intent::Finish(value(), LiveChildren::Some))))
    }

    async fn ends_with_the_child(&self, store: &dyn Store) -> Option<Batch> {
        let lead = self.stored(store, &self.lead).await.unwrap();
        let child = self.stored(store, &self.child).await.unwrap();
        if !lead.is_live() {
            return None;
        }
        let only = Guard::OnlyChild { owner: lead.id(), child: child.id() };
        let mut batch = self.batch().fenced(child.id(), 1).guard(only);
        let finish = Intent::Finish(value(), LiveChildren::None);
        for (task, intent) in [(&child, finish), (&lead, Intent::Release)] {
            let Transition { task, change } = decide(task, intent, self.at).unwrap();
            let recipient = task.owner();
            batch = batch.write(Write::End(EndWrite { task, change, recipient }));
        }
        Some(batch)
    }

    async fn continues_the_lead(&self, store: &dyn Store) -> Option<Batch> {
        if self.stored(store, &self.successor).await.is_some() {
            return None;
        }
        let (from, to) = (Owner::Task(self.lead.id()), Owner::Task(self.successor.id()));
        let row = Box::new(Row::message(self.last.clone(), to));
        let batch = self.batch().write(spawn(&self.successor));
        Some(batch.write(Write::Adopt { from, to }).write(Write::Deliver(row)))
    }

    async fn drains_the_session(&self, store: &dyn Store) -> Option<Batch> {
        let owner = self.owner();
        let rows = store.inbox(owner, 0, 100).await.unwrap();
        let append = Write::Append { owner, blocks: self.block("came home") };
        let drain =
            || self.batch().write(append).write(ack(owner, &rows, Strictness::MustBePending));
        (!rows.is_empty()).then(drain)
    }

    async fn gives_back_the_tokens(&self, store: &dyn Store) -> Option<Batch> {
        let spent = store.counter(&self.tokens()).await.unwrap();
        let count = CounterChange { counter: self.tokens(), by: -5, limit: None };
        (spent > 0).then(|| self.batch().write(Write::Count(count)))
    }

    fn tokens(&self) -> Counter {
        Counter { owner: self.owner(), name: "tokens".into() }
    }
}
