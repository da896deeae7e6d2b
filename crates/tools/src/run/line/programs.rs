//! Programs that run other programs, so that their names do not tell what runs.
//!
//! Programs that run the project's own code (`make`, `cargo test`, a script by
//! its name) are plain: a rule that allows them allows that code.
//!
//! These lists keep an allow rule from covering more than it names. Deny rules use the
//! table in `self_contained` instead, so these lists may be incomplete for them.

mod git;
mod options;

use super::{among, self_contained};
pub(super) use options::any_option;

/// Whether a command runs the program of its name, and no other one from its arguments.
pub(super) fn is_plain(command: &[String]) -> bool {
    let Some((name, rest)) = command.split_first() else { return false };
    let name = name.as_str();
    if [RUNNERS, BUILTINS, EDITORS, CODE].iter().any(|names| among(names, name)) {
        return false;
    }
    if ["git-", "ld-", "ld.", "qemu-"].iter().any(|begins| name.starts_with(begins)) {
        return false;
    }
    if is_compiler(name) {
        return is_plain_compiler(rest);
    }
    if is_interpreter(name) {
        return asks_version(rest) || rest.first().is_some_and(|script| is_script(script));
    }
    if let Some(tool) = tool(name) {
        return asks_version(rest) || tool.is_plain(rest);
    }
    match name {
        "git" => asks_version(rest) || git::is_plain(rest),
        "sed" => is_plain_sed(rest),
        "tar" | "bsdtar" | "gtar" => is_plain_tar(rest),
        // Its arguments are variables, options and targets in any order.
        "make" | "gmake" | "ninja" | "just" => match rest {
            [] => true,
            [target] => !target.starts_with('-') && !target.contains('='),
            _ => false,
        },
        "test" => !rest.iter().any(|word| matches!(word.as_str(), "-v" | "-R")),
        "printf" => rest.first().is_none_or(|word| !word.starts_with('-') && !counts(word)),
        _ => {
            let mut of_program = RUNS_BY_OPTION.iter().filter(|(program, ..)| *program == name);
            !of_program.any(|(_, long, short)| any_option(rest, long, short))
                && !self_contained::runs_by_option(name, rest)
        }
    }
}

/// Whether a program runs a script of its arguments.
fn is_interpreter(name: &str) -> bool {
    // As in `python3.11`.
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    among(INTERPRETERS, name) || among(INTERPRETERS, bare)
}

/// Whether a program compiles C, also for another machine or of a certain version.
fn is_compiler(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    among("gcc g++ cc c++ clang clang++", bare.rsplit('-').next().unwrap_or(bare))
}

/// Whether a compiler runs no other program and reads no more options from a file.
fn is_plain_compiler(rest: &[String]) -> bool {
    let long = [
        "-wrapper",
        "-fplugin",
        "-fpass-plugin",
        "-load",
        "-specs",
        "--specs",
        "-fuse-ld",
        "--ld-path",
        "--config",
    ];
    !any_option(rest, &long, "")
        && !rest.iter().any(|word| word.starts_with('@') || word.starts_with("-B"))
}

/// Whether a word names a script in a file, not an open stream.
fn is_script(word: &str) -> bool {
    let kept = |part: &str| !matches!(part, ".." | "dev" | "proc");
    !word.is_empty() && !word.starts_with('-') && word.split('/').all(kept)
}

fn asks_version(rest: &[String]) -> bool {
    matches!(rest, [only] if matches!(only.as_str(), "--version" | "--help" | "-V"))
}

/// A program with subcommands, which its first words select.
struct Tool {
    name: &'static str,
    /// The number of words that select one.
    depth: usize,
    /// Its subcommands, if it also accepts abbreviations or subcommands of other programs.
    commands: &'static str,
    /// The subcommands that run a program of their arguments.
    runs: &'static str,
}

/// Finds a program with subcommands.
fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    /// Whether a subcommand runs no program of its arguments.
    ///
    /// An option before the subcommand is refused: it could stand for the subcommand, or take it
    /// as its value.
    fn is_plain(&self, rest: &[String]) -> bool {
        let Some(command) = rest.first() else { return self.commands.is_empty() };
        let plain = |word: &String| !word.starts_with(['-', '+']);
        rest.iter().take(self.depth).all(plain)
            && (self.commands.is_empty() || among(self.commands, command))
            && !among(self.runs, command)
            && !any_option(rest, RUN_BY, "")
    }
}

/// Options with which such programs run a program of their arguments.
const RUN_BY: &[&str] = &[
    "--config",
    "--script-shell",
    "--exec",
    "-exec",
    "--toolexec",
    "-toolexec",
    "--vettool",
    "-vettool",
];

const fn tool_of(name: &'static str, depth: usize, runs: &'static str) -> Tool {
    Tool { name, depth, commands: "", runs }
}

/// The subcommands of npm, which accepts abbreviations.
const NPM: &str = "
    test run run-script start stop restart install ci uninstall update publish unpublish
    audit outdated view ls pack version prune init
";

/// The subcommands of cargo. Its configuration can define others.
const CARGO: &str = "
    build check test bench clippy fmt doc run clean tree metadata update fetch add remove
    install uninstall publish package search login logout owner yank new init fix vendor
    nextest
";

const TOOLS: &[Tool] = &[
    Tool { name: "npm", depth: 1, commands: NPM, runs: "" },
    Tool { name: "pnpm", depth: 1, commands: NPM, runs: "" },
    Tool { name: "yarn", depth: 1, commands: NPM, runs: "" },
    Tool { name: "cargo", depth: 1, commands: CARGO, runs: "" },
    tool_of("bun", 1, "x exec repl"),
    tool_of("deno", 1, "eval repl run x task"),
    tool_of("go", 1, "tool env"),
    tool_of("rustup", 1, "run"),
    tool_of("docker", 2, "run exec compose container buildx"),
    tool_of("podman", 2, "run exec compose container unshare"),
    tool_of("kubectl", 1, "exec run debug"),
    tool_of("helm", 1, "plugin"),
    tool_of("gh", 2, "alias extension"),
    tool_of("glab", 2, "alias"),
    tool_of("pip", 1, ""),
    tool_of("pip3", 1, ""),
    tool_of("uv", 1, "run tool x"),
    tool_of("poetry", 1, "run shell"),
    tool_of("pipenv", 1, "run shell"),
    tool_of("conda", 1, "run"),
    tool_of("coverage", 1, "run"),
    tool_of("hatch", 1, "run shell test env"),
    tool_of("pdm", 1, "run"),
    tool_of("rye", 1, "run"),
    tool_of("pixi", 1, "run exec shell"),
    tool_of("gem", 1, "exec"),
    tool_of("bundle", 1, "exec"),
    tool_of("composer", 1, "exec run-script"),
    tool_of("dotnet", 1, "exec tool"),
    tool_of("brew", 1, "sh ruby"),
    tool_of("apt", 1, ""),
    tool_of("apt-get", 1, ""),
    tool_of("dnf", 1, "shell"),
    tool_of("yum", 1, "shell"),
    tool_of("apk", 1, ""),
    tool_of("nix", 1, "run shell develop"),
    tool_of("systemctl", 1, "edit"),
    tool_of("aws", 2, ""),
    tool_of("gcloud", 2, ""),
    tool_of("az", 2, ""),
    tool_of("terraform", 1, "console"),
    tool_of("ip", 2, "netns vrf"),
    tool_of("opam", 1, "exec"),
    tool_of("stack", 1, "exec runghc ghci"),
    tool_of("cabal", 1, "exec"),
    tool_of("jj", 1, "util"),
];

/// Builtins of a shell that change what follows.
const BUILTINS: &str = "
    alias bg bind break builtin caller command complete compgen continue declare dirs disown
    enable eval exec export fc fg getopts hash history let local logout mapfile popd pushd
    read readarray readonly return set shift shopt source suspend trap typeset ulimit
    unalias unset
";

/// Programs that run a program of their arguments.
const RUNNERS: &str = "
    sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh nu xonsh elvish env nohup nice
    ionice chrt taskset timeout time setsid stdbuf unbuffer script scriptreplay strace
    ltrace perf valgrind gdb lldb rr watch entr watchexec parallel xargs sudo doas su pkexec
    runuser sg newgrp ssh scp sftp rsync mosh busybox toybox chroot unshare nsenter setpriv
    capsh firejail bwrap proot fakeroot flock prlimit choom numactl cgexec systemd-run
    hyperfine direnv dotenv mise asdf rbenv pyenv nvm npx uvx bunx pnpx pipx rlwrap
    dbus-run-session dbus-launch xvfb-run ccache sccache distcc at batch crontab screen tmux
    expect socat nc ncat netcat m4 dc run-parts start-stop-daemon setarch linux32 linux64
    catchsegv eatmydata torsocks proxychains chpst softlimit envdir nix-shell gosu su-exec
    runcon sandbox-exec arch caffeinate cpulimit faketime tini dumb-init wine
    systemd-inhibit xcrun gtimeout gnice genv gnohup gstdbuf gxargs gfind gsed gsort gsplit
    gchroot chronic ifne pee zrun retry timelimit daemonize daemon nsjail op aws-vault
    doppler chamber sops honcho foreman dotenvx envchain ssh-agent gpg-agent xinit startx
    xterm mpirun srun torify i386 x86_64 uname26 hub logsave lksh oksh pdksh yash posh osh
    ysh sem bear scan-build intercept-build compiledb tox nox pre-commit heaptrack samply
    uftrace proxychains4
";

/// Programs that take commands at a prompt, and others for what they edit.
const EDITORS: &str = "
    vi vim nvim view ex ed emacs emacsclient nano less more man ftp telnet hg mail vimdiff
    gvim lftp
";

/// Programs that run a script they are given.
const INTERPRETERS: &str = "
    python pypy node nodejs perl ruby php lua luajit tclsh Rscript julia groovy guile racket
    ts-node tsx elixir
";

/// Programs whose arguments are code.
const CODE: &str = "
    awk gawk mawk nawk ipython irb R ghci runghc scala jshell sbcl clisp osascript sqlite3
    psql mysql mariadb mongo mongosh redis-cli erl wish gnuplot octave maxima gp sage matlab
";

/// Options by which programs run what they are told: long ones, short ones. Those of
/// programs that run nothing else are in `self_contained`.
const RUNS_BY_OPTION: &[(&str, &[&str], &str)] = &[
    ("cmake", &["-E", "-P"], ""),
    ("zip", &["--unzip-command"], "T"),
    ("rpm", &["--eval", "--pipe"], "E"),
    ("ag", &["--pager"], ""),
    ("wget", &["--use-askpass", "--execute", "--config"], "e"),
    ("pytest", &["--pdbcls"], "pc"),
];

/// Whether a format of `printf` has `%n`, with which bash sets a variable, also `PATH`.
fn counts(format: &str) -> bool {
    let mut rest = format.replace("%%", "");
    while let Some((_, behind)) = rest.split_once('%') {
        let behind =
            behind.trim_start_matches(|c: char| !c.is_alphabetic() || "hjlztL".contains(c));
        if behind.starts_with('n') {
            return true;
        }
        rest = behind.to_owned();
    }
    false
}

/// Some of sed's commands run others or write files, so only those scripts are
/// plain that are seen to hold none of them.
fn is_plain_sed(rest: &[String]) -> bool {
    let mut words = rest.iter().skip_while(|word| matches!(word.as_str(), "-n" | "-E" | "-r"));
    let Some(script) = words.next() else { return false };
    let plain = |rest: &str| rest.bytes().all(|byte| matches!(byte, b'g' | b'p' | b'0'..=b'9'));
    let is_plain = match script.strip_prefix("s/") {
        Some(parts) => match parts.split('/').collect::<Vec<_>>()[..] {
            [from, to, flags] => !from.contains('\n') && !to.contains('\n') && plain(flags),
            _ => false,
        },
        None => {
            let command =
                script.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '$');
            matches!(command, "p" | "d" | "q" | "=")
        }
    };
    // An option behind it may bring another script.
    is_plain && words.all(|word| !word.starts_with('-'))
}

fn is_plain_tar(rest: &[String]) -> bool {
    let long = [
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "--rsh-command",
        "--info-script",
        "--new-volume-script",
        "--rmt-command",
    ];
    // The first word may hold options without a dash.
    let letters = rest.first().is_some_and(|word| word.contains(['I', 'F']));
    !letters && !any_option(rest, &long, "IF")
}
