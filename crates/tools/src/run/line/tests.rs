use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use offshoot_core::permissions::{
    Access, Action, PermissionMode, Permissions, PolicyLayer, Verdict,
};
use proptest::prelude::*;

use super::*;

fn clear(line: &str) -> Vec<Vec<String>> {
    match read(line) {
        LineAnalysis::Clear(commands) | LineAnalysis::Launching { commands, .. } => commands,
        _ => panic!("unclear: {line:?}"),
    }
}

/// Lines that are written with bars between them.
fn each(lines: &'static str) -> impl Iterator<Item = &'static str> {
    lines.split('¦').map(str::trim)
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn simple_commands_are_read_word_for_word() {
    assert_eq!(clear("cargo test --all"), [words("cargo test --all")]);
    assert_eq!(clear("  a\t'b c' \"d\"e ''"), [["a", "b c", "de", ""]]);
    let all = ["a 1", "b 2", "c", "d", "e", "f"].map(words);
    assert_eq!(clear("a 1 && b 2 || c; d | e &\n\nf\n"), all);
    assert_eq!(clear("a &&\n b"), [["a"], ["b"]]);
    assert_eq!(
        clear("git commit -m 'Say what\n\nand why: $x `y`'")[0][3],
        "Say what\n\nand why: $x `y`"
    );
    assert_eq!(clear("ls src/*.rs ./[ab]?"), [["ls", "src/*.rs", "./[ab]?"]]);
    assert_eq!(
        clear("git show HEAD^ a#b x=1 +%s @ a,b"),
        [words("git show HEAD^ a#b x=1 +%s @ a,b")]
    );
    assert_eq!(
        clear("cd crates && python3 x.py < in.txt"),
        [words("cd crates"), words("python3 x.py")]
    );
}

#[test]
fn what_is_written_is_told_as_a_command() {
    for quiet in ["a >/dev/null", "a 2>&1", "a >/dev/null 2>&1 < /dev/null", "a 2>&-", "2>&1 a"] {
        assert_eq!(clear(quiet), [["a"]], "{quiet}");
    }
    assert_eq!(
        clear("a > x 2>> 'y z' | b"),
        [words("a"), words("> x"), ["> ", "y z"].map(|w| w.trim().to_owned()).to_vec(), words("b")]
    );
}

#[test]
fn whatever_a_shell_might_make_something_else_of_is_unclear() {
    for line in each(
        r##"
        # a  ¦ a # b  ¦ && a  ¦ a ;; b  ¦ a & & b  ¦ a | | b  ¦ ; a  ¦ a |& b  ¦ $a  ¦
        a $b  ¦ a ${b}  ¦ $(a)  ¦ a `b`  ¦ a "$b"  ¦ a "`b`"  ¦ a \b  ¦ r\m x  ¦ a "\b"  ¦
        $'a'  ¦ $"a"  ¦ ~/a  ¦ a ~  ¦ a=1 b  ¦ a=1  ¦ 'a=1' b  ¦ A+=1 b  ¦ (a)  ¦ { a; }  ¦
        a {b,c}  ¦ ! a  ¦ [ -f a ]  ¦ [[ a ]]  ¦ if a; then b; fi  ¦
        for i in a; do b; done  ¦ while a  ¦ case a in  ¦ time a  ¦ function a  ¦
        a() { b; }  ¦ coproc a  ¦ select a  ¦ a <<b  ¦ a <<<b  ¦ a <(b)  ¦ a >(b)  ¦ a <>b  ¦
        a >|b  ¦ a &>b  ¦ a >&b  ¦ a 10>b  ¦ a >  ¦ a > *  ¦ a > #b  ¦ a >2>b  ¦ a 2>&1>b  ¦ > a  ¦ a 'b  ¦ a "b  ¦
        a < /dev/tcp/x/1  ¦ é  ¦ a é  ¦ *  ¦ a *  ¦ a *.rs  ¦ git pu*  ¦ a -*/x  ¦ a 'x/'*  ¦
        a '*'*  ¦ /bin/rm x  ¦ ./rm x  ¦ bin/x  ¦ ../x  ¦ .  ¦ . x  ¦ -x  ¦ _x
    "##,
    )
    .chain([
        "",
        "  ",
        "\n",
        "a && ",
        "a\rb",
        "a\u{a0}b",
        "a\u{200b}",
        "a 'x\u{202e}y'",
        "a 'x\u{200b}'",
        "a\0",
        "a\u{1b}[1m",
    ]) {
        assert_eq!(read(line), LineAnalysis::Unclear, "{line:?}");
    }
    assert_eq!(read(&format!("a {}", "b".repeat(LONGEST))), LineAnalysis::Unclear);
}

#[test]
fn programs_that_run_what_they_are_told_are_unclear() {
    for line in each(
        r##"
        sh x  ¦ bash -c 'rm x'  ¦ env rm x  ¦ command rm  ¦ builtin cd  ¦ exec rm  ¦
        eval rm  ¦ source x  ¦ nohup rm  ¦ nice rm  ¦ timeout 1 rm  ¦ xargs rm  ¦
        a | xargs rm  ¦ sudo rm  ¦ ssh h rm  ¦ find . -exec rm  ¦ find . -delete  ¦
        find . -ok rm  ¦ parallel rm  ¦ watch rm  ¦ setsid rm  ¦ busybox rm  ¦ flock x rm  ¦
        alias ls=rm  ¦ export PATH=x  ¦ set -x  ¦ trap x EXIT  ¦ read PATH  ¦ hash -p x ls  ¦
        unset PATH  ¦ python3 -c x  ¦ python3  ¦ python3 -  ¦ python3.11 -c x  ¦
        a | python3  ¦ python3 /dev/stdin  ¦ python3 ../dev/stdin  ¦ python -m pip  ¦ perl -e x  ¦ node -e x  ¦
        awk x  ¦ gawk x  ¦ sqlite3 a b  ¦ npx x  ¦ uvx x  ¦ npm exec x  ¦ npm x y  ¦
        npm pub  ¦ npm --prefix x publish  ¦ uv run x  ¦ poetry run rm  ¦ docker run x  ¦
        bundle exec rm  ¦ git -C x push  ¦ git -c a=b push  ¦ git --git-dir=x push  ¦
        git --no-pager push  ¦ git psuh  ¦ git-push  ¦ git rebase -x rm  ¦
        git rebase --exec=rm  ¦ git rebase --exe rm  ¦ git bisect run rm  ¦
        git submodule foreach rm  ¦ git grep -Orm x  ¦ git clone ext::rm  ¦
        git fetch --upload-pack=rm x  ¦ git diff --output=x  ¦ cargo +x publish  ¦
        cargo -q publish  ¦ cargo t  ¦ cargo --config x publish  ¦ cargo test --config x  ¦
        gh -R x pr merge  ¦ gh pr -R x merge  ¦ go test -exec rm  ¦ go build -toolexec=rm  ¦
        tar -xf x --to-command=rm  ¦ tar --to-com rm  ¦ tar cIf rm x  ¦ tar -I rm -xf x  ¦
        sort --compress-prog=rm  ¦ rg --pre rm x  ¦ fd -x rm  ¦ fd x -Xrm  ¦
        split --filter=rm  ¦ sed 1e  ¦ sed -i s/a/b/ x  ¦ sed s/a/b/e  ¦
        sed -n 's/a/b/w x'  ¦ sed -e 1p  ¦ sed 1p -e 1e  ¦ make -f x  ¦ make SHELL=rm  ¦
        make a b  ¦ test -v x  ¦ printf -v PATH x  ¦ printf 'x%n' PATH  ¦
        printf '%s%%%-5.2ln' x PATH  ¦ vim x  ¦ less x  ¦ man x  ¦
        cmake -E rm x  ¦ pytest -p x  ¦ lksh x  ¦ yash x  ¦ posh x  ¦ sem rm x  ¦
        bear -- rm x  ¦ qemu-x86_64 x  ¦ qemu-arm-static x  ¦ coverage run x.py  ¦ tox  ¦
        nox -f x  ¦ pre-commit run  ¦ gcc @x  ¦ gcc-13 -wrapper rm x.c  ¦ cc -Bx x.c  ¦
        x86_64-linux-gnu-gcc @x  ¦ clang -fuse-ld=./x x.c  ¦ wget -e use_askpass=x u  ¦
        wget -qe x u  ¦ wget --exec=x u
    "##,
    ) {
        assert_eq!(read(line), LineAnalysis::Unclear, "{line:?}");
    }
    for line in each(
        r##"
        make  ¦ make test  ¦ cargo test  ¦ npm test  ¦ npm run build  ¦ pytest -x  ¦
        python3 x.py -c  ¦ git push  ¦ find . -name x  ¦ sed -n 1,10p x  ¦ sed s/a/b/g x  ¦
        tar -xzf x  ¦ docker ps  ¦ gh pr merge  ¦ node --version  ¦ test -f x  ¦
        go test ./x  ¦ cd x  ¦ echo a  ¦ printf '%s\n' a  ¦ printf '%5d %%n' 1  ¦
        rg x src  ¦ cargo --version  ¦ gcc -c x.c -o x.o  ¦
        gcc-13 --version  ¦ coverage report  ¦ wget -q u
    "##,
    ) {
        clear(line);
    }
}

/// The verdict on a line under a policy that denies some commands.
fn judged(line: &str) -> Verdict {
    let rule = |text: &str| text.parse().unwrap();
    let layer = PolicyLayer::mode(PermissionMode::Auto)
        .rule(rule("run_command(rm)"), Verdict::Deny)
        .rule(rule("run_command(git push)"), Verdict::Deny);
    Permissions::of(layer).judge(&Access::new("run_command", Action::Run(read(line))))
}

#[test]
fn a_denied_prefix_is_not_passed_by_spelling() {
    for line in each(
        r##"
        rm x  ¦ "rm" x  ¦ 'rm' x  ¦ r'm' x  ¦ r""m x  ¦ a;rm  ¦ a&&rm x  ¦ a|rm  ¦ a&rm  ¦
        rm>x  ¦ rm 2>&1  ¦ >x rm  ¦ 2>/dev/null rm x  ¦ git 'push'  ¦ git pu"sh" -f  ¦
        cd x && git push  ¦ true || rm x
    "##,
    )
    .chain([" rm", "a\nrm"])
    {
        assert_eq!(judged(line), Verdict::Deny, "{line:?}");
    }
    for line in each(
        r##"
        /bin/rm x  ¦ r\m x  ¦ $(echo rm) x  ¦ env rm x  ¦ command rm x  ¦ busybox rm x  ¦
        x=rm; $x y  ¦ git -C . push  ¦ git -c a.b=c push  ¦ git --no-pager push  ¦
        sh -c 'rm x'  ¦ echo x | xargs rm  ¦ find . -exec rm {} +  ¦ git pu*  ¦
        `echo rm` x  ¦ ECHO=1 rm x  ¦ { rm x; }  ¦ (rm x)  ¦ if true; then rm x; fi  ¦
        ! rm x  ¦ eval rm x  ¦ nohup rm x  ¦ r$@m x  ¦ git p  ¦ time rm x
    "##,
    )
    .chain(["\\rm x", "rm\u{a0}x", "cat <<x\nrm\nx"])
    {
        assert_eq!(judged(line), Verdict::Ask, "{line:?}");
    }
    assert_eq!(judged("cat rm"), Verdict::Allow);
}

/// Lines by which a program outside the table of self-contained ones runs others.
const DETOURS: &str = r##"
    prove -e rm x  ¦ dpkg --pre-invoke=rm -i x.deb  ¦ vim.basic x  ¦ vim.tiny -c rm x  ¦
    cpp -wrapper rm x.c  ¦ pdb3 -c rm x  ¦ pydoc3 -b  ¦ systemd-socket-activate -l 1 rm x  ¦
    perl5.36-x86_64-linux-gnu -e rm  ¦ python3-dbg -c rm  ¦ rvim -c rm  ¦ pico x  ¦
    gdb-multiarch -ex rm  ¦ debconf rm x  ¦ fakeroot-sysv rm x  ¦ ctest -S x  ¦ c89 -wrapper rm  ¦
    gfortran -wrapper rm x.f  ¦ gnatmake -wrapper rm  ¦ update-alternatives --install rm x  ¦
    update-ca-certificates --hooksdir x  ¦ pg_ctl -o rm start  ¦ x-terminal-emulator -e rm  ¦
    sensible-editor x  ¦ editor x  ¦ pager x  ¦ lesspipe x  ¦ bmake -f x  ¦ scons rm  ¦ egrep x y  ¦
    cargo test  ¦ make test  ¦ git status  ¦ npm test  ¦ tar -xf x  ¦ curl --engine x u  ¦ patch x  ¦
    sort --compress-program=rm x  ¦ split --filter=rm x  ¦ find . -exec rm x  ¦ rg --pre rm x  ¦
    rg -z x  ¦ fd x -x rm  ¦ fd -l  ¦ diff -l x y  ¦ diff --pag x y  ¦ file -z x  ¦ tree -RL 1  ¦
    sed 1e x  ¦ cat x | prove  ¦ ls; prove x
"##;

#[test]
fn a_program_that_may_run_others_does_not_run_what_is_denied_unasked() {
    let unasked: Vec<_> = each(DETOURS).filter(|line| judged(line) == Verdict::Allow).collect();
    assert!(unasked.is_empty(), "{} of {}: {unasked:?}", unasked.len(), each(DETOURS).count());
}

#[test]
fn programs_that_run_no_other_one_are_not_asked_about() {
    for line in each(
        r##"
        cat x  ¦ ls -la src  ¦ grep -rn 'rm x' src  ¦ echo git push  ¦ find . -name '*.rs'  ¦
        sort -u x | uniq -c | head -5  ¦ cd src && pwd  ¦ mkdir -p a/b && touch a/b/c  ¦
        sed -n 1,10p x  ¦ test -f x && cat x  ¦ rg -n x src  ¦ diff -u x y  ¦ wc -l < x  ¦
        cp x y; mv y z  ¦ echo x > y  ¦ jq .a x  ¦ tree -L 2  ¦ fd x  ¦ file x  ¦ split -l 9 x
    "##,
    ) {
        assert_eq!(judged(line), Verdict::Allow, "{line}");
    }
}

#[test]
fn a_program_that_writes_a_file_it_is_given_breaks_a_rule_about_redirections() {
    let rule = |text: &str| text.parse().unwrap();
    let layer = PolicyLayer::mode(PermissionMode::Auto).rule(rule("run_command(>)"), Verdict::Deny);
    let wish = |line: &str| {
        let wish = Access::new("run_command", Action::Run(super::wished(line)));
        wish.implying(super::implied(line))
    };
    for line in each(
        r##"
        sort -o g f  ¦ sort -og f  ¦ sort -uo g f  ¦ sort --output=g f  ¦ sort --out g f  ¦
        sort f -o g  ¦ uniq f g  ¦ uniq -c f g  ¦ uniq -f 1 f g  ¦ uniq -f1 f g  ¦ uniq - g  ¦
        uniq -- f g  ¦ uniq ./*  ¦ shuf -o g f  ¦ shuf --output=g f  ¦ tee g  ¦ tee g < f  ¦
        tee -a g  ¦ tee -- -a  ¦ cat f | tee g | wc  ¦ xxd f g  ¦ xxd -r f g  ¦ xxd -r - g  ¦
        xxd -l 16 f g  ¦ split f  ¦ split -l 9 f g  ¦ tree -o g  ¦ dd if=f of=g  ¦ file -C -m f  ¦
        tee g "$x"  ¦ tee g && $x
    "##,
    ) {
        assert_eq!(layer.judge(&wish(line)), Verdict::Deny, "{line}");
        assert_eq!(Permissions::of(layer.clone()).possibly_broken(&wish(line)), None, "{line}");
    }
    for line in each(
        r##"
        sort f  ¦ sort -u f | uniq -c  ¦ sort -k2 -n f  ¦ uniq f  ¦ uniq -c f  ¦ shuf f  ¦ xxd f  ¦
        xxd -l 16 f  ¦ xxd -s 4 -l 16 f  ¦ tree -L 2  ¦ cat f | tee  ¦ ls  ¦ cat f  ¦ grep x f  ¦
        head -5 f  ¦ uniq -f 1 f  ¦ file f  ¦ diff a b  ¦ dd if=f  ¦ base64 f
    "##,
    ) {
        assert_eq!(layer.judge(&wish(line)), Verdict::Allow, "{line}");
    }
    let named =
        PolicyLayer::mode(PermissionMode::Auto).rule(rule("run_command(> .env)"), Verdict::Deny);
    for line in
        each("sort f -o .env ¦ sort -uo.env f ¦ sort --output=.env f ¦ tee .env ¦ dd of=.env")
    {
        assert_eq!(named.judge(&wish(line)), Verdict::Deny, "{line}");
    }
    assert_eq!(named.judge(&wish("tee other")), Verdict::Allow);
    // Other rules see no more than the program.
    let push =
        PolicyLayer::mode(PermissionMode::Auto).rule(rule("run_command(git push)"), Verdict::Deny);
    assert_eq!(push.judge(&wish("ls | tee g")), Verdict::Allow);
    let tee = PolicyLayer::mode(PermissionMode::Ask).rule(rule("run_command(tee)"), Verdict::Allow);
    assert_eq!(tee.judge(&wish("tee g")), Verdict::Allow);
}

#[test]
fn leave_for_ever_is_given_narrowly_or_not_at_all() {
    for (line, rule, paths) in [
        ("cargo test --all", "run_command(cargo test)", "test"),
        ("git status", "run_command(git status)", "status"),
        ("npm run build -- -x", "run_command(npm run build)", "run build"),
        ("ls -la src", "run_command(ls)", "a src"),
        ("rg x 2>/dev/null", "run_command(rg)", "x"),
        ("pytest -x", "run_command(pytest)", ""),
        ("cat ../x", "run_command(cat)", "../x"),
        ("cat < ../x", "run_command(cat)", "../x"),
        ("cat README </dev/null", "run_command(cat)", "README"),
        ("grep --file=/x y", "run_command(grep)", "/x y"),
        ("grep -rf../x y", "run_command(grep)", "f../x ../x ./x /x x y"),
        ("git log ..origin/main", "run_command(git log)", "log ..origin/main"),
        ("git add ../x", "run_command(git add)", "add ../x"),
        ("go test ../x", "run_command(go test)", "test ../x"),
        ("go build -o=../x", "run_command(go build)", "build ../x"),
        ("pytest a.py::b", "run_command(pytest)", "a.py b a.py::b"),
        ("pytest /x", "run_command(pytest)", "/x"),
        ("pytest --x=y=/z", "run_command(pytest)", "y=/z /z"),
        ("git show HEAD:../x", "run_command(git show)", "show HEAD ../x HEAD:../x"),
    ] {
        let GrantScope::Within { rule: found, paths: named } = grant_scope(line) else {
            panic!("{line}");
        };
        assert_eq!((found.to_string().as_str(), named.join(" ").as_str()), (rule, paths), "{line}");
        let read: offshoot_core::permissions::Rule = rule.parse().unwrap();
        assert_eq!(read.to_string(), rule, "it is kept as text");
        let asks = PolicyLayer::mode(PermissionMode::Ask).rule(read, Verdict::Allow);
        let wish = Access::new("run_command", Action::Run(super::read(line)));
        assert_eq!(asks.judge(&wish), Verdict::Allow, "the wish itself fits: {line}");
    }
    for line in each(
        r##"
        cargo test --manifest-path ../x/Cargo.toml  ¦ cargo test --manifest-path=x/Cargo.toml  ¦
        npm test --prefix x  ¦ npm test --pref=x  ¦ npm run build -- -C ../x  ¦ go test -C x  ¦
        pytest --rootdir x  ¦ cat ./*  ¦ cat '~/x'  ¦ grep --file='~/x' y  ¦ grep -R x  ¦ rg -L x  ¦
        ls -LR  ¦ du --deref x  ¦ wc --files0-from=x  ¦ md5sum -c x  ¦ sha256sum --check x  ¦
        git add --pathspec-from-file=x  ¦ pytest @x  ¦ npm run build -- '$HOME/x'  ¦
        cat FILE:///x  ¦ cargo test --x=file:x  ¦ git add ':(top)x'
    "##,
    ) {
        assert!(
            matches!(grant_scope(line), GrantScope::Leads(_)),
            "{line}: {:?}",
            grant_scope(line)
        );
    }
    for line in each(
        r##"
        rm x  ¦ rm -rf target  ¦ python3 x.py  ¦ node x.js  ¦ sh x  ¦ env ls  ¦ npx tsc  ¦
        uvx ruff  ¦ X=1 ls  ¦ ls; ls  ¦ ls > x  ¦ ls | wc  ¦ cargo publish  ¦
        cargo install x  ¦ cargo  ¦ git push  ¦ git reset --hard  ¦ git clean -fd  ¦
        git config a b  ¦ git checkout .  ¦ npm install  ¦ npm run  ¦ npm run '-x'  ¦
        npm run 'a b'  ¦ npm publish  ¦ make  ¦ make test  ¦ curl x  ¦ mv a b  ¦ cp a b  ¦
        cd x  ¦ unknown  ¦ unknown check  ¦ docker ps  ¦ gh pr merge  ¦ ssh h ls  ¦ kill 1  ¦
        tee x  ¦ find . -name x  ¦ sed -n 1p x  ¦ cat $x  ¦ cat ~/x  ¦ rg --pre x y
    "##,
    )
    .chain([""])
    {
        assert_eq!(grant_scope(line), GrantScope::Never, "{line}");
    }
}

/// The programs that a test has.
const PROGRAMS: [&str; 5] = ["a", "b", "rm", "git", "cargo"];

/// What each program writes down of how it was called.
const RECORDER: &str =
    "#!/bin/sh\nexport R=${R:?}\np=${0##*/}\nprintf '%s\\0' \"$p\" \"$@\" >\"$R/$$\"\n";

/// What a shell runs for a line, and which files it leaves.
fn ran(shell: &str, line: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["bin", "calls", "work"] {
        fs::create_dir(at(name)).unwrap();
    }
    for program in PROGRAMS {
        fs::write(at("bin").join(program), RECORDER).unwrap();
        fs::set_permissions(at("bin").join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(shell);
    command.args(["-c", &format!("{line}\nwait")]).current_dir(at("work")).env_clear();
    command.env("PATH", at("bin")).env("R", at("calls")).stdin(Stdio::null());
    command.output().unwrap();
    let names = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let calls = names(&at("calls")).into_iter().map(|call| {
        let written = fs::read_to_string(call).unwrap();
        let words = written.strip_suffix('\0').unwrap().split('\0');
        words.map(str::to_owned).collect()
    });
    let files = names(&at("work")).into_iter();
    let files = files.map(|file| file.file_name().unwrap().to_str().unwrap().to_owned());
    (calls.collect(), files.collect())
}

/// Each of these taken out of those; whether all were there.
fn take(those: &mut Vec<Vec<String>>, these: &[Vec<String>]) -> bool {
    these.iter().all(|one| {
        let at = those.iter().position(|other| other == one);
        at.map(|at| those.swap_remove(at)).is_some()
    })
}

fn lines() -> impl Strategy<Value = String> {
    let one_of = |parts: &'static str| {
        let parts: Vec<_> = parts.split_whitespace().map(str::to_owned).collect();
        prop::sample::select(parts)
    };
    let part = prop_oneof![
        8 => prop::sample::select(&PROGRAMS[..]).prop_map(str::to_owned),
        4 => Just(" ".to_owned()),
        3 => one_of("&& || ; | & >x 2>y >>z 2>&1 >&2 < > & >/dev/null"),
        1 => one_of(">| &> |& <<x <<<x <> 10> 1>x >&- ;; && || <&0 >&x"),
        1 => Just("\n".to_owned()),
        3 => one_of("push -x 1 2 / x=1 d/* a,b # ^ % @ : + - -- . // a#b é"),
        3 => one_of("' \" '' 'a' \"c;d\" '$x' '\\' \"é\" \"\" 'b\"' $'a'"),
        2 => Just("'a b\n'".to_owned()),
        1 => one_of("$ ` \\ { } ~ ! ( ) * = [ ] if then fi time do {a,b} $a ${a} \u{a0}"),
        1 => prop::sample::select(vec!["\t", "\r", "\\\n"]).prop_map(str::to_owned),
    ];
    let spaced =
        (part, prop::bool::ANY).prop_map(|(part, space)| if space { part + " " } else { part });
    prop::collection::vec(spaced, 1..10).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_shell_runs_exactly_the_commands_of_a_clear_line(line in lines()) {
        let told = read(&line).commands().to_vec();
        // What a pattern becomes depends on the files that are there.
        let is_pattern = |word: &String| word.contains(['*', '[', ']']) && !word.starts_with("d/");
        if told.is_empty() || told.iter().flatten().any(is_pattern) {
            return Ok(());
        }
        let is_file = |command: &Vec<String>| command[0] == WRITES;
        let (files, commands): (Vec<_>, Vec<_>) = told.into_iter().partition(is_file);
        let shells = ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists());
        for shell in shells {
            let (calls, left) = ran(shell, &line);
            let mut rest = commands.clone();
            prop_assert!(take(&mut rest, &calls), "{shell} ran {calls:?} for {line:?}");
            let all_known = rest.iter().all(|command| PROGRAMS.contains(&&*command[0]));
            let reads = line.contains('<') || line.contains('/');
            // A command does not start on a stream that is a copy of a closed one.
            let closes = line.contains("&-");
            if all_known && !reads && !closes && !line.contains("||") {
                prop_assert!(rest.is_empty(), "{shell} did not run {rest:?} of {line:?}");
            }
            for file in left {
                prop_assert!(files.iter().any(|told| told[1].trim_start_matches("./") == file), "{file} by {line:?}");
            }
        }
    }

    #[test]
    fn a_denied_command_never_runs_unasked_by_an_unlisted_program(
        program in "[a-z][a-z0-9._+-]{0,12}",
        before in "(-[a-zA-Z]+ |--[a-z]+=|'[a-z ]{0,6}' |[a-z/.]{1,8} ){0,3}",
        denied in prop::sample::select(vec!["rm x", "'rm x'", "rm", "git push", "'git push'"]),
        after in "( && ls| x y| \\| cat)?",
    ) {
        let is_listed = self_contained::is_self_contained(std::slice::from_ref(&program));
        prop_assume!(!is_listed);
        let line = format!("{program} {before}{denied}{after}");
        prop_assert_ne!(judged(&line), Verdict::Allow, "{:?}", line);
    }

    #[test]
    fn any_text_is_read(line in "\\PC{0,60}|[ -~\n]{0,60}") {
        read(&line);
        grant_scope(&line);
    }
}

#[test]
fn of_a_line_that_is_not_clear_it_is_told_what_it_certainly_runs() {
    let partly = |line: &str| match super::wished(line) {
        LineAnalysis::Partly(commands) => {
            commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>()
        }
        other => panic!("{line:?}: {other:?}"),
    };
    for (line, known) in [
        ("sudo reboot", &["sudo reboot"][..]),
        ("git push $(echo origin)", &["git push"]),
        ("git push \"$x\" && ls", &["git push"]),
        ("ls; git push > out; x=1 rm y", &["ls", "git push", "> out"]),
        ("cargo test | xargs rm", &["cargo test", "xargs rm"]),
        ("git pu\\sh", &["git"]),
        ("git push\"$x\"", &["git"]),
    ] {
        assert_eq!(partly(line), known, "{line}");
        assert_eq!(read(line), LineAnalysis::Unclear, "{line}");
    }
    for line in
        ["$(git push)", "x=1 git push", "if git push; then ls; fi", "(git push)", "# git push"]
    {
        assert_eq!(super::wished(line), LineAnalysis::Unclear, "{line}");
    }
    assert_eq!(super::wished("git push"), read("git push"));
}
