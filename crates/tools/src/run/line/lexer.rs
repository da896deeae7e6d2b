//! The tokens of a line, as every POSIX shell reads them.

use std::iter::Peekable;
use std::str::Chars;

/// A token of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// A redirection into a file.
    Writes(String),
    /// A redirection from a file.
    Reads(String),
    /// A redirection to or from another stream or the null device.
    Passes,
    /// `&&`, `||` or `|`: a command follows.
    Joins,
    /// `;` or `&`.
    Ends,
    Newline,
    End,
}

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// The position of the first character that makes it a pattern.
    pub(super) pattern: Option<usize>,
    /// Whether a part of it is quoted.
    pub(super) quoted: bool,
}

/// Reads the tokens of a line. Text that shells may read differently is no token.
pub(super) struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
}

/// Files that store none of their input.
const NOWHERE: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

impl<'a> Lexer<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { rest: line.chars().peekable() }
    }

    /// Returns the next token, or `None` if it is uncertain.
    pub(super) fn next(&mut self) -> Option<Token> {
        self.skip_blanks();
        let Some(&first) = self.rest.peek() else { return Some(Token::End) };
        match first {
            '\n' => self.take(Token::Newline),
            ';' => self.take(Token::Ends),
            '&' => {
                self.rest.next();
                match self.rest.peek() {
                    Some('&') => self.take(Token::Joins),
                    // Some shells read it as a redirection.
                    Some('>') => None,
                    _ => Some(Token::Ends),
                }
            }
            '|' => {
                self.rest.next();
                match self.rest.peek() {
                    Some('|') => self.take(Token::Joins),
                    Some('&') => None,
                    _ => Some(Token::Joins),
                }
            }
            '<' | '>' => self.redirection(),
            '#' => None,
            _ => self.word_or_number(),
        }
    }

    fn take(&mut self, token: Token) -> Option<Token> {
        self.rest.next();
        Some(token)
    }

    fn skip_blanks(&mut self) {
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    }

    /// Reads a word, or a redirection that begins with the number of its stream.
    fn word_or_number(&mut self) -> Option<Token> {
        let word = self.word()?;
        if self.is_number(&word) {
            // Some shells read several digits as a word.
            return if word.text.len() == 1 { self.redirection() } else { None };
        }
        Some(Token::Word(word))
    }

    /// Whether a word is the number of a redirected stream.
    fn is_number(&mut self, word: &Word) -> bool {
        let digits = !word.quoted && word.text.bytes().all(|byte| byte.is_ascii_digit());
        digits && matches!(self.rest.peek(), Some('<' | '>'))
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        loop {
            match self.rest.peek() {
                None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>') => break,
                Some('\'') => self.quoted('\'', &mut word)?,
                Some('"') => self.quoted('"', &mut word)?,
                Some(&letter) => {
                    if matches!(letter, '*' | '?' | '[' | ']') {
                        word.pattern.get_or_insert(word.text.len());
                    } else if !is_plain(letter) {
                        return None;
                    }
                    word.text.push(letter);
                    self.rest.next();
                }
            }
        }
        Some(word)
    }

    fn quoted(&mut self, quote: char, word: &mut Word) -> Option<()> {
        self.rest.next();
        word.quoted = true;
        loop {
            let letter = self.rest.next()?;
            match letter {
                _ if letter == quote => return Some(()),
                '$' | '`' | '\\' if quote == '"' => return None,
                '\n' | '\t' => {}
                _ if offshoot_core::text::is_unsafe(letter) => return None,
                // Lines that look the same must be the same.
                '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
                    return None;
                }
                _ => {}
            }
            word.text.push(letter);
        }
    }

    /// Reads a redirection from its bracket on.
    fn redirection(&mut self) -> Option<Token> {
        let bracket = self.rest.next()?;
        match (bracket, self.rest.peek()) {
            (_, Some('&')) => {
                self.rest.next();
                let stream = self.word()?;
                let whole = matches!(stream.text.as_bytes(), [b'0'..=b'9' | b'-']);
                let plain = whole && !stream.quoted && !self.is_number(&stream);
                return plain.then_some(Token::Passes);
            }
            ('>', Some('>')) => {
                self.rest.next();
            }
            (_, Some('<' | '>' | '|' | '(')) => return None,
            _ => {}
        }
        self.skip_blanks();
        let file = self.word()?;
        let comment = !file.quoted && file.text.starts_with('#');
        if file.text.is_empty() || file.pattern.is_some() || comment || self.is_number(&file) {
            return None;
        }
        let nowhere = NOWHERE.contains(&file.text.as_str());
        match bracket {
            _ if nowhere => Some(Token::Passes),
            '>' => Some(Token::Writes(file.text)),
            // Some shells open other things than files at such a path.
            _ if file.text.starts_with("/dev/") => None,
            _ => Some(Token::Reads(file.text)),
        }
    }
}

/// Whether an unquoted character is literal in every shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(letter, '_' | '-' | '.' | '/' | ':' | '=' | ',' | '@' | '%' | '+' | '^' | '#')
}
