//! What has changed in a text, as a unified diff, bounded.

use std::fmt::Write;

use offshoot_core::text;

/// How many lines around a change are shown.
const AROUND: usize = 3;

/// How many lines and bytes a diff has, and Unicode scalars each line.
const LINES: usize = 120;
const BYTES: usize = 8_000;
const LINE: usize = 300;

/// How many pairs of lines are compared. Of more it is only said that all were
/// replaced.
const PAIRS: usize = 1 << 20;

/// A line, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The diff between two texts; empty if they are the same.
pub(super) fn unified(old: &str, new: &str) -> String {
    let ops = ops(&lines(old), &lines(new));
    let mut said = String::new();
    let mut shown = 0;
    let (mut at, mut before, mut after) = (0, 1, 1);
    while let Some(change) = ops[at..].iter().position(|op| !matches!(op, Op::Same(_))) {
        let start = (at + change).saturating_sub(AROUND).max(at);
        (before, after) = (before + start - at, after + start - at);
        let end = end_of_hunk(&ops, at + change);
        let hunk = &ops[start..end];
        let olds = hunk.iter().filter(|op| !matches!(op, Op::New(_))).count();
        let news = hunk.iter().filter(|op| !matches!(op, Op::Gone(_))).count();
        // Writing to a string does not fail.
        let _ = writeln!(said, "@@ -{before},{olds} +{after},{news} @@");
        for op in hunk {
            if shown == LINES || said.len() > BYTES {
                let rest = ops[start..].iter().filter(|op| !matches!(op, Op::Same(_))).count();
                let _ =
                    writeln!(said, "[The diff goes on: about {rest} lines changed from here on.]");
                return said;
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
            shown += 1;
        }
        (before, after, at) = (before + olds, after + news, end);
    }
    said
}

/// Where the hunk ends that holds this change.
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

/// What became of each line.
fn ops<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Op<'a>> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = pairs.take_while(|(one, other)| one == other).count();
    let gone = &old_rest[..old_rest.len() - tail];
    let came = &new_rest[..new_rest.len() - tail];
    let mut ops: Vec<Op<'a>> = old[..head].iter().map(|line| Op::Same(line)).collect();
    if gone.len().saturating_mul(came.len()) > PAIRS {
        ops.extend(gone.iter().map(|line| Op::Gone(line)));
        ops.extend(came.iter().map(|line| Op::New(line)));
    } else {
        middle(gone, came, &mut ops);
    }
    ops.extend(old_rest[gone.len()..].iter().map(|line| Op::Same(line)));
    ops
}

/// The longest lines that both have in common stay.
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

    proptest! {
        #[test]
        fn what_stays_and_comes_is_the_new_text(old in "([ab]\n){0,9}[ab]?", new in "([ab]\n){0,9}") {
            let ops = ops(&lines(&old), &lines(&new));
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
