//! The changes of a text, as a unified diff of a bounded length.

use std::fmt::Write;

use offshoot_core::text;

/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// The largest number of lines and bytes of a diff, and of Unicode scalars of a line.
const LINES: usize = 120;
const BYTES: usize = 8_000;
const LINE: usize = 300;

/// The largest number of compared pairs of lines. More lines are shown as replaced.
const PAIRS: usize = 1 << 20;

/// The largest number of compared lines of one text. More lines are shown as replaced.
const MOST: usize = 1 << 17;

/// A line and its change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// Returns the diff between two texts; empty if they are equal.
///
/// Of the unchanged beginning and end only the lines that may be shown are kept, so the
/// memory in use does not grow with the texts.
pub(super) fn unified(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let head = head(old, new);
    let tail = tail(&old[head..], &new[head..]);
    let (gone, came) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let (before, after) = (last_lines(&old[..head]), first_lines(&old[old.len() - tail..]));
    let first = 1 + ends(&old[..head]) - before.len();
    let (olds, news) = (count(gone), count(came));
    let mut diff = Diff { said: String::new(), shown: 0 };
    if olds.saturating_mul(news) > PAIRS || olds.max(news) > MOST {
        let around = before.len() + after.len();
        diff.hunk(
            Hunk { first: (first, first), lines: (olds + around, news + around) },
            (before.iter().map(|line| Op::Same(line)))
                .chain(gone.split_inclusive('\n').map(Op::Gone))
                .chain(came.split_inclusive('\n').map(Op::New))
                .chain(after.iter().map(|line| Op::Same(line))),
            olds + news,
        );
        return diff.said;
    }
    let mut ops: Vec<Op<'_>> = before.iter().map(|line| Op::Same(line)).collect();
    middle(&lines(gone), &lines(came), &mut ops);
    ops.extend(after.iter().map(|line| Op::Same(line)));
    diff.hunks(&ops, first);
    diff.said
}

/// The start of a hunk in both texts, and its number of lines in each.
struct Hunk {
    first: (usize, usize),
    lines: (usize, usize),
}

/// A diff under construction.
struct Diff {
    said: String,
    shown: usize,
}

impl Diff {
    /// Adds the changes of these lines. The first line has the number `first`.
    fn hunks(&mut self, ops: &[Op<'_>], first: usize) {
        let (mut at, mut before, mut after) = (0, first, first);
        while let Some(change) = ops[at..].iter().position(|op| !matches!(op, Op::Same(_))) {
            let start = (at + change).saturating_sub(AROUND).max(at);
            (before, after) = (before + start - at, after + start - at);
            let end = end_of_hunk(ops, at + change);
            let hunk = &ops[start..end];
            let olds = hunk.iter().filter(|op| !matches!(op, Op::New(_))).count();
            let news = hunk.iter().filter(|op| !matches!(op, Op::Gone(_))).count();
            let rest = ops[start..].iter().filter(|op| !matches!(op, Op::Same(_))).count();
            let header = Hunk { first: (before, after), lines: (olds, news) };
            if !self.hunk(header, hunk.iter().copied(), rest) {
                return;
            }
            (before, after, at) = (before + olds, after + news, end);
        }
    }

    /// Adds one hunk. Returns whether there was room for it.
    ///
    /// `rest` is the number of changed lines from its beginning on.
    fn hunk<'a>(&mut self, hunk: Hunk, ops: impl Iterator<Item = Op<'a>>, rest: usize) -> bool {
        let Hunk { first: (before, after), lines: (olds, news) } = hunk;
        let said = &mut self.said;
        // Writing to a string does not fail.
        let _ = writeln!(said, "@@ -{before},{olds} +{after},{news} @@");
        for op in ops {
            if self.shown == LINES || said.len() > BYTES {
                let _ =
                    writeln!(said, "[The diff goes on: about {rest} lines changed from here on.]");
                return false;
            }
            let (sign, line) = match op {
                Op::Same(line) => (' ', line),
                Op::Gone(line) => ('-', line),
                Op::New(line) => ('+', line),
            };
            let ended = line.ends_with('\n');
            let _ =
                writeln!(said, "{sign}{}", text::cut(line.trim_end_matches(['\r', '\n']), LINE));
            if !ended {
                said.push_str("\\ No newline at end of file\n");
            }
            self.shown += 1;
        }
        true
    }
}

/// Returns the end of the hunk with a change.
fn end_of_hunk(ops: &[Op<'_>], change: usize) -> usize {
    let mut last = change;
    for (at, op) in ops.iter().enumerate().skip(change) {
        if !matches!(op, Op::Same(_)) {
            last = at;
        } else if at > last + 2 * AROUND {
            break;
        }
    }
    (last + 1 + AROUND).min(ops.len())
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Counts the lines. The last one may have no line end.
fn count(text: &str) -> usize {
    ends(text) + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Counts the line ends.
fn ends(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Returns the length of the common first lines, in bytes.
fn head(old: &str, new: &str) -> usize {
    let pairs = old.split_inclusive('\n').zip(new.split_inclusive('\n'));
    pairs.take_while(|(one, other)| one == other).map(|(line, _)| line.len()).sum()
}

/// Returns the length of the common last lines, in bytes.
fn tail(old: &str, new: &str) -> usize {
    let pairs = backwards(old).zip(backwards(new));
    pairs.take_while(|(one, other)| one == other).map(|(line, _)| line.len()).sum()
}

/// Returns the lines with their ends, from the last to the first.
fn backwards(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let last = rest.len().checked_sub(1)?;
        let start = memchr::memrchr(b'\n', &rest.as_bytes()[..last]).map_or(0, |end| end + 1);
        let line = &rest[start..];
        rest = &rest[..start];
        Some(line)
    })
}

/// Returns the last lines of a text that may be shown before a change.
fn last_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = backwards(text).take(AROUND).collect();
    lines.reverse();
    lines
}

/// Returns the first lines of a text that may be shown after a change.
fn first_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').take(AROUND).collect()
}

/// Adds the changed lines, which keep their longest common subsequence.
fn middle<'a>(gone: &[&'a str], came: &[&'a str], ops: &mut Vec<Op<'a>>) {
    let width = came.len() + 1;
    let mut common = vec![0_u32; (gone.len() + 1) * width];
    for (row, one) in gone.iter().enumerate().rev() {
        for (column, other) in came.iter().enumerate().rev() {
            let at = row * width + column;
            common[at] = match one == other {
                true => common[at + width + 1] + 1,
                false => common[at + width].max(common[at + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < gone.len() && column < came.len() {
        let at = row * width + column;
        if gone[row] == came[column] {
            ops.push(Op::Same(gone[row]));
            (row, column) = (row + 1, column + 1);
        } else if common[at + width] >= common[at + 1] {
            ops.push(Op::Gone(gone[row]));
            row += 1;
        } else {
            ops.push(Op::New(came[column]));
            column += 1;
        }
    }
    ops.extend(gone[row..].iter().map(|line| Op::Gone(line)));
    ops.extend(came[column..].iter().map(|line| Op::New(line)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let diff = unified(old, &old.replace('5', "five"));
        assert_eq!(diff, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(unified("a", "a\n"), "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(unified("", "a\n"), "@@ -1,0 +1,1 @@\n+a\n");
        assert_eq!(unified("a\n", "a\n"), "");
        let far = "x\n".repeat(20);
        let diff = unified(&format!("a\n{far}b\n"), &format!("A\n{far}B\n"));
        assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
    }

    #[test]
    fn a_long_diff_is_cut_and_says_so() {
        let diff = unified(&"old\n".repeat(5_000), &"new\n".repeat(5_000));
        assert!(diff.lines().count() < 130 && diff.contains("[The diff goes on"), "{diff}");
    }

    #[test]
    fn what_is_the_same_before_and_after_is_not_shown() {
        let (head, tail) = ("h\n".repeat(9), "t\n".repeat(9));
        let diff = unified(&format!("{head}a\n{tail}"), &format!("{head}b\n{tail}"));
        assert_eq!(diff, "@@ -7,7 +7,7 @@\n h\n h\n h\n-a\n+b\n t\n t\n t\n");
        // Lines are the same as a whole: neither text ends with a line of the other.
        assert_eq!(unified("b\na", "a"), "@@ -1,2 +1,1 @@\n-b\n a\n\\ No newline at end of file\n");
        assert_eq!(unified("b\n", "ab\n"), "@@ -1,1 +1,1 @@\n-b\n+ab\n");
        assert_eq!(unified("a\n", ""), "@@ -1,1 +1,0 @@\n-a\n");
        // The same line is never in the head and in the tail.
        assert_eq!(unified("a\na\n", "a\n"), "@@ -1,2 +1,1 @@\n a\n-a\n");
    }

    proptest! {
        #[test]
        fn what_stays_and_comes_is_the_new_text(old in "([ab]\n){0,9}[ab]?", new in "([ab]\n){0,9}") {
            let mut ops = Vec::new();
            middle(&lines(&old), &lines(&new), &mut ops);
            let kept = |gone: bool| ops.iter().filter_map(|op| match op {
                Op::Same(line) => Some(*line),
                Op::Gone(line) => gone.then_some(*line),
                Op::New(line) => (!gone).then_some(*line),
            }).collect::<String>();
            prop_assert_eq!(kept(true), old.as_str());
            prop_assert_eq!(kept(false), new.as_str());
        }
    }
}
