//! Outputs that are too long for a conversation: it gets the beginning, and all
//! of them is kept beside it to be read on.

use offshoot_core::{TaskId, text};
use offshoot_runtime::{Context, Error};

use crate::conversation::entry::{Entry, Fork, StoredOutput};
use crate::tool::ToolError;

/// How many Unicode scalars of an output are kept.
const KEPT: usize = 1 << 20;

/// How it begins what is said where a text was cut.
const CUT: &str = "\n[These are the first ";

/// Cuts a text to so many Unicode scalars. What is kept of it then, by the
/// task and at the place in its history that are told.
pub(crate) fn shorten(
    said: &mut String,
    share: usize,
    (task, place): (TaskId, u64),
) -> Option<StoredOutput> {
    let end = said.char_indices().nth(share).map(|(end, _)| end)?;
    let name = name(task, place);
    let total = said.chars().count();
    let whole = std::mem::take(said);
    *said = format!(
        "{}{CUT}{share} of {total} characters. The rest is kept: read on with \
         read_output, output=\"{name}\", from={share}.]",
        &whole[..end]
    );
    Some(StoredOutput { text: text::cut(&whole, KEPT).into_owned(), name })
}

/// A text that may have been cut: what is there of it, and whether it was.
pub(crate) fn without_cut(said: &str) -> (&str, bool) {
    match said.rsplit_once(CUT) {
        Some((begins, _)) => (begins, true),
        None => (said, false),
    }
}

/// The name under which an output is read on: it is the same wherever the
/// history is copied to.
fn name(task: TaskId, place: u64) -> String {
    let id = task.to_bytes();
    format!("{:02x}{:02x}-{place}", id[14], id[15])
}

/// The whole of an output, by its name.
pub(crate) async fn find(cx: &Context, name: &str) -> Result<String, ToolError> {
    let none = || {
        ToolError::new(format!(
            "There is no output {:?}. The name of one stands at its end, where it was cut.",
            text::cut(name, 64)
        ))
    };
    let place = name.rsplit_once('-').and_then(|(_, place)| place.parse().ok());
    let place: u64 = place.ok_or_else(none)?;
    let (mut of, mut shared) = (None, 0..u64::MAX);
    // A conversation that was forked names outputs that are kept where it was,
    // and knows nothing of what is there beyond the part that it shares.
    for _ in 0..64 {
        if shared.contains(&place)
            && let Some(Entry::Output(kept)) = entry(cx, of, place).await?
            && kept.name == name
        {
            return Ok(kept.text);
        }
        if !shared.contains(&0) {
            break;
        }
        let Some(Entry::Fork(Fork { task, from, blocks })) = entry(cx, of, 0).await? else { break };
        (of, shared) = (Some(task), from..blocks);
    }
    Err(none())
}

/// What stands at a place of a history: the agent's own, or a forebear's, if
/// that is still kept.
async fn entry(cx: &Context, of: Option<TaskId>, place: u64) -> Result<Option<Entry>, ToolError> {
    let page = match of {
        None => cx.history(place, 1).await?,
        Some(task) => match cx.ancestor_history(task, place, 1).await {
            Err(Error::Forbidden(_)) => return Ok(None),
            page => page?,
        },
    };
    let entry = page.blocks.first().and_then(|block| Entry::of_block(block, place).ok());
    Ok(entry.flatten())
}

/// A part of a text, and where it stands.
pub(crate) fn part(whole: &str, from: usize, length: usize) -> String {
    let total = whole.chars().count();
    let shown: String = whole.chars().skip(from).take(length).collect();
    let end = from.saturating_add(length).min(total);
    match end {
        _ if from >= total => {
            format!("There is nothing from {from} on: it has {total} characters.")
        }
        end if end == total => format!("{shown}\n[Characters {from} to {end}: the end.]"),
        end => {
            format!("{shown}\n[Characters {from} to {end} of {total}. Read on with from={end}.]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_part_by_part() {
        let whole = "äöü".repeat(3);
        assert!(part(&whole, 0, 4).starts_with("äöüä\n[Characters 0 to 4 of 9."));
        assert!(part(&whole, 8, 4).starts_with("ü\n[Characters 8 to 9: the end.]"));
        assert!(part(&whole, 9, 4).starts_with("There is nothing from 9 on"));
        assert!(part(&whole, usize::MAX, usize::MAX).starts_with("There is nothing"));
    }
}
