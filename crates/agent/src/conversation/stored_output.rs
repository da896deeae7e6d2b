//! Stored outputs: the full texts of outputs that are too long for a conversation.
//!
//! The conversation has the beginning of such an output, and the history the full text.

use offshoot_core::{TaskId, text};
use offshoot_runtime::{Context, Error};

use crate::conversation::entry::{Entry, Fork, StoredOutput};

/// The most Unicode scalars of a stored output.
const STORED: usize = 1 << 20;

/// The beginning of the mark at the end of a cut text.
const CUT: &str = "\n[These are the first ";

/// Cuts a text to this many Unicode scalars. Returns the full text if it was longer,
/// named after the task and the position in its history.
pub(crate) fn shorten(
    shown: &mut String,
    share: usize,
    (task, position): (TaskId, u64),
) -> Option<StoredOutput> {
    let end = shown.char_indices().nth(share).map(|(end, _)| end)?;
    let name = name(task, position);
    let total = shown.chars().count();
    let whole = std::mem::take(shown);
    *shown = format!(
        "{}{CUT}{share} of {total} characters. The rest is kept: read on with \
         read_output, output=\"{name}\", from={share}.]",
        &whole[..end]
    );
    Some(StoredOutput { text: text::cut(&whole, STORED).into_owned(), name })
}

/// A text without the mark of a cut, and whether it had one.
pub(crate) fn without_cut(shown: &str) -> (&str, bool) {
    match shown.rsplit_once(CUT) {
        Some((beginning, _)) => (beginning, true),
        None => (shown, false),
    }
}

/// The name of an output. It stays the same in each copy of the history.
fn name(task: TaskId, position: u64) -> String {
    let id = task.to_bytes();
    format!("{:02x}{:02x}-{position}", id[14], id[15])
}

/// Finds the full text of an output by its name.
pub(crate) async fn find(cx: &Context, name: &str) -> Result<Option<String>, Error> {
    let position = name.rsplit_once('-').and_then(|(_, position)| position.parse::<u64>().ok());
    let Some(position) = position else { return Ok(None) };
    let (mut of, mut visible) = (None, 0..u64::MAX);
    // A forked conversation names outputs of its ancestors. It sees only the part of
    // their histories that it shares.
    for _ in 0..64 {
        if visible.contains(&position)
            && let Some(Entry::Output(stored)) = entry(cx, of, position).await?
            && stored.name == name
        {
            return Ok(Some(stored.text));
        }
        if !visible.contains(&0) {
            break;
        }
        let Some(Entry::Fork(Fork { task, from, blocks })) = entry(cx, of, 0).await? else { break };
        (of, visible) = (Some(task), from..blocks);
    }
    Ok(None)
}

/// Reads the entry at a position of the agent's own history, or of an ancestor's if
/// that still exists.
async fn entry(cx: &Context, of: Option<TaskId>, position: u64) -> Result<Option<Entry>, Error> {
    let page = match of {
        None => cx.history(position, 1).await?,
        Some(task) => match cx.ancestor_history(task, position, 1).await {
            Err(Error::Forbidden(_)) => return Ok(None),
            page => page?,
        },
    };
    let entry = page.blocks.first().and_then(|block| Entry::of_block(block, position).ok());
    Ok(entry.flatten())
}

/// A part of a text, with its position.
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
