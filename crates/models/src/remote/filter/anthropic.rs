//! Anthropic's messages: blocks by index, whose input comes in fragments.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::bound::AnswerBound;

use super::super::weight::weight;
use super::{Frame, Passes, count_entries, string, text_of};

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct BlockCalls {
    /// By the index of their block; `None` for one that was dropped.
    by_index: HashMap<u64, Option<usize>>,
    other_blocks: usize,
}

/// Whether an event is a delta of text or of a thought and nothing else.
pub(super) fn is_plain(data: &str) -> bool {
    let plain = || {
        let rest = data.strip_prefix(r#"{"type":"content_block_delta","index":"#)?;
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let rest = rest.strip_prefix(r#","delta":{"type":""#)?;
        let text = rest.strip_prefix(r#"text_delta","text":""#);
        let rest = text.or_else(|| rest.strip_prefix(r#"thinking_delta","thinking":""#))?;
        let mut escaped = false;
        let end = rest.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        rest.get(end + 1..)?.trim_matches(' ').strip_suffix('}')
    };
    plain().is_some_and(|rest| rest.trim_matches(' ') == "}")
}

impl BlockCalls {
    pub(super) fn pass(&mut self, mut frame: Frame<'_>) -> Result<Passes, AnswerBound> {
        let index = frame.value.get("index").and_then(Value::as_u64).unwrap_or_default();
        Ok(match string(frame.value, "type") {
            "content_block_start" => self.start(index, &mut frame)?,
            "content_block_delta" => self.delta(index, &mut frame),
            "content_block_stop" => match self.by_index.remove(&index) {
                Some(None) => Passes::No,
                _ => Passes::On,
            },
            "message" => {
                let blocks = frame.value.get_mut("content").map(Value::take);
                let Some(Value::Array(mut blocks)) = blocks else { return Ok(Passes::On) };
                let others = blocks.iter().filter(|block| !is_call(block)).count();
                count_entries(&mut self.other_blocks, others)?;
                blocks.retain_mut(|block| call(block, &mut frame) != Some(None));
                frame.value["content"] = Value::Array(blocks);
                Passes::On
            }
            _ => Passes::On,
        })
    }

    fn start(&mut self, index: u64, frame: &mut Frame<'_>) -> Result<Passes, AnswerBound> {
        self.by_index.remove(&index);
        let Some(mut block) = frame.value.get_mut("content_block").map(Value::take) else {
            return Ok(Passes::On);
        };
        let opened = call(&mut block, frame);
        // A block that is never stopped ends with the answer.
        frame.ledger.count_ahead(beside(&block));
        frame.ledger.count_stated(text_in(&block).len());
        frame.value["content_block"] = block;
        Ok(match opened {
            None => {
                count_entries(&mut self.other_blocks, 1)?;
                Passes::On
            }
            Some(number) => {
                self.by_index.insert(index, number);
                number.map_or(Passes::No, |_| Passes::On)
            }
        })
    }

    fn delta(&self, index: u64, frame: &mut Frame<'_>) -> Passes {
        let delta = frame.value.get("delta").unwrap_or(&Value::Null);
        match string(delta, "type") {
            "text_delta" | "thinking_delta" => Passes::On,
            "signature_delta" => {
                frame.ledger.count_ahead(string(delta, "signature").len());
                Passes::On
            }
            "input_json_delta" => {
                if let Some(Some(number)) = self.by_index.get(&index) {
                    frame.ledger.push(*number, string(delta, "partial_json"));
                }
                Passes::No
            }
            // rig would add all it does not know to what it keeps.
            _ => Passes::No,
        }
    }
}

fn is_call(block: &Value) -> bool {
    string(block, "type") == "tool_use"
}

/// The text that a block opens with.
fn text_in(block: &Value) -> &str {
    match string(block, "type") {
        kind @ ("text" | "thinking") => string(block, kind),
        _ => "",
    }
}

/// What a block holds beside its text.
fn beside(block: &Value) -> usize {
    weight(block).saturating_sub(text_in(block).len())
}

/// The number of the call that a block is, if it is one and is kept.
fn call(block: &mut Value, frame: &mut Frame<'_>) -> Option<Option<usize>> {
    if !is_call(block) {
        return None;
    }
    let number = frame.ledger.open(string(block, "id"), string(block, "name"));
    if let Some(number) = number {
        let input = block.get("input").filter(|input| **input != json!({}));
        let input = text_of(input);
        block["input"] = frame.collect(number, &input);
    }
    Some(number)
}
