//! What is known of git.

use super::super::among;
use super::options::any_option;

/// Its commands. Any other word may be a name for a command that a repository's
/// configuration gives.
const COMMANDS: &str = "
    add am annotate apply archive blame branch bundle cat-file check-ignore checkout cherry
    cherry-pick clean clone commit config count-objects describe diff fetch format-patch
    fsck gc grep init log ls-files ls-remote ls-tree merge merge-base mv notes pull push
    range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show
    show-ref stash status switch tag update-ref worktree submodule
";

/// Whether git does what its command says. An option before the command may lead
/// it elsewhere, or make it anything.
pub(super) fn is_plain(rest: &[String]) -> bool {
    let Some((command, rest)) = rest.split_first() else { return true };
    if !among(COMMANDS, command) {
        return false;
    }
    let long = [
        "--exec",
        "--upload-pack",
        "--receive-pack",
        "--open-files-in-pager",
        "--config",
        "--output",
    ];
    let short = match command.as_str() {
        "rebase" => "x",
        "grep" => "O",
        "clone" => "cu",
        _ => "",
    };
    let foreach = command == "submodule" && rest.iter().any(|word| word == "foreach");
    // A transport that is a program.
    let transport = rest.iter().any(|word| word.contains("::"));
    !any_option(rest, &long, short) && !foreach && !transport
}
