//! Programs that run no other program.
//!
//! A program outside this table may run a denied command by an option, a file, its
//! environment or its configuration. The table names the programs whose manuals show no
//! such way. A missing program costs an approval at worst.
//!
//! Reasons to leave a program out:
//! - it starts programs by itself: `git` (hooks, pagers, filters), `cargo`, `make`,
//!   `tar` (compressors, remote shells), `patch` (`ed`), `ps`, `iconv`, `install`;
//! - it is a script that calls another program: `egrep`, `zcat`, `gunzip`;
//! - it has a language or a prompt that can: `awk`, `less`, `bc`, `yq`;
//! - it loads code from its arguments: `curl --engine`, `strings` and its plugins.

use super::among;
use super::programs::any_option;

/// Programs that run no other one with any arguments.
///
/// `sed`, `test` and `printf` are here because a command that is not plain never gets
/// this far: `programs` refuses scripts and options of theirs that it cannot read.
const ALWAYS: &str = "
    cat tac head tail wc nl od hexdump xxd rev cut tr paste join comm uniq fold fmt expand
    unexpand column shuf tsort cmp grep jq sed base64 base32 cksum md5sum sha1sum sha224sum
    sha256sum sha384sum sha512sum b2sum
    ls stat du df pwd cd basename dirname realpath readlink which type
    mkdir rmdir cp mv rm ln unlink touch chmod truncate mktemp tee dd
    echo printf seq expr factor numfmt date sleep true false : exit test
    uname whoami id groups hostname nproc uptime free tty printenv kill pgrep pkill
";

/// Options by which a program runs another one: long ones, short ones.
struct Exception(&'static str, &'static [&'static str], &'static str);

const UNLESS: &[Exception] = &[
    // `-exec`, `-execdir`, `-ok` and `-okdir` run commands; the others remove and write files like commands
    // of their own, which a rule about `rm` or `>` means, too.
    Exception(
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fprint0",
            "-fls",
        ],
        "",
    ),
    // A command runs on each result; `-l` hands it to `ls`.
    Exception("fd", FD, FD_SHORT),
    Exception("fdfind", FD, FD_SHORT),
    // A preprocessor, a program that prints the host name, decompressors.
    Exception("rg", &["--pre", "--hostname-bin", "--search-zip"], "z"),
    // Temporary files go through this program.
    Exception("sort", &["--compress-program"], ""),
    // Each part goes through this command.
    Exception("split", &["--filter"], ""),
    // The output goes through `pr`.
    Exception("diff", &["--paginate"], "l"),
    // Compressed files go through decompressors.
    Exception("file", &["--uncompress", "--uncompress-noreport"], "zZ"),
    // It runs itself over a shell for directories further down.
    Exception("tree", &[], "R"),
];

const FD: &[&str] = &["--exec", "--exec-batch", "--list-details"];
const FD_SHORT: &str = "xXl";

/// Whether a plain command runs no other program.
pub(super) fn is_self_contained(command: &[String]) -> bool {
    let Some((name, rest)) = command.split_first() else { return false };
    let is_listed = UNLESS.iter().any(|Exception(program, ..)| program == name);
    among(ALWAYS, name) || (is_listed && !runs_by_option(name, rest))
}

/// Whether an option of a listed program has it run another one.
pub(super) fn runs_by_option(name: &str, rest: &[String]) -> bool {
    let mut of_program = UNLESS.iter().filter(|Exception(program, ..)| *program == name);
    of_program.any(|Exception(_, long, short)| any_option(rest, long, short))
}
