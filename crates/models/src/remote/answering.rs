//! A call under way: asked when it is first looked at, then read piece by piece.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use rig_core::streaming::{CompletionStream, Item};
use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, AnswerEvent, Stop};
use crate::call::Call;
use crate::error::{AnswerProgress, ModelError};
use crate::model::AnswerStream;
use crate::name::ModelName;
use crate::usage::Usage;

use super::assembly::Assembly;
use super::fault::{Fault, Faults};
use super::http::Tail;
use super::request::request;
use super::timeouts::Timeouts;
use super::wire::{OneCall, Wire};

/// What is asked, of whom.
pub(super) struct Ask {
    pub(super) call: Call,
    pub(super) by: ModelName,
    pub(super) wire: Arc<Wire>,
    pub(super) faults: Arc<Faults>,
    pub(super) patience: Timeouts,
}

/// The pieces of the answer. Nothing is sent before they are polled.
pub(super) fn pieces(ask: Ask) -> AnswerStream {
    Box::pin(stream::unfold(State::Asked(Box::new(ask)), step))
}

enum State {
    Asked(Box<Ask>),
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    reply: CompletionStream,
    tail: Tail,
    assembly: Assembly,
    seen: AnswerProgress,
    faults: Arc<Faults>,
    patience: Timeouts,
    // When the last word came. A server that only says that it is there does
    // not move it.
    last: Instant,
}

async fn step(state: State) -> Option<(Result<AnswerEvent, ModelError>, State)> {
    let reading = match state {
        State::Over => return None,
        State::Reading(reading) => reading,
        State::Asked(ask) => match open(*ask) {
            Ok(reading) => Box::new(reading),
            Err(error) => return Some((Err(error), State::Over)),
        },
    };
    Some(read(reading).await)
}

fn open(ask: Ask) -> Result<Reading, ModelError> {
    let Ask { call, by, wire, faults, patience } = ask;
    let OneCall { model, tail, ledger } = wire.model(call.cache);
    let request = request(call, &by, &wire).map_err(|wrong| faults.unsendable(&wrong))?;
    let reply = model.stream(request).map_err(|error| {
        match faults.of(&error, AnswerProgress::Nothing) {
            Fault::Error(error) => error,
            Fault::Refused(message) => faults.unsendable(&message),
        }
    })?;
    let (seen, last) = (AnswerProgress::Nothing, Instant::now());
    let assembly = Assembly::new(by, ledger);
    Ok(Reading { reply, tail, assembly, seen, faults, patience, last })
}

async fn read(mut reading: Box<Reading>) -> (Result<AnswerEvent, ModelError>, State) {
    loop {
        let until = reading.last.checked_add(reading.patience.word);
        let next = match until {
            Some(until) => timeout_at(until, reading.reply.next()).await,
            None => Ok(reading.reply.next().await),
        };
        let item = match next {
            Err(_) if reading.assembly.progress().is_some_and(|then| then > reading.last) => {
                reading.last = reading.assembly.progress().unwrap_or(reading.last);
                continue;
            }
            Err(_) => {
                let (silent, seen) = (reading.patience.word, reading.seen);
                return (Err(ModelError::Stalled { silent, seen }), State::Over);
            }
            Ok(None) => return (finish(*reading).await, State::Over),
            Ok(Some(Err(error))) => {
                let fault = reading.faults.of(&error, reading.seen);
                return (ended(fault), State::Over);
            }
            Ok(Some(Ok(item))) => item,
        };
        if matches!(item, Item::Event(_)) {
            reading.seen = AnswerProgress::Output;
            reading.last = Instant::now();
        }
        match reading.assembly.take(item) {
            Ok(None) => {}
            Ok(Some(piece)) => return (Ok(piece), State::Reading(reading)),
            Err(bound) => return (Err(reading.faults.unbounded(bound)), State::Over),
        }
    }
}

async fn finish(reading: Reading) -> Result<AnswerEvent, ModelError> {
    let Reading { reply, tail, assembly, seen, faults, .. } = reading;
    match reply.finish().await {
        Ok(response) => {
            tail.finish().await;
            Ok(AnswerEvent::Whole(Box::new(assembly.whole(response))))
        }
        Err(error) => ended(faults.of(&error, seen)),
    }
}

/// A provider that will not answer has answered.
fn ended(fault: Fault) -> Result<AnswerEvent, ModelError> {
    match fault {
        Fault::Error(error) => Err(error),
        Fault::Refused(message) => Ok(AnswerEvent::Whole(Box::new(Answer {
            parts: Vec::new(),
            stop: Stop::Refused(message),
            usage: Usage::default(),
        }))),
    }
}
