//! The words and phrases that prose does without, and the places that keep them.

/// Words that prose does without.
#[derive(Debug)]
pub(crate) struct BannedPhrase {
    /// The words, in lower case.
    pub(crate) words: &'static [&'static str],
    /// The way to say it.
    pub(crate) instead: &'static str,
}

/// A place where a banned phrase stays.
#[derive(Debug)]
pub(crate) struct PhraseException {
    /// The file or directory.
    pub(crate) path: &'static str,
    /// The banned words, as [`BannedPhrase::words`] has them; none for all.
    pub(crate) words: &'static [&'static str],
    /// A part of the line that has it; empty for any line.
    pub(crate) line: &'static str,
}

/// Every banned phrase.
pub(crate) const ALL: &[BannedPhrase] = &[
    BannedPhrase { words: &["purse"], instead: "say budget" },
    BannedPhrase { words: &["purses"], instead: "say budgets" },
    BannedPhrase { words: &["plea"], instead: "say approval request" },
    BannedPhrase { words: &["pleas"], instead: "say approval requests" },
    BannedPhrase { words: &["bequest"], instead: "say inherited rows" },
    BannedPhrase { words: &["bequests"], instead: "say inherited rows" },
    BannedPhrase { words: &["sent", "off"], instead: "say spawned" },
    BannedPhrase { words: &["send", "off"], instead: "say spawn" },
    BannedPhrase { words: &["sends", "off"], instead: "say spawns" },
    BannedPhrase { words: &["come", "home"], instead: "say are delivered" },
    BannedPhrase { words: &["comes", "home"], instead: "say is delivered" },
    BannedPhrase { words: &["whoever"], instead: SUBJECT },
    BannedPhrase { words: &["nobody"], instead: SUBJECT },
    BannedPhrase { words: &["somebody"], instead: SUBJECT },
    BannedPhrase { words: &["anybody"], instead: SUBJECT },
];

const SUBJECT: &str = "name the subject: the agent, the daemon, the command, the user";

/// Every exception.
pub(crate) const EXCEPTIONS: &[PhraseException] = &[
    // The slogan.
    PhraseException {
        path: "README.md",
        words: &["sent", "off"],
        line: "nothing sent off is ever lost",
    },
    // The value of `asks` in a profile, and the user without rights of a Unix system.
    PhraseException { path: "crates", words: &["nobody"], line: "`nobody`" },
    PhraseException { path: "docs", words: &["nobody"], line: "`nobody`" },
    PhraseException { path: "crates/profiles", words: &["nobody"], line: "asks: nobody" },
    PhraseException { path: "crates/profiles", words: &["nobody"], line: "person, nobody" },
    // The lists themselves, and the tests of the rules.
    PhraseException { path: "xtask/src/architecture", words: &[], line: "" },
    PhraseException {
        path: "xtask/src/stage/architecture.rs",
        words: &["nobody"],
        line: "//! For nobody.",
    },
    // Databases that former versions wrote.
    PhraseException { path: "crates/sqlite/tests/fixtures", words: &[], line: "" },
];
