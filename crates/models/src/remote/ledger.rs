//! The calls of an answer, collected before rig sees them.
//!
//! rig reads arguments that are no JSON with a parser whose cost grows with the
//! square of their depth, and copies them on every fragment. So arguments never
//! reach it: each call is given to rig with a mark in their place, and the text
//! is kept here, once, within the bounds of an answer.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bound::{
    ANSWER_BYTES, AnswerBound, CALL_BYTES, CALL_DEPTH, CALL_VALUES, CALLS, CallBound,
};

use super::json_scan::JsonScan;

/// The field that stands in the arguments of a call for those kept here.
const MARK: &str = "offshoot_call";

/// The ledger of one answer, shared by its filter and its assembly.
pub(super) type SharedLedger = Arc<Mutex<CallLedger>>;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct CallLedger {
    // Those that were taken are gone.
    calls: Vec<Option<CollectedCall>>,
    // All that is kept of the answer, here and elsewhere.
    bytes: usize,
    // What of it was counted as it came and will be read from rig later: texts
    // of items, and what items hold beside their texts.
    stated: usize,
    ahead: usize,
    // Texts that were read and that no item has stated yet.
    streamed: usize,
    values: usize,
    surplus: usize,
    refusal: String,
    progress: Option<Instant>,
}

/// One call, as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct CollectedCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) refused: Option<CallBound>,
    scan: JsonScan,
}

impl CallLedger {
    /// Opens a call and returns its number. There is none for a call beyond the
    /// bound, except for the first of those, which tells of all.
    pub(super) fn open(&mut self, id: &str, name: &str) -> Option<usize> {
        self.progress = Some(Instant::now());
        let number = self.calls.len();
        if number > CALLS {
            // A fragment of a call that was dropped has no name.
            self.surplus += usize::from(!name.is_empty());
            return None;
        }
        self.bytes += id.len() + name.len();
        let refused = (number == CALLS).then_some(CallBound::Calls { more: 0 });
        let (id, name) = (id.to_owned(), name.to_owned());
        self.calls.push(Some(CollectedCall { id, name, refused, ..CollectedCall::default() }));
        Some(number)
    }

    /// Completes what a call is called, which some providers send late, and says
    /// whether the id and the name were new.
    pub(super) fn identify(&mut self, number: usize, id: &str, name: &str) -> [bool; 2] {
        let Some(Some(call)) = self.calls.get_mut(number) else { return [false; 2] };
        [(&mut call.id, id), (&mut call.name, name)].map(|(known, told)| {
            let new = known.is_empty() && !told.is_empty();
            if new {
                told.clone_into(known);
                self.bytes += told.len();
            }
            new
        })
    }

    /// Adds to the arguments of a call. A call that passes a bound loses them.
    pub(super) fn push(&mut self, number: usize, fragment: &str) {
        let Some(Some(call)) = self.calls.get_mut(number) else { return };
        if !fragment.is_empty() {
            self.progress = Some(Instant::now());
        }
        // Some gateways send a literal `null` before the fragments.
        if call.arguments == "null" && !fragment.is_empty() {
            self.bytes -= call.arguments.len();
            call.arguments.clear();
        }
        if call.refused.is_some() {
            return;
        }
        let before = call.scan.values();
        call.scan.push(fragment);
        self.values += call.scan.values() - before;
        let length = call.arguments.len() + fragment.len();
        let refused = match () {
            () if call.scan.deepest() > CALL_DEPTH => Some(CallBound::Depth),
            () if length > CALL_BYTES => Some(CallBound::Length),
            () if self.values > CALL_VALUES => Some(CallBound::Values),
            () => None,
        };
        match refused {
            Some(bound) => self.refuse(number, bound),
            None => {
                call.arguments.push_str(fragment);
                self.bytes += fragment.len();
            }
        }
    }

    /// Gives a call other arguments than those so far.
    pub(super) fn replace(&mut self, number: usize, arguments: &str) {
        let Some(Some(call)) = self.calls.get_mut(number) else { return };
        if call.refused.is_none() && call.arguments != arguments {
            self.bytes -= call.arguments.len();
            self.values -= call.scan.values();
            (call.arguments, call.scan) = (String::new(), JsonScan::default());
            self.push(number, arguments);
        }
    }

    /// Drops the arguments of a call.
    pub(super) fn refuse(&mut self, number: usize, bound: CallBound) {
        let Some(Some(call)) = self.calls.get_mut(number) else { return };
        self.bytes -= call.arguments.len();
        self.values -= call.scan.values();
        (call.arguments, call.scan) = (String::new(), JsonScan::default());
        call.refused = Some(bound);
    }

    /// Whether the arguments of a call are a whole JSON object or list.
    pub(super) fn is_whole(&self, number: usize) -> bool {
        self.call(number).is_some_and(|call| call.refused.is_some() || call.scan.is_closed())
    }

    fn call(&self, number: usize) -> Option<&CollectedCall> {
        self.calls.get(number)?.as_ref()
    }

    /// Counts what is kept of the answer elsewhere.
    pub(super) fn count(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Counts what an item holds beside its text, before rig keeps it. rig may
    /// state the item only when the answer ends.
    pub(super) fn count_ahead(&mut self, bytes: usize) {
        self.count(bytes);
        self.ahead += bytes;
    }

    /// Counts the text of an item, before rig keeps it, unless it repeats what was
    /// streamed.
    pub(super) fn count_stated(&mut self, bytes: usize) {
        let repeated = self.streamed.min(bytes);
        self.streamed -= repeated;
        self.count(bytes - repeated);
        self.stated += bytes - repeated;
    }

    /// Counts text that was read, unless its item was counted.
    pub(super) fn count_text(&mut self, bytes: usize) -> Result<(), AnswerBound> {
        let counted = self.stated.min(bytes);
        self.stated -= counted;
        self.count(bytes - counted);
        self.streamed += bytes - counted;
        self.check()
    }

    /// Counts what a block holds beside its text at its end, unless its item was
    /// counted.
    pub(super) fn count_end(&mut self, bytes: usize) -> Result<(), AnswerBound> {
        let counted = self.ahead.min(bytes);
        self.ahead -= counted;
        self.count(bytes - counted);
        self.check()
    }

    /// Whether all that is kept is within the bound.
    pub(super) fn check(&self) -> Result<(), AnswerBound> {
        if self.bytes > ANSWER_BYTES { Err(AnswerBound::Length) } else { Ok(()) }
    }

    /// When the last fragment came.
    pub(super) fn progress(&self) -> Option<Instant> {
        self.progress
    }

    /// Adds to what the model says in refusing.
    pub(super) fn push_refusal(&mut self, more: &str) {
        self.bytes += more.len();
        self.refusal.push_str(more);
    }

    /// What the model says in refusing, whole.
    pub(super) fn set_refusal(&mut self, whole: &str) {
        self.bytes = self.bytes - self.refusal.len() + whole.len();
        whole.clone_into(&mut self.refusal);
    }

    /// What the model says in refusing.
    pub(super) fn refusal(&mut self) -> Option<String> {
        let said = std::mem::take(&mut self.refusal);
        (!said.is_empty()).then_some(said)
    }

    /// The call of this number.
    pub(super) fn take(&mut self, number: usize) -> CollectedCall {
        let unread =
            || CollectedCall { refused: Some(CallBound::Unread), ..CollectedCall::default() };
        let mut call = self.calls.get_mut(number).and_then(Option::take).unwrap_or_else(unread);
        if let Some(CallBound::Calls { more }) = &mut call.refused {
            *more = self.surplus;
        }
        call
    }

    /// The calls without a name, which rig drops.
    pub(super) fn take_nameless(&mut self) -> Vec<CollectedCall> {
        let nameless =
            |number: &usize| self.call(*number).is_some_and(|call| call.name.trim().is_empty());
        let numbers: Vec<_> = (0..self.calls.len()).filter(nameless).collect();
        numbers.into_iter().map(|number| self.take(number)).collect()
    }
}

/// What rig is given in place of the arguments of a call.
pub(super) fn mark(number: usize) -> Value {
    json!({ MARK: number })
}

/// The number in the place of arguments.
pub(super) fn marked(arguments: &serde_json::Map<String, Value>) -> Option<usize> {
    arguments.get(MARK).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}
