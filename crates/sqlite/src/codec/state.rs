//! Encoding of the changing part of a task's record.

use std::sync::Arc;

use offshoot_core::{
    Lease, Outcome, Payload, Phase, Record, Spec, Stamp, Task, TaskState, WaitingOn, WorkerId,
};

use super::{DecodeError, Decoder, Encoder, id};

const WORKER: u8 = 1;
const CRASHES: u8 = 1 << 1;
const STARTED: u8 = 1 << 2;
const CANCEL: u8 = 1 << 3;
const ACTIVITY: u8 = 1 << 4;
const PROGRESS: u8 = 1 << 5;
const OUTCOME: u8 = 1 << 6;

const COMPLETED: u8 = 0;
const COMPLETED_LATE: u8 = 1;
const OTHERWISE: u8 = 2;

/// The fields of a record that have their own columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateColumns {
    pub(crate) phase: i64,
    pub(crate) since: i64,
}

pub(crate) fn encode_state(task: &Task) -> Vec<u8> {
    let flags = bit(task.lease.worker.is_some(), WORKER)
        | bit(task.crashes > 0, CRASHES)
        | bit(task.started_at.is_some(), STARTED)
        | bit(task.cancel.is_some(), CANCEL)
        | bit(task.activity.is_some(), ACTIVITY)
        | bit(task.progress.is_some(), PROGRESS)
        | bit(task.outcome.is_some(), OUTCOME);
    let mut out = Encoder::new(40);
    out.byte(flags);
    out.number(task.seq);
    out.number(u64::from(task.lease.epoch));
    out.number(u64::from(task.attempts));
    if let TaskState::Waiting(on) = task.state {
        out.waiting(on);
    }
    if let Some(worker) = task.lease.worker {
        out.id(worker.to_bytes());
    }
    if task.crashes > 0 {
        out.number(u64::from(task.crashes));
    }
    if let Some(started) = task.started_at {
        out.signed(started.as_micros().wrapping_sub(task.spec.spawned_at.as_micros()));
    }
    if let Some(cancel) = &task.cancel {
        out.json(cancel);
    }
    if let Some(activity) = &task.activity {
        out.json(activity);
    }
    if let Some(progress) = &task.progress {
        out.json(progress);
    }
    match task.outcome.as_deref() {
        None => {}
        Some(Outcome::Completed { value, cancel_requested }) => {
            out.byte(if *cancel_requested { COMPLETED_LATE } else { COMPLETED });
            // The most common value takes no space.
            if *value != Payload::Null {
                out.payload(value);
            }
        }
        Some(outcome) => {
            out.byte(OTHERWISE);
            out.json(outcome);
        }
    }
    out.finish()
}

pub(crate) fn decode_state(
    bytes: &[u8],
    columns: StateColumns,
    spec: Arc<Spec>,
) -> Result<Task, DecodeError> {
    let mut from = Decoder::new(bytes)?;
    let flags = from.byte()?;
    let has = |wanted: u8| flags & wanted != 0;
    let seq = from.number()?;
    let epoch = from.small()?;
    let attempts = from.small()?;
    let state = match phase_of(columns.phase)? {
        Phase::Queued => TaskState::Queued,
        Phase::Running => TaskState::Running,
        Phase::Waiting => TaskState::Waiting(from.waiting()?),
        Phase::Completed => TaskState::Completed,
        Phase::Failed => TaskState::Failed,
        Phase::Cancelled => TaskState::Cancelled,
        Phase::Lost => TaskState::Lost,
    };
    let worker = if has(WORKER) { Some(id(from.id()?, WorkerId::from_bytes)?) } else { None };
    let crashes = if has(CRASHES) { from.small()? } else { 0 };
    let started_at = if has(STARTED) {
        let delta = from.signed()?;
        Some(Stamp::from_micros(spec.spawned_at.as_micros().wrapping_add(delta)))
    } else {
        None
    };
    let cancel = if has(CANCEL) { Some(from.json()?) } else { None };
    let activity = if has(ACTIVITY) { Some(from.json()?) } else { None };
    let progress = if has(PROGRESS) { Some(from.json()?) } else { None };
    let outcome = if has(OUTCOME) { Some(Arc::new(from.outcome()?)) } else { None };
    Ok(Task::from(Record {
        spec,
        seq,
        state,
        since: Stamp::from_micros(columns.since),
        lease: Lease { worker, epoch },
        attempts,
        crashes,
        started_at,
        cancel,
        activity,
        progress,
        outcome,
    }))
}

/// Converts a column value to a phase.
pub(crate) fn phase_of(column: i64) -> Result<Phase, DecodeError> {
    let at = usize::try_from(column).ok();
    at.and_then(|at| Phase::ALL.get(at)).copied().ok_or(DecodeError::Strange("an unknown phase"))
}

impl Encoder {
    pub(super) fn waiting(&mut self, on: WaitingOn) {
        match on {
            WaitingOn::Children => self.byte(0),
            WaitingOn::Approval(number) => {
                self.byte(1);
                self.number(u64::from(number));
            }
            WaitingOn::Input(number) => {
                self.byte(2);
                self.number(u64::from(number));
            }
            WaitingOn::RateGate(None) => self.byte(3),
            WaitingOn::Timer(due) => {
                self.byte(4);
                self.signed(due.as_micros());
            }
            WaitingOn::Message => self.byte(5),
            WaitingOn::RateGate(Some(until)) => {
                self.byte(6);
                self.signed(until.as_micros());
            }
        }
    }
}

impl Decoder<'_> {
    pub(super) fn waiting(&mut self) -> Result<WaitingOn, DecodeError> {
        Ok(match self.byte()? {
            0 => WaitingOn::Children,
            1 => WaitingOn::Approval(self.small()?),
            2 => WaitingOn::Input(self.small()?),
            3 => WaitingOn::RateGate(None),
            4 => WaitingOn::Timer(Stamp::from_micros(self.signed()?)),
            5 => WaitingOn::Message,
            6 => WaitingOn::RateGate(Some(Stamp::from_micros(self.signed()?))),
            _ => return Err(DecodeError::Strange("an unknown reason to wait")),
        })
    }

    fn outcome(&mut self) -> Result<Outcome, DecodeError> {
        let tag = self.byte()?;
        if tag == OTHERWISE {
            return self.json();
        }
        let value = if self.is_empty() { Payload::Null } else { self.payload()? };
        match tag {
            COMPLETED => Ok(Outcome::Completed { value, cancel_requested: false }),
            COMPLETED_LATE => Ok(Outcome::Completed { value, cancel_requested: true }),
            _ => Err(DecodeError::Strange("an unknown outcome")),
        }
    }
}

fn bit(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use offshoot_core::{
        Activity, ActivityKind, Cancel, Canceller, DEFAULT_GRACE, Failure, FailureKind, Progress,
    };

    use super::*;

    fn round_trip(task: &Task) -> Task {
        let columns =
            StateColumns { phase: task.state.phase() as i64, since: task.since.as_micros() };
        decode_state(&encode_state(task), columns, task.spec.clone()).unwrap()
    }

    fn cancel() -> Cancel {
        let at = Stamp::from_millis(4);
        Cancel { by: Canceller::Host, reason: "enough".into(), at, grace: DEFAULT_GRACE }
    }

    #[test]
    fn every_state_round_trips() {
        let due = Stamp::from_millis(99);
        let waits = [
            WaitingOn::Children,
            WaitingOn::Approval(3),
            WaitingOn::Input(4),
            WaitingOn::RateGate(None),
            WaitingOn::RateGate(Some(due)),
            WaitingOn::Timer(due),
            WaitingOn::Message,
        ];
        let plain = [
            TaskState::Queued,
            TaskState::Running,
            TaskState::Completed,
            TaskState::Failed,
            TaskState::Cancelled,
            TaskState::Lost,
        ];
        for state in plain.into_iter().chain(waits.map(TaskState::Waiting)) {
            let queued = offshoot_core::doc::queued("docs").to_record();
            let task = Task::from(Record { state, ..queued });
            assert_eq!(round_trip(&task), task);
        }
    }

    #[test]
    fn every_outcome_round_trips() {
        let value = Payload::from_json("{}").unwrap();
        let mut failure = Failure::new(FailureKind::Exit(3), "exit 3");
        failure.causes.push("below".into());
        let outcomes = [
            Outcome::value(Payload::Null),
            Outcome::value(value.clone()),
            Outcome::Completed { value, cancel_requested: true },
            failure.into(),
            Outcome::Cancelled { cancel: cancel().into(), forced: true },
            Outcome::Lost { reason: "gone".into() },
        ];
        for outcome in outcomes {
            let mut task = offshoot_core::doc::queued("docs").to_record();
            task.state = outcome.state();
            task.outcome = Some(Arc::new(outcome));
            let task = Task::from(task);
            assert_eq!(round_trip(&task), task);
        }
    }

    #[test]
    fn a_record_with_everything_round_trips() {
        let at = Stamp::from_millis(8);
        let mut task = offshoot_core::doc::queued("docs").to_record();
        task.seq = 300;
        task.lease = Lease { worker: Some(WorkerId::mint(at, 3)), epoch: 9 };
        task.attempts = 2;
        task.crashes = 1;
        task.started_at = Some(at);
        task.cancel = Some(Arc::new(cancel()));
        task.activity = Some(Arc::new(Activity {
            step: 4,
            doing: ActivityKind::Tool("grep".into()),
            since: at,
        }));
        task.progress = Some(Arc::new(Progress { value: Payload::Null, at }));
        let task = Task::from(task);
        assert_eq!(round_trip(&task), task);
    }
}
