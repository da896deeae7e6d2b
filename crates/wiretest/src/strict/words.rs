//! What the runtime puts into a conversation, and where that may stand.

use std::collections::HashSet;

use super::{ParsedRequest, RequestEntry};

/// How a notice begins.
const NOTICE: &str = "<notice ";

/// How a summary begins.
const SUMMARY: &str = "<summary>";

/// How a model is asked for a summary, which it makes of less than all.
const ASKED: &str = "Sum up the conversation so far";

/// Checks notices and summaries.
pub(super) fn check(request: &ParsedRequest) -> Result<(), String> {
    let mut told = HashSet::new();
    let mut summed = false;
    for (at, entry) in request.entries.iter().enumerate() {
        match entry {
            RequestEntry::Answer(answer) if answer.text.contains(NOTICE) => {
                return Err(format!("a notice is in the model's mouth: {:?}", answer.text));
            }
            RequestEntry::Answer(_) | RequestEntry::Result(_) => {}
            RequestEntry::User(texts) => {
                for (number, text) in texts.iter().enumerate() {
                    notice(text, &mut told)?;
                    if text.contains(SUMMARY) {
                        let first = at == 0 && number == 0 && text.starts_with(SUMMARY);
                        if !first || text.matches(SUMMARY).count() > 1 {
                            return Err(format!("a summary is not the first word: {text:?}"));
                        }
                        summed = true;
                    }
                }
            }
        }
    }
    let asks = |text: &String| text.starts_with(ASKED);
    if matches!(request.entries.last(), Some(RequestEntry::User(texts)) if texts.iter().any(asks)) {
        return Ok(());
    }
    let answers = request.entries.iter().filter(|entry| matches!(entry, RequestEntry::Answer(_)));
    if summed && answers.count() < 2 {
        return Err("less than two answers are left after a summary".to_owned());
    }
    Ok(())
}

/// A notice is a text of its own, and tells of an end once.
fn notice<'a>(text: &'a str, told: &mut HashSet<&'a str>) -> Result<(), String> {
    if !text.contains(NOTICE) || text.starts_with(SUMMARY) {
        return Ok(());
    }
    let whole = text.starts_with(NOTICE) && text.ends_with("</notice>");
    if !whole || text.matches(NOTICE).count() > 1 {
        return Err(format!("a notice is not a text of its own: {text:?}"));
    }
    let (head, _) = text.split_once('>').unwrap_or((text, ""));
    if head.contains("kind=\"result\"")
        && let Some((_, id)) = head.split_once(" id=\"")
        && let Some((id, _)) = id.split_once('"')
        && !told.insert(id)
    {
        return Err(format!("the end of {id} is told twice"));
    }
    Ok(())
}
