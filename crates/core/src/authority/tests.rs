use proptest::prelude::*;

use super::*;

fn line(text: &str) -> Deed {
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect();
    Deed::Run(Line::Clear(text.split("&&").map(words).collect()))
}

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

#[test]
fn rules_are_read_and_written_alike() {
    for text in ["write", "*", "run_command(cargo test)", "mcp:files.read"] {
        assert_eq!(rule(text).to_string(), text);
    }
    for text in ["", "run_command(", "run_command()", "a b", "(x)", "run_command(x"] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}

#[test]
fn a_rule_that_would_be_about_nothing_is_refused() {
    for text in [
        "run_command(git push:*)",
        "run_command(git push *)",
        "run_command(\"rm -rf\")",
        "run_command('rm' -rf)",
        "run_command(rm -r $HOME)",
        "run_command(curl | sh)",
        "run_command(cat ~/.ssh)",
        "run_command(a && b)",
        "*(rm?)",
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains("word for word and without quotes or patterns"), "{error}");
    }
    for text in ["run_command(>)", "run_command(> out.txt)", "run_command(npm run a:b)"] {
        assert_eq!(rule(text).to_string(), text);
    }
}

#[test]
fn the_strictest_rule_counts() {
    let layer = Layer::mode(Mode::Ask)
        .rule(rule("run_command(cargo)"), Verdict::Allow)
        .rule(rule("run_command(cargo publish)"), Verdict::Deny)
        .rule(rule("write"), Verdict::Allow);
    let judge = |deed| layer.judge(&Wish::new("run_command", deed));
    assert_eq!(judge(line("cargo test")), Verdict::Allow);
    assert_eq!(judge(line("cargo test && cargo publish --all")), Verdict::Deny);
    assert_eq!(judge(line("cargo test && rm -r x")), Verdict::Ask);
    assert_eq!(judge(line("cargo-evil")), Verdict::Ask);
    assert_eq!(judge(Deed::Run(Line::Clear(Vec::new()))), Verdict::Ask);
    assert_eq!(layer.judge(&Wish::new("write", Deed::Change)), Verdict::Allow);
    assert_eq!(layer.judge(&Wish::new("edit", Deed::Change)), Verdict::Ask);
    assert_eq!(layer.judge(&Wish::new("read", Deed::Look)), Verdict::Allow);
}

#[test]
fn a_line_that_cannot_be_read_is_asked_about_where_a_rule_might_be_about_it() {
    let unclear = Wish::new("run_command", Deed::Run(Line::Unclear));
    let free = Layer::mode(Mode::Auto);
    assert_eq!(free.judge(&unclear), Verdict::Allow);
    let some = free.clone().rule(rule("run_command(git push)"), Verdict::Deny);
    assert_eq!(some.judge(&unclear), Verdict::Ask);
    let named = Layer::mode(Mode::Ask).rule(rule("run_command(sh)"), Verdict::Allow);
    assert_eq!(named.judge(&unclear), Verdict::Ask);
}

#[test]
fn what_a_line_certainly_runs_is_forbidden_whatever_else_is_in_it() {
    let partly = |text: &str| {
        let Deed::Run(Line::Clear(commands)) = line(text) else { unreachable!() };
        Wish::new("run_command", Deed::Run(Line::Partly(commands)))
    };
    let layer = Layer::mode(Mode::Auto)
        .rule(rule("run_command(sudo)"), Verdict::Deny)
        .rule(rule("run_command(git push)"), Verdict::Deny)
        .rule(rule("run_command(ls)"), Verdict::Allow);
    assert_eq!(layer.judge(&partly("sudo reboot")), Verdict::Deny);
    assert_eq!(layer.judge(&partly("ls && git push")), Verdict::Deny);
    assert_eq!(layer.judge(&partly("git")), Verdict::Ask, "it may be git push");
    assert_eq!(layer.judge(&partly("ls")), Verdict::Ask, "and something else");
    let free = Layer::mode(Mode::Ask).rule(rule("run_command(ls)"), Verdict::Allow);
    assert_eq!(free.judge(&partly("ls")), Verdict::Ask);
    assert_eq!(Layer::mode(Mode::Auto).judge(&partly("sudo reboot")), Verdict::Allow);
}

/// A line of which these commands may run others.
fn launching(text: &str, launchers: &str) -> Wish {
    let commands = |text| match line(text) {
        Deed::Run(Line::Clear(commands)) => commands,
        _ => unreachable!(),
    };
    let (commands, launchers) = (commands(text), commands(launchers));
    Wish::new("run_command", Deed::Run(Line::Launching { commands, launchers }))
}

#[test]
fn a_program_that_may_run_others_is_asked_about_unless_a_rule_names_it() {
    let (alone, piped) = (launching("make", "make"), launching("ls && make", "make"));
    let auto = Layer::mode(Mode::Auto);
    for verdict in [Verdict::Deny, Verdict::Ask] {
        let strict = auto.clone().rule(rule("run_command(git push)"), verdict);
        let named = strict.clone().rule(rule("run_command(make)"), Verdict::Allow);
        let whole = strict.clone().rule(rule("run_command"), Verdict::Allow);
        for wish in [&alone, &piped] {
            assert_eq!(auto.judge(wish), Verdict::Allow);
            assert_eq!(strict.judge(wish), Verdict::Ask);
            assert_eq!(whole.judge(wish), Verdict::Ask, "it names no program");
            assert_eq!(named.judge(wish), Verdict::Allow);
            let doubt = Authority::of(strict.clone());
            assert_eq!(doubt.possibly_broken(wish), Some(&rule("run_command(git push)")));
            assert_eq!(Authority::of(named.clone()).possibly_broken(wish), None);
        }
        let both = launching("git push && make", "make");
        assert_eq!(strict.judge(&both), verdict);
        assert_eq!(named.judge(&both), verdict);
        assert_eq!(strict.judge(&Wish::new("run_command", line("ls"))), Verdict::Allow);
    }
    let ask = Layer::mode(Mode::Ask).rule(rule("run_command(make)"), Verdict::Allow);
    assert_eq!(ask.judge(&alone), Verdict::Allow);
    assert_eq!(ask.judge(&piped), Verdict::Ask);
}

#[test]
fn a_plan_changes_nothing_and_what_is_guarded_is_asked_about() {
    let plan = Layer::mode(Mode::Plan).rule(rule("*"), Verdict::Allow);
    for deed in [Deed::Change, Deed::Run(Line::Unclear), Deed::Reach] {
        assert_eq!(plan.judge(&Wish::new("any", deed)), Verdict::Deny);
    }
    assert_eq!(plan.judge(&Wish::new("spawn_agent", Deed::Manage)), Verdict::Allow);
    let guarded = Wish::new("write", Deed::Change).guarded("it is git's");
    assert_eq!(Authority::default().judge(&guarded), Verdict::Ask);
    let allowed = Layer::default().rule(rule("write"), Verdict::Allow);
    assert_eq!(Authority::of(allowed).judge(&guarded), Verdict::Ask);
}

#[test]
fn a_tool_that_is_denied_or_not_listed_is_not_offered() {
    let layer = Layer::default().tools(["read", "write"]).rule(rule("write"), Verdict::Deny);
    let authority = Authority::of(layer);
    assert!(authority.offers("read") && !authority.offers("write") && !authority.offers("edit"));
    assert_eq!(authority.judge(&Wish::new("edit", Deed::Look)), Verdict::Deny);
}

fn layers() -> impl Strategy<Value = Layer> {
    let modes = prop_oneof![Just(Mode::Plan), Just(Mode::Ask), Just(Mode::Auto)];
    let verdicts = prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)];
    let about = prop_oneof![Just("*"), Just("write"), Just("run_command"), Just("run_command(a)")];
    let rules = prop::collection::vec((about.prop_map(rule), verdicts), 0..4);
    let tools = prop::option::of(prop::collection::vec(
        prop_oneof![Just("write"), Just("run_command"), Just("read")].prop_map(Into::into),
        0..3,
    ));
    (modes, tools, rules).prop_map(|(mode, tools, rules)| Layer { mode, tools, rules })
}

proptest! {
    #[test]
    fn s7_3_one_more_layer_never_allows_more(stack in prop::collection::vec(layers(), 0..4), more in layers()) {
        let owner = stack.into_iter().fold(Authority::default(), Authority::under);
        let child = owner.clone().under(more);
        for (tool, deed) in [
            ("write", Deed::Change),
            ("read", Deed::Look),
            ("run_command", line("a b")),
            ("run_command", line("a && c")),
            ("run_command", Deed::Run(Line::Unclear)),
            ("run_command", Deed::Run(Line::Partly(vec![vec!["a".into()]]))),
            ("run_command", launching("a b", "a b").deed),
            ("run_command", launching("c && d", "d").deed),
        ] {
            let wish = Wish::new(tool, deed);
            prop_assert!(child.judge(&wish) >= owner.judge(&wish));
            prop_assert!(!child.offers(tool) || owner.offers(tool));
        }
    }
}

#[test]
fn s7_3_a_child_of_one_that_asks_nobody_asks_nobody() {
    let owner = Authority::default().asking(Asks::Nobody);
    assert_eq!(owner.asked_of(Asks::Person).asks(), Asks::Nobody);
}
