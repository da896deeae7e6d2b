//! The commands that a standing grant can cover.

use offshoot_core::permissions::Rule;
use offshoot_core::text;

use super::programs::any_option;
use super::{Parts, among};

/// Options by which programs go to another directory, beside `-C`.
const FOLDERS: &[&str] =
    &["--manifest-path", "--prefix", "--cwd", "--dir", "--directory", "--rootdir", "--project"];

/// Programs that look at files and change nothing, whatever they are told.
const LOOKERS: &str = "
    ls cat head tail wc grep rg pwd echo which stat du df cut tr cmp nl basename dirname
    realpath readlink md5sum sha256sum uname whoami true false
";

/// Programs that check the project's code, or run its tests.
const CHECKERS: &str = "
    pytest ruff tsc shellcheck rustfmt
";

/// What programs of many commands do within the project.
const WITHIN: [(&str, &str); 6] = [
    ("git", "status diff log show blame add commit ls-files rev-parse"),
    ("cargo", "build check test bench clippy fmt doc tree metadata nextest"),
    ("npm", "test"),
    ("pnpm", "test"),
    ("yarn", "test"),
    ("go", "build test vet fmt list"),
];

/// Options by which programs that look at files go beyond the paths that they name:
/// over links in directories below, or to files that another file lists.
const BEYOND: [(&str, &[&str], &str); 8] = [
    ("ls", &["--dereference"], "L"),
    ("du", &["--dereference", "--files0-from"], "L"),
    ("wc", &["--files0-from"], ""),
    ("grep", &["--dereference-recursive"], "RS"),
    ("rg", &["--follow"], "L"),
    ("md5sum", &["--check"], "c"),
    ("sha256sum", &["--check"], "c"),
    ("git", &["--pathspec-from-file"], ""),
];

/// The longest word with joined options in which paths are looked for.
const LONGEST_OPTION: usize = 256;

/// How many characters of a word are shown.
const SHOWN: usize = 200;

/// Whether an approval of a command line can become a standing grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// No: the line is not a single command that is known to stay within the project
    /// whatever else it is told. A grant that covers too much is worse than another
    /// question.
    Never,
    /// No: a grant covers other lines of this kind, but this clause says what may lead
    /// this one outside its directory.
    Leads(String),
    /// Yes, if none of the paths leads outside the directory.
    Within {
        /// What the grant covers: lines that begin so, with paths inside the directory.
        rule: Rule,
        /// The paths that the line names or may name, as seen from where it runs.
        paths: Vec<String>,
    },
}

/// Whether an approval of this line can become a standing grant, judged by its text.
///
/// ```
/// use offshoot_tools::{GrantScope, grant_scope};
///
/// let GrantScope::Within { rule, paths } = grant_scope("cargo test --all") else { panic!() };
/// assert_eq!(rule.to_string(), "run_command(cargo test)");
/// let GrantScope::Within { paths, .. } = grant_scope("cat < /etc/passwd") else { panic!() };
/// assert_eq!(paths, ["/etc/passwd"]);
/// assert!(matches!(grant_scope("cargo test --manifest-path ../x/Cargo.toml"), GrantScope::Leads(_)));
/// assert_eq!(grant_scope("rm -r target"), GrantScope::Never);
/// assert_eq!(grant_scope("python3 x.py"), GrantScope::Never);
/// ```
pub fn grant_scope(line: &str) -> GrantScope {
    let mut parts = Parts::default();
    let is_clear = parts.parse(line).is_some();
    let Parts { commands, reads, patterns, .. } = parts;
    let [command] = &commands[..] else { return GrantScope::Never };
    let Some(rule) = rule(command).filter(|_| is_clear) else { return GrantScope::Never };
    if let Some(pattern) = patterns.first() {
        return leads(pattern, "may stand for a link");
    }
    match paths(command) {
        Ok(mut paths) => {
            paths.extend(reads);
            match paths.iter().find(|path| path.starts_with('~')) {
                Some(home) => leads(home, "may name a home directory"),
                None => GrantScope::Within { rule, paths },
            }
        }
        Err((word, why)) => leads(word, why),
    }
}

/// A word leads outside, because of this. It is quoted, so that it can pose as nothing
/// else, and shown as far as a person reads on.
fn leads(word: &str, why: &str) -> GrantScope {
    GrantScope::Leads(format!("{:?} {why}", text::cut(word, SHOWN)))
}

/// What a grant for a command would cover: all commands that begin so.
fn rule(command: &[String]) -> Option<Rule> {
    let (name, rest) = command.split_first()?;
    let begins = if among(LOOKERS, name) || among(CHECKERS, name) {
        1
    } else {
        let of = WITHIN.iter().find(|(tool, _)| tool == name);
        match (name.as_str(), rest) {
            (_, [first, ..]) if of.is_some_and(|(_, commands)| among(commands, first)) => 2,
            // A script by its name is the project's own.
            ("npm" | "pnpm" | "yarn", [run, script, ..]) if run == "run" && is_script(script) => 3,
            _ => return None,
        }
    };
    Some(Rule { tool: crate::run::NAME.into(), command: Some(command[..begins].into()) })
}

/// The paths that a command names or may name, or what else may lead it outside its
/// directory.
fn paths(command: &[String]) -> Result<Vec<String>, (&str, &'static str)> {
    let [name, rest @ ..] = command else { return Ok(Vec::new()) };
    let looks = among(LOOKERS, name);
    let beyond = BEYOND.iter().filter(|(program, ..)| program == name);
    let mut paths = Vec::new();
    for word in rest {
        let leads = |why| Err((word.as_str(), why));
        let one = std::slice::from_ref(word);
        if beyond.clone().any(|(_, long, short)| any_option(one, long, short)) {
            return leads("goes beyond the paths that the line names");
        }
        // The code of another directory is not what the grant is for.
        if !looks && name != "git" && any_option(one, FOLDERS, "C") {
            return leads("starts it in another directory");
        }
        if word.to_ascii_lowercase().contains("file:") {
            return leads("may name a file anywhere");
        }
        if !looks && name != "git" && (word.starts_with('@') || word.contains(['$', '`'])) {
            return leads("may stand for other arguments");
        }
        if name == "git" && word.starts_with(":(") {
            return leads("may name any file of the repository");
        }
        if word.starts_with('-') && word.len() > LONGEST_OPTION {
            return leads("is too long to be looked through for paths");
        }
        // Where a list can be an argument, each part of it is one.
        let separators: &[char] = if looks { &[] } else { &[':', ','] };
        for path in candidates(word) {
            paths.extend(path.split(separators).chain([path]).map(str::to_owned));
        }
    }
    paths.retain(|path| !path.is_empty());
    paths.dedup();
    Ok(paths)
}

/// Whatever in a word can be a path: the word itself, the value of an option, and the
/// value that is joined to letters, as in `-rf../x`.
fn candidates(word: &str) -> Vec<&str> {
    let values = word.match_indices('=').map(|(at, _)| &word[at + 1..]);
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    match name.strip_prefix('-') {
        None => std::iter::once(word).chain(values).collect(),
        Some(long) if long.starts_with('-') => values.collect(),
        Some(letters) => {
            let joined = letters.char_indices().skip(1).map(|(at, _)| &letters[at..]);
            joined.chain(values).collect()
        }
    }
}

/// Whether a word can be the name of a script, and stand in a rule.
fn is_script(word: &str) -> bool {
    let of_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.');
    word.bytes().all(of_name) && word.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}
