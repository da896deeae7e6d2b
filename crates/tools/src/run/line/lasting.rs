//! For which commands leave can be given for ever.

use offshoot_core::authority::{Line, Rule};

use super::among;
use super::known::any_option;

/// Options by which programs go to another folder, beside `-C`.
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

/// What leave for ever would be given for with this line: all lines that begin
/// so. Nothing, unless it is a single command that is known to stay within the
/// project whatever else it is told: a rule that allows too much is worse than
/// to be asked again.
///
/// ```
/// let lasting = |line| offshoot_tools::lasting(line).map(|rule| rule.to_string());
/// assert_eq!(lasting("cargo test --all"), Some("run_command(cargo test)".to_owned()));
/// assert_eq!(lasting("cargo test --manifest-path ../other/Cargo.toml"), None);
/// assert_eq!(lasting("rm -r target"), None);
/// assert_eq!(lasting("python3 x.py"), None);
/// ```
pub fn lasting(line: &str) -> Option<Rule> {
    let Line::Clear(commands) = super::read(line) else { return None };
    let [command] = &commands[..] else { return None };
    let (name, rest) = command.split_first()?;
    let one = |words: &[&String]| {
        let command = words.iter().map(|word| (*word).clone()).collect();
        Some(Rule { tool: crate::run::NAME.into(), command: Some(command) })
    };
    if among(LOOKERS, name) {
        return one(&[name]);
    }
    // The code of another folder is not what leave was given for.
    if rest.iter().any(|word| leads_out(word)) || (name != "git" && any_option(rest, FOLDERS, "C"))
    {
        return None;
    }
    if among(CHECKERS, name) {
        return one(&[name]);
    }
    let of = WITHIN.iter().find(|(tool, _)| tool == name);
    let first = rest.first()?;
    if of.is_some_and(|(_, commands)| among(commands, first)) {
        return one(&[name, first]);
    }
    // A script by its name is the project's own.
    match (name.as_str(), rest) {
        ("npm" | "pnpm" | "yarn", [run, script, ..]) if run == "run" && is_script(script) => {
            one(&[name, run, script])
        }
        _ => None,
    }
}

/// Whether a word, or what an option in it is given, is a path that does not stay
/// below the folder in which a command runs.
fn leads_out(word: &str) -> bool {
    let given = word.split_once('=').map(|(_, given)| given);
    let joined = word.strip_prefix('-').and_then(|rest| rest.get(1..));
    [Some(word), given, joined]
        .into_iter()
        .flatten()
        .any(|path| path.starts_with(['/', '~']) || path.split('/').any(|part| part == ".."))
}

/// Whether a word can be the name of a script, and stand in a rule.
fn is_script(word: &str) -> bool {
    let of_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.');
    word.bytes().all(of_name) && word.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}
