//! The lookup of a profile by its name.

use std::path::Path;

use offshoot_agent::{ProfileOrigin, ProfileSource, ProfileUnavailable};
use offshoot_core::permissions::{Access, Action, LineAnalysis, Permissions, Verdict};
use offshoot_profiles::{Profiles, Project};

use crate::support::{ProjectDir, of, write};

#[test]
fn s11_2_four_profiles_are_built_in() {
    let (all, broken) = Profiles::built_in().all(None);
    let names: Vec<_> = all.iter().map(|profile| &*profile.name).collect();
    assert_eq!((names, broken), (vec!["explore", "lead", "verify", "work"], vec![]));
    for profile in &all {
        assert!(!profile.prompt.is_empty() && !profile.description.is_empty());
        assert_eq!(profile.origin, ProfileOrigin::BuiltIn);
    }
}

#[test]
fn s7_3_explore_changes_nothing_and_verify_only_runs() {
    let judge = |name: &str, tool: &str, deed: Action| {
        let profile = Profiles::built_in().find(name, None).unwrap();
        Permissions::of(profile.layer.clone()).judge(&Access::new(tool, deed))
    };
    let run = || Action::Run(LineAnalysis::Clear(vec![vec!["ls".to_owned()]]));
    assert_eq!(judge("explore", "read", Action::Read), Verdict::Allow);
    for (tool, deed) in [
        ("write", Action::Change),
        ("edit", Action::Change),
        ("run_command", run()),
        ("fetch", Action::Network),
        ("spawn_agent", Action::ManageTasks),
        // A tool of this name that changes files stays denied.
        ("read", Action::Change),
    ] {
        assert_eq!(judge("explore", tool, deed), Verdict::Deny, "{tool}");
    }
    assert_eq!(judge("verify", "run_command", run()), Verdict::Allow);
    for tool in ["write", "edit"] {
        assert_eq!(judge("verify", tool, Action::Change), Verdict::Deny, "{tool}");
    }
    assert_eq!(judge("verify", "spawn_agent", Action::ManageTasks), Verdict::Deny);
}

#[test]
fn s11_2_the_error_for_an_unknown_profile_names_the_known_ones() {
    let place = ProjectDir::new();
    place.has("mine.md", of("name: mine"));
    let error = place.find("missing").unwrap_err();
    assert!(matches!(error, ProfileUnavailable::Unknown { .. }));
    assert_eq!(
        error.to_string(),
        "there is no profile \"missing\"; there are: explore, lead, mine, verify, work"
    );
}

#[test]
fn s11_2_the_nearest_profile_wins_then_the_users_then_the_built_in_one() {
    let place = ProjectDir::new();
    let inner = place.project().join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    let said = || place.profiles().find("work", Some(&inner)).unwrap().prompt.clone();
    assert!(said().starts_with("You do one piece of work"));
    place.has("work.md", "---\n---\nthe person's");
    assert_eq!(said(), "the person's");
    place.brings("work.md", "---\n---\nthe project's");
    assert_eq!(said(), "the project's");
    write(&place.project().join("a/.claude/agents/x.md"), "---\nname: Work\n---\nthe folder's");
    assert_eq!(said(), "the folder's");
    write(&inner.join(".offshoot/agents/work.md"), "---\n---\nthe inner one's");
    assert_eq!(said(), "the inner one's");
}

#[test]
fn directories_above_the_repository_are_outside_the_project() {
    let place = ProjectDir::new();
    let above = place.project().parent().unwrap().join(".offshoot/agents/above.md");
    write(&above, of("name: above"));
    assert!(place.find("above").is_err());
    // Outside a repository a directory is its own project.
    std::fs::remove_dir_all(place.project().join(".git")).unwrap();
    assert!(place.find("above").is_err());
    place.brings("here.md", of("name: here"));
    assert!(place.find("here").is_ok());
}

#[test]
fn profile_names_compare_like_task_names() {
    let place = ProjectDir::new();
    place.has("x.md", of("name: Größe"));
    assert!(place.find(" GRÖßE ").is_ok() && place.find("gro\u{308}ße").is_ok());
    assert!(place.find("grosse").is_err());
}

#[test]
fn two_profiles_of_one_name_in_a_directory_are_reported() {
    let place = ProjectDir::new();
    place.has("a.md", of("name: twin\ndescription: first"));
    place.has("b.md", of("name: Twin"));
    assert_eq!(place.find("twin").unwrap().description, "first");
    let wrong = place.wrong();
    assert!(
        wrong.len() == 1 && wrong[0].contains("b.md: it is called \"Twin\", and so is"),
        "{wrong:?}"
    );
}

#[test]
fn the_offshoot_format_wins_over_the_claude_code_format() {
    let place = ProjectDir::new();
    place.brings("a.md", "---\nname: a\n---\nours");
    write(&place.project().join(".claude/agents/a.md"), "---\nname: a\n---\ntheirs");
    assert_eq!(place.find("a").unwrap().prompt, "ours");
    assert_eq!(place.wrong(), Vec::<String>::new());
}

#[test]
fn s11_2_a_broken_profile_hides_no_other_and_is_not_replaced() {
    let place = ProjectDir::new();
    place.has("explore.md", of("colour: blue"));
    place.has("good.md", of("name: good"));
    assert!(place.find("good").is_ok());
    // The built-in profile may allow more than the user wanted.
    let told = place.broken("explore");
    assert!(told.contains("explore.md:2:1: there is no field \"colour\""), "{told}");
    assert_eq!(place.names(), ["good", "lead", "verify", "work"]);
    assert_eq!(place.wrong(), [told]);
}

#[test]
fn an_empty_git_directory_is_no_repository() {
    let place = ProjectDir::new();
    let inner = place.project().join("inner");
    std::fs::create_dir_all(inner.join(".git")).unwrap();
    write(&inner.join("below/file"), "");
    let root = |folder: &str| {
        let project = Project::of(&place.project().join(folder)).unwrap();
        project.root().strip_prefix(place.project()).map(Path::to_owned)
    };
    assert_eq!(root("inner/below"), Ok("".into()), "the repository around it counts");
    write(&inner.join(".git/HEAD"), "ref: refs/heads/main\n");
    assert_eq!(root("inner/below"), Ok("inner".into()));
    std::fs::remove_dir_all(inner.join(".git")).unwrap();
    for (file, is_root) in [("", false), ("text", false), ("gitdir: ../elsewhere\n", true)] {
        write(&inner.join(".git"), file);
        assert_eq!(root("inner/below") == Ok("inner".into()), is_root, "{file:?}");
    }
}

#[test]
fn a_directory_that_all_users_share_is_above_every_project() {
    let place = ProjectDir::new();
    let shared = place.project().parent().unwrap().to_owned();
    write(&shared.join(".git/HEAD"), "ref: refs/heads/main\n");
    write(&shared.join(".offshoot/agents/planted.md"), of("name: planted"));
    let folder = shared.join("alone");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    assert_eq!(Project::of(&folder).unwrap().folders(), std::slice::from_ref(&folder));
    assert!(place.profiles().find("planted", Some(&folder)).is_err());
}
