use proptest::prelude::*;

use super::*;

fn line(text: &str) -> Action {
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect();
    Action::Run(LineAnalysis::Clear(text.split("&&").map(words).collect()))
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
fn a_rule_that_can_match_no_command_is_refused() {
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
fn the_strictest_rule_decides() {
    let layer = PolicyLayer::mode(PermissionMode::Ask)
        .rule(rule("run_command(cargo)"), Verdict::Allow)
        .rule(rule("run_command(cargo publish)"), Verdict::Deny)
        .rule(rule("write"), Verdict::Allow);
    let judge = |action| layer.judge(&Access::new("run_command", action));
    assert_eq!(judge(line("cargo test")), Verdict::Allow);
    assert_eq!(judge(line("cargo test && cargo publish --all")), Verdict::Deny);
    assert_eq!(judge(line("cargo test && rm -r x")), Verdict::Ask);
    assert_eq!(judge(line("cargo-evil")), Verdict::Ask);
    assert_eq!(judge(Action::Run(LineAnalysis::Clear(Vec::new()))), Verdict::Ask);
    assert_eq!(layer.judge(&Access::new("write", Action::Change)), Verdict::Allow);
    assert_eq!(layer.judge(&Access::new("edit", Action::Change)), Verdict::Ask);
    assert_eq!(layer.judge(&Access::new("read", Action::Read)), Verdict::Allow);
}

#[test]
fn an_unclear_line_needs_approval_where_a_rule_might_match() {
    let unclear = Access::new("run_command", Action::Run(LineAnalysis::Unclear));
    let free = PolicyLayer::mode(PermissionMode::Auto);
    assert_eq!(free.judge(&unclear), Verdict::Allow);
    let some = free.clone().rule(rule("run_command(git push)"), Verdict::Deny);
    assert_eq!(some.judge(&unclear), Verdict::Ask);
    let named =
        PolicyLayer::mode(PermissionMode::Ask).rule(rule("run_command(sh)"), Verdict::Allow);
    assert_eq!(named.judge(&unclear), Verdict::Ask);
}

#[test]
fn a_denied_command_is_denied_in_every_line() {
    let partly = |text: &str| {
        let Action::Run(LineAnalysis::Clear(commands)) = line(text) else { unreachable!() };
        Access::new("run_command", Action::Run(LineAnalysis::Partly(commands)))
    };
    let layer = PolicyLayer::mode(PermissionMode::Auto)
        .rule(rule("run_command(sudo)"), Verdict::Deny)
        .rule(rule("run_command(git push)"), Verdict::Deny)
        .rule(rule("run_command(ls)"), Verdict::Allow);
    assert_eq!(layer.judge(&partly("sudo reboot")), Verdict::Deny);
    assert_eq!(layer.judge(&partly("ls && git push")), Verdict::Deny);
    assert_eq!(layer.judge(&partly("git")), Verdict::Ask, "it may be git push");
    assert_eq!(layer.judge(&partly("ls")), Verdict::Ask, "and something else");
    let free = PolicyLayer::mode(PermissionMode::Ask).rule(rule("run_command(ls)"), Verdict::Allow);
    assert_eq!(free.judge(&partly("ls")), Verdict::Ask);
    assert_eq!(
        PolicyLayer::mode(PermissionMode::Auto).judge(&partly("sudo reboot")),
        Verdict::Allow
    );
}

/// The access of a line in which `launchers` may run other programs.
fn launching(text: &str, launchers: &str) -> Access {
    let commands = |text| match line(text) {
        Action::Run(LineAnalysis::Clear(commands)) => commands,
        _ => unreachable!(),
    };
    let (commands, launchers) = (commands(text), commands(launchers));
    Access::new("run_command", Action::Run(LineAnalysis::Launching { commands, launchers }))
}

#[test]
fn a_program_that_may_run_others_needs_approval_unless_allowed_by_name() {
    let (alone, piped) = (launching("make", "make"), launching("ls && make", "make"));
    let auto = PolicyLayer::mode(PermissionMode::Auto);
    for verdict in [Verdict::Deny, Verdict::Ask] {
        let strict = auto.clone().rule(rule("run_command(git push)"), verdict);
        let named = strict.clone().rule(rule("run_command(make)"), Verdict::Allow);
        let whole = strict.clone().rule(rule("run_command"), Verdict::Allow);
        for access in [&alone, &piped] {
            assert_eq!(auto.judge(access), Verdict::Allow);
            assert_eq!(strict.judge(access), Verdict::Ask);
            assert_eq!(whole.judge(access), Verdict::Ask, "it names no program");
            assert_eq!(named.judge(access), Verdict::Allow);
            let doubt = Permissions::of(strict.clone());
            assert_eq!(doubt.possibly_broken(access), Some(&rule("run_command(git push)")));
            assert_eq!(Permissions::of(named.clone()).possibly_broken(access), None);
        }
        let both = launching("git push && make", "make");
        assert_eq!(strict.judge(&both), verdict);
        assert_eq!(named.judge(&both), verdict);
        assert_eq!(strict.judge(&Access::new("run_command", line("ls"))), Verdict::Allow);
    }
    let ask =
        PolicyLayer::mode(PermissionMode::Ask).rule(rule("run_command(make)"), Verdict::Allow);
    assert_eq!(ask.judge(&alone), Verdict::Allow);
    assert_eq!(ask.judge(&piped), Verdict::Ask);
}

#[test]
fn plan_mode_denies_changes_and_guarded_access_needs_approval() {
    let plan = PolicyLayer::mode(PermissionMode::Plan).rule(rule("*"), Verdict::Allow);
    for action in [Action::Change, Action::Run(LineAnalysis::Unclear), Action::Network] {
        assert_eq!(plan.judge(&Access::new("any", action)), Verdict::Deny);
    }
    assert_eq!(plan.judge(&Access::new("spawn_agent", Action::ManageTasks)), Verdict::Allow);
    let guarded = Access::new("write", Action::Change).guarded("it is git's");
    assert_eq!(Permissions::default().judge(&guarded), Verdict::Ask);
    let allowed = PolicyLayer::default().rule(rule("write"), Verdict::Allow);
    assert_eq!(Permissions::of(allowed).judge(&guarded), Verdict::Ask);
}

#[test]
fn a_tool_that_is_denied_or_not_listed_is_not_offered() {
    let layer = PolicyLayer::default().tools(["read", "write"]).rule(rule("write"), Verdict::Deny);
    let authority = Permissions::of(layer);
    assert!(authority.offers("read") && !authority.offers("write") && !authority.offers("edit"));
    assert_eq!(authority.judge(&Access::new("edit", Action::Read)), Verdict::Deny);
}

fn layers() -> impl Strategy<Value = PolicyLayer> {
    let modes = prop_oneof![
        Just(PermissionMode::Plan),
        Just(PermissionMode::Ask),
        Just(PermissionMode::Auto)
    ];
    let verdicts = prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)];
    let about = prop_oneof![Just("*"), Just("write"), Just("run_command"), Just("run_command(a)")];
    let rules = prop::collection::vec((about.prop_map(rule), verdicts), 0..4);
    let tools = prop::option::of(prop::collection::vec(
        prop_oneof![Just("write"), Just("run_command"), Just("read")].prop_map(Into::into),
        0..3,
    ));
    (modes, tools, rules).prop_map(|(mode, tools, rules)| PolicyLayer { mode, tools, rules })
}

proptest! {
    #[test]
    fn s7_3_one_more_layer_never_allows_more(stack in prop::collection::vec(layers(), 0..4), more in layers()) {
        let owner = stack.into_iter().fold(Permissions::default(), Permissions::under);
        let child = owner.clone().under(more);
        for (tool, action) in [
            ("write", Action::Change),
            ("read", Action::Read),
            ("run_command", line("a b")),
            ("run_command", line("a && c")),
            ("run_command", Action::Run(LineAnalysis::Unclear)),
            ("run_command", Action::Run(LineAnalysis::Partly(vec![vec!["a".into()]]))),
            ("run_command", launching("a b", "a b").action),
            ("run_command", launching("c && d", "d").action),
        ] {
            let access = Access::new(tool, action);
            prop_assert!(child.judge(&access) >= owner.judge(&access));
            prop_assert!(!child.offers(tool) || owner.offers(tool));
        }
    }
}

#[test]
fn s7_3_a_child_of_an_owner_without_an_approver_has_none() {
    let owner = Permissions::default().with_approver(Approver::None);
    assert_eq!(owner.narrow_approver(Approver::Person).approver(), Approver::None);
}
