//! The commands that a standing grant can cover.

use offshoot_core::permissions::Rule;
use offshoot_core::text;

use super::programs::any_option;
use super::{Parts, among};

/// Options that start a program in another directory, besides `-C`.
const DIRECTORY_OPTIONS: &[&str] =
    &["--manifest-path", "--prefix", "--cwd", "--dir", "--directory", "--rootdir", "--project"];

/// Programs that read files and change nothing, whatever their arguments are.
const LOOKERS: &str = "
    ls cat head tail wc grep rg pwd echo which stat du df cut tr cmp nl basename dirname
    realpath readlink md5sum sha256sum uname whoami true false
";

/// Programs that check the project's code, or run its tests.
const CHECKERS: &str = "
    pytest ruff tsc shellcheck rustfmt
";

/// Subcommands of programs that stay within the project.
const WITHIN: [(&str, &str); 6] = [
    ("git", "status diff log show blame add commit ls-files rev-parse"),
    ("cargo", "build check test bench clippy fmt doc tree metadata nextest"),
    ("npm", "test"),
    ("pnpm", "test"),
    ("yarn", "test"),
    ("go", "build test vet fmt list"),
];

/// Options that lead a program beyond the paths of its arguments: over links in
/// directories below, or to files that another file lists.
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

/// The longest word with joined options that is searched for paths.
const LONGEST_OPTION: usize = 256;

/// The number of characters that are shown of a word.
const SHOWN: usize = 200;

/// Whether an approval of a command line can become a standing grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// No: the line is not a single command that is known to stay within the project with
    /// any other arguments. A grant that covers too much is worse than another request.
    Never,
    /// No: a grant covers other lines of this kind, but a word of this line may lead outside
    /// its directory. The clause names the word and the reason.
    Leads(String),
    /// Yes, if none of the paths leads outside the directory.
    Within {
        /// The rule of the grant: lines that begin so, with paths inside the directory.
        rule: Rule,
        /// The paths that the line names or may name, relative to where it runs.
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

/// Reports a word that may lead outside. The word is quoted and shortened.
fn leads(word: &str, why: &str) -> GrantScope {
    GrantScope::Leads(format!("{:?} {why}", text::cut(word, SHOWN)))
}

/// Returns the rule of a grant for a command: all commands that begin so.
fn rule(command: &[String]) -> Option<Rule> {
    let (name, rest) = command.split_first()?;
    let begins = if among(LOOKERS, name) || among(CHECKERS, name) {
        1
    } else {
        let of = WITHIN.iter().find(|(tool, _)| tool == name);
        match (name.as_str(), rest) {
            (_, [first, ..]) if of.is_some_and(|(_, commands)| among(commands, first)) => 2,
            // A script that is named belongs to the project.
            ("npm" | "pnpm" | "yarn", [run, script, ..]) if run == "run" && is_script(script) => 3,
            _ => return None,
        }
    };
    Some(Rule { tool: crate::run::NAME.into(), command: Some(command[..begins].into()) })
}

/// Returns the paths that a command names or may name.
///
/// Fails with the word that may otherwise lead the command outside its directory, and the
/// reason.
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
        // The grant covers only the code of its own directory.
        if !looks && name != "git" && any_option(one, DIRECTORY_OPTIONS, "C") {
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
        // An argument can be a list of paths.
        let separators: &[char] = if looks { &[] } else { &[':', ','] };
        for path in candidates(word) {
            paths.extend(path.split(separators).chain([path]).map(str::to_owned));
        }
    }
    paths.retain(|path| !path.is_empty());
    paths.dedup();
    Ok(paths)
}

/// Returns the parts of a word that can be a path: the word itself, the value of an
/// option, and the value that is joined to letters, as in `-rf../x`.
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

/// Whether a word can be the name of a script in a rule.
fn is_script(word: &str) -> bool {
    let of_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.');
    word.bytes().all(of_name) && word.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}
