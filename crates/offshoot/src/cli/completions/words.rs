//! The words of a command line that is being typed, as the shell will read them.

/// A command line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartialLine {
    /// The words, without their quotes. The last one is being typed, and may be
    /// empty.
    pub(super) words: Vec<String>,
    /// The open quote at the cursor.
    pub(super) open: Option<char>,
    /// How many bytes of the last word stay, whatever is offered: the shell
    /// replaces what comes after them.
    pub(super) stays: usize,
}

impl PartialLine {
    /// Reads a line. At `breaks` the shell begins a word of its own, which is
    /// only its own.
    pub(super) fn read(line: &str, breaks: &str) -> Self {
        let (mut words, mut open) = (Vec::new(), None);
        // None between words; a word in quotes may be empty.
        let mut word: Option<String> = None;
        let (mut broken, mut opened) = (0, 0);
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            if open.is_none() && c.is_whitespace() {
                words.extend(word.take());
                broken = 0;
                continue;
            }
            let word = word.get_or_insert_default();
            match (open, c) {
                (Some(quote), _) if c == quote => open = None,
                (Some('"'), '\\') => match chars.next() {
                    Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                    next => word.extend(std::iter::once('\\').chain(next)),
                },
                (None, '\\') => word.extend(chars.next()),
                (None, '\'' | '"') => {
                    open = Some(c);
                    opened = word.len();
                }
                (None, _) if breaks.contains(c) => {
                    word.push(c);
                    broken = word.len();
                }
                _ => word.push(c),
            }
        }
        words.push(word.unwrap_or_default());
        let stays = if open.is_some() { opened } else { broken };
        Self { words, open, stays }
    }

    /// The text that the shell puts in the place of the last word.
    pub(super) fn replacement(&self, value: &str) -> String {
        let kept = self.words.last().and_then(|word| word.get(..self.stays)).unwrap_or_default();
        let value = value.strip_prefix(kept).unwrap_or(value);
        match self.open {
            Some('\'') => value.replace('\'', r"'\''"),
            Some(_) => escaped(value, |c| "\"\\$`".contains(c)),
            None => escaped(value, |c| {
                !c.is_alphanumeric() && !"-_./:=@%+,".contains(c) && !c.is_ascii_control()
            }),
        }
    }
}

fn escaped(value: &str, needs: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(value.len());
    for c in value.chars() {
        if needs(c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default word breaks of bash.
    const BREAKS: &str = " \t\n\"'><=;|&(:";

    fn read(line: &str) -> PartialLine {
        PartialLine::read(line, BREAKS)
    }

    #[test]
    fn words_are_read_without_their_quotes() {
        for (line, words) in [
            ("offshoot tasks show", vec!["offshoot", "tasks", "show"]),
            ("offshoot tasks ", vec!["offshoot", "tasks", ""]),
            ("o --session 'my work' a\\ b", vec!["o", "--session", "my work", "a b"]),
            ("o \"a 'b\" 'c \"d", vec!["o", "a 'b", "c \"d"]),
            ("o \"\\$a\\b", vec!["o", "$a\\b"]),
            ("o ''", vec!["o", ""]),
            ("o --session=my\\ work", vec!["o", "--session=my work"]),
        ] {
            assert_eq!(read(line).words, words, "{line}");
        }
    }

    #[test]
    fn only_what_the_shell_replaces_is_offered_and_quoted_as_it_stands() {
        for (line, value, replacement) in [
            ("o a", "a b", r"a\ b"),
            ("o 'a", "a b's", r"a b'\''s"),
            ("o \"a", "a \"b", r#"a \"b"#),
            ("o --session=w", "--session=my work", r"my\ work"),
            ("o --session='m", "--session=my work", "my work"),
            ("o a:", "a:b", "b"),
            ("o 'a'", "a:b", "a:b"),
            ("o ", "ünïcode*", r"ünïcode\*"),
        ] {
            assert_eq!(read(line).replacement(value), replacement, "{line}");
        }
    }
}
