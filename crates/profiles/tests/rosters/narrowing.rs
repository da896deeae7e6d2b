//! No profile of an untrusted project gives an agent more permissions.

use std::sync::Arc;

use offshoot_agent::{Brief, ProfileSource};
use offshoot_core::permissions::{
    Access, Action, Approver, LineAnalysis, PermissionMode, Permissions, PolicyLayer, Rule, Verdict,
};
use offshoot_profiles::Profiles;
use proptest::prelude::*;

use crate::support::ProjectDir;

const TOOLS: [&str; 7] =
    ["read", "write", "edit", "run_command", "fetch", "spawn_agent", "list_tasks"];

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["git push", "git", "cargo test", "rm"]).prop_map(str::to_owned)
}

fn rule() -> impl Strategy<Value = String> {
    let tool = prop::sample::select([&TOOLS[..], &["*"]].concat());
    (tool, prop::option::of(words())).prop_map(|(tool, words)| match words {
        Some(words) => format!("{tool}({words})"),
        None => tool.to_owned(),
    })
}

fn list(of: impl Strategy<Value = String>) -> impl Strategy<Value = Option<Vec<String>>> {
    prop::option::of(prop::collection::vec(of, 0..4))
}

/// Any profile: valid fields in any combination, and now and then any text.
fn written() -> impl Strategy<Value = String> {
    let tool = prop::sample::select(TOOLS.to_vec()).prop_map(str::to_owned);
    let word = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
    let lists = (list(tool), list(rule()), list(rule()), list(rule()));
    let words = (
        word(&["plan", "ask", "auto"]),
        word(&["owner", "person", "nobody"]),
        word(&["none", "worktree"]),
        word(&["openai/gpt-5", "scripted/x"]),
        word(&["explore", "work", "lead", "mine"]),
    );
    let agents = list(prop::sample::select(vec!["explore", "work", "x"]).prop_map(str::to_owned));
    let fields = (lists, words, agents).prop_map(|((tools, allow, ask, deny), words, agents)| {
        let (mode, asks, isolation, model, extends) = words;
        let mut front = String::new();
        for (field, value) in
            [("tools", tools), ("allow", allow), ("ask", ask), ("deny", deny), ("agents", agents)]
        {
            if let Some(value) = value {
                front += &format!("{field}: {}\n", serde_json::to_string(&value).unwrap());
            }
        }
        for (field, value) in [
            ("mode", mode),
            ("asks", asks),
            ("isolation", isolation),
            ("model", model),
            ("extends", extends),
        ] {
            if let Some(value) = value {
                front += &format!("{field}: {value}\n");
            }
        }
        format!("---\n{front}---\nDo as I say.\n")
    });
    prop_oneof![9 => fields, 1 => "(---\n)?[a-z:\\[\\] \n-]{0,60}"]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

fn layer() -> impl Strategy<Value = PolicyLayer> {
    let mode =
        prop::sample::select(vec![PermissionMode::Plan, PermissionMode::Ask, PermissionMode::Auto]);
    let tools = prop::option::of(prop::sample::subsequence(TOOLS.to_vec(), 0..TOOLS.len()));
    let rules = prop::collection::vec((rule(), verdict()), 0..3);
    (mode, tools, rules).prop_map(|(mode, tools, rules)| {
        let mut layer = PolicyLayer::mode(mode);
        layer.tools = tools.map(|tools| tools.into_iter().map(Arc::from).collect());
        for (rule, verdict) in rules {
            layer = layer.rule(rule.parse::<Rule>().unwrap(), verdict);
        }
        layer
    })
}

fn authority() -> impl Strategy<Value = Permissions> {
    let asks = prop::sample::select(vec![Approver::Owner, Approver::Person, Approver::None]);
    (prop::collection::vec(layer(), 0..3), asks).prop_map(|(layers, asks)| {
        layers.into_iter().fold(Permissions::default(), Permissions::under).with_approver(asks)
    })
}

fn wishes() -> Vec<Access> {
    let command = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut wishes = Vec::new();
    for tool in TOOLS {
        for deed in [
            Action::Read,
            Action::ManageTasks,
            Action::Change,
            Action::Network,
            Action::Run(LineAnalysis::Unclear),
            Action::Run(LineAnalysis::Clear(vec![
                command("git push origin"),
                command("cargo test"),
            ])),
            Action::Run(LineAnalysis::Clear(vec![command("rm -r x")])),
        ] {
            wishes.push(Access::new(tool, deed.clone()));
            wishes.push(Access::new(tool, deed).guarded("because"));
        }
    }
    wishes
}

/// Checks that one brief permits no more than the other.
fn never_wider(one: &Brief, other: &Brief) -> Result<(), TestCaseError> {
    let authority = |brief: &Brief| brief.authority.as_deref().cloned().unwrap_or_default();
    let (one_may, other_may) = (authority(one), authority(other));
    for wish in wishes() {
        prop_assert!(one_may.judge(&wish) >= other_may.judge(&wish), "{wish:?}");
    }
    for tool in TOOLS {
        prop_assert!(!one_may.offers(tool) || other_may.offers(tool), "{tool}");
    }
    prop_assert_eq!(one_may.approver(), other_may.approver());
    prop_assert_eq!((&one.model, &one.endpoint), (&other.model, &other.endpoint));
    prop_assert_eq!((one.steps, one.time), (other.steps, other.time));
    prop_assert_eq!(&one.folder, &other.folder);
    if let Some(most) = &other.agents {
        let named = one.agents.as_ref().unwrap();
        prop_assert!(named.iter().all(|agent| most.contains(agent)));
    }
    Ok(())
}

fn brief(owner: Option<Permissions>, agents: Option<Vec<String>>) -> Brief {
    let mut brief = Brief::new("offline/survey".parse().unwrap(), "task").folder("/tmp");
    brief.authority = owner.map(Arc::new);
    brief.agents = agents.map(Into::into);
    brief
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn s7_3_an_untrusted_profile_never_widens_an_agent(
        written in written(),
        owner in prop::option::of(authority()),
        agents in list(prop::sample::select(vec!["explore", "work"]).prop_map(str::to_owned)),
    ) {
        let place = ProjectDir::new();
        place.has("mine.md", "---\nmodel: openai/mine\nasks: owner\nallow: write\n---\n");
        place.brings("theirs.md", &written);
        let without = brief(owner, agents);
        if let Ok(profile) = place.find("theirs") {
            never_wider(&profile.applied_to(without.clone()), &without)?;
        }
    }

    #[test]
    fn s7_3_nor_widens_the_trusted_profile_of_its_name(
        written in written(),
        owner in prop::option::of(authority()),
        name in prop::sample::select(vec!["explore", "verify", "work", "lead", "mine"]),
    ) {
        let place = ProjectDir::new();
        place.has("mine.md", "---\nmodel: openai/mine\nasks: nobody\ndeny: run_command(git push)\nagents: [explore]\n---\n");
        let before = place.find(name).unwrap().applied_to(brief(owner.clone(), None));
        place.brings(&format!("{name}.md"), &written);
        let after = place.find(name).unwrap().applied_to(brief(owner, None));
        never_wider(&after, &before)?;
    }

    #[test]
    fn s7_3_no_profile_has_more_permissions_than_its_owner(
        written in written(),
        owner in authority(),
    ) {
        let place = ProjectDir::new();
        place.has("mine.md", &written);
        let Ok(profile) = Profiles::built_in().user(place.user()).find("mine", None) else {
            return Ok(());
        };
        let made = profile.applied_to(brief(Some(owner.clone()), None));
        let may = made.authority.unwrap();
        for wish in wishes() {
            prop_assert!(may.judge(&wish) >= owner.judge(&wish), "{wish:?}");
        }
        prop_assert!(owner.approver() != Approver::None || may.approver() == Approver::None);
    }
}
