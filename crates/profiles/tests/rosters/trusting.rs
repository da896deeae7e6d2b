//! The directories that the user trusts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Barrier;

use offshoot_agent::{Isolation, ProfileSource, ProfileTrust};
use offshoot_core::permissions::{Approver, PermissionMode};
use offshoot_profiles::TrustState;

use crate::support::{ProjectDir, of, write};

/// A profile with every field that could redirect an agent.
const BOLD: &str = "name: bold\nmodel: openai/gpt-5\nasks: nobody\nallow: \"*\"\nmode: auto";

#[test]
fn s7_3_an_untrusted_profile_has_neither_model_nor_approver() {
    let place = ProjectDir::new();
    place.brings("bold.md", of(BOLD));
    let bold = place.find("bold").unwrap();
    assert_eq!((&bold.model, bold.asks, bold.trust), (&None, None, ProfileTrust::Untrusted));
    assert_eq!(bold.notes.len(), 2, "{:?}", bold.notes);
    assert!(
        bold.notes[0].contains("its model does not count, because the directory is not trusted")
    );

    assert_eq!(place.trust().add(&place.project()).unwrap(), [place.project()]);
    let bold = place.find("bold").unwrap();
    assert_eq!(bold.model.as_ref().unwrap().to_string(), "openai/gpt-5");
    assert_eq!((bold.asks, bold.trust), (Some(Approver::None), ProfileTrust::Trusted));
    assert!(bold.notes.is_empty());
}

#[test]
fn s7_3_nor_does_it_get_them_from_a_trusted_profile() {
    let place = ProjectDir::new();
    place.has("dear.md", of("model: openai/gpt-5\nasks: owner"));
    place.brings("sly.md", of("extends: dear"));
    let sly = place.find("sly").unwrap();
    assert_eq!((&sly.model, sly.asks), (&None, None));
}

#[test]
fn s7_3_an_untrusted_profile_only_narrows_the_trusted_one_of_its_name() {
    let place = ProjectDir::new();
    place.brings("explore.md", of("name: explore\ntools: write, run_command, read\nmode: auto\nagents: [a, work]\nisolation: none"));
    let explore = place.find("explore").unwrap();
    assert_eq!(explore.prompt, "Do it.");
    let offers =
        |tool: &str| explore.under.iter().chain([&explore.layer]).all(|layer| layer.offers(tool));
    assert!(offers("read") && !offers("write") && !offers("run_command") && !offers("search"));
    assert!(explore.under.iter().any(|layer| layer.mode == PermissionMode::Plan));

    place.has("mine.md", of("name: mine\nmodel: openai/small\nasks: nobody\nbudget: 1usd\nisolation: worktree\nagents: [Work]"));
    place.brings("mine.md", of("name: mine\nmodel: openai/large\nasks: owner\nbudget: 9usd\nisolation: none\nagents: [work, lead]"));
    let mine = place.find("mine").unwrap();
    assert_eq!(mine.model.as_ref().unwrap().to_string(), "openai/small");
    assert_eq!((mine.asks, mine.budget.to_string()), (Some(Approver::None), "1usd".to_owned()));
    assert_eq!(
        (mine.isolation, mine.agents.as_deref()),
        (Isolation::Worktree, Some(&["work".to_owned()][..]))
    );
}

#[test]
fn s7_3_a_broken_untrusted_profile_hides_no_trusted_one() {
    let place = ProjectDir::new();
    for written in [of("mode: yolo"), of("name: explore\nextends: explore"), "x".into()] {
        place.brings("explore.md", written);
        assert_eq!(place.find("explore").unwrap().trust, ProfileTrust::Trusted);
        assert_eq!(place.wrong().len(), 1, "{:?}", place.wrong());
    }
    // Once it is trusted it applies, and so do its errors.
    place.trust().add(&place.project()).unwrap();
    assert!(place.find("explore").is_err());
}

#[test]
fn a_trusted_project_wins_over_the_user() {
    let place = ProjectDir::new();
    place.brings("explore.md", of("name: explore\nmodel: openai/gpt-5"));
    place.trust().add(&place.project()).unwrap();
    let explore = place.find("explore").unwrap();
    assert!(explore.model.is_some() && explore.under.is_empty());
}

#[test]
fn every_change_ends_the_trust() {
    type Change = fn(&ProjectDir);
    let changes: [(&str, Change); 6] = [
        ("a profile", |place| place.brings("bold.md", of(&format!("{BOLD}\nisolation: worktree")))),
        ("another one", |place| place.brings("new.md", of("name: new"))),
        ("one of Claude Code's", |place| {
            write(&place.project().join(".claude/agents/x.md"), of("name: x"))
        }),
        ("anything else there", |place| {
            write(&place.project().join(".offshoot/hooks/run"), "rm -rf /")
        }),
        ("a link", |place| symlink("/etc", place.project().join(".offshoot/etc")).unwrap()),
        ("a name", |place| {
            let agents = place.project().join(".offshoot/agents");
            fs::rename(agents.join("bold.md"), agents.join("other.md")).unwrap();
        }),
    ];
    for (what, change) in changes {
        let place = ProjectDir::new();
        place.brings("bold.md", of(BOLD));
        place.trust().add(&place.project()).unwrap();
        assert_eq!(place.trust().list().unwrap()[0].state, TrustState::Current);
        change(&place);
        assert_eq!(place.find("bold").unwrap().trust, ProfileTrust::Untrusted, "{what}");
        assert_eq!(place.trust().list().unwrap()[0].state, TrustState::Changed, "{what}");
        place.trust().add(&place.project()).unwrap();
        assert_eq!(place.find("bold").unwrap().trust, ProfileTrust::Trusted, "{what}");
    }
}

#[test]
fn a_replaced_directory_is_not_trusted_with_other_content() {
    let place = ProjectDir::new();
    place.brings("bold.md", of(BOLD));
    place.trust().add(&place.project()).unwrap();
    let copy = place.project().parent().unwrap().join("copy");
    write(&copy.join(".git/HEAD"), "ref: refs/heads/main\n");
    write(&copy.join(".offshoot/agents/bold.md"), of(BOLD));
    let found = place.profiles().find("bold", Some(&copy)).unwrap();
    assert_eq!(found.trust, ProfileTrust::Untrusted);
    // Another path to it leads to the same directory.
    let link = place.project().parent().unwrap().join("link");
    symlink(place.project(), &link).unwrap();
    let found = place.profiles().find("bold", Some(&link)).unwrap();
    assert_eq!(found.trust, ProfileTrust::Trusted);
}

#[test]
fn a_worktree_shares_the_trust_in_its_repository() {
    let place = ProjectDir::new();
    place.brings("bold.md", of(BOLD));
    place.trust().add(&place.project()).unwrap();
    let tree = place.project().parent().unwrap().join("tree");
    let git = place.project().join(".git/worktrees/tree");
    fs::create_dir_all(&git).unwrap();
    write(&tree.join(".git"), format!("gitdir: {}\n", git.display()));
    write(&tree.join(".offshoot/agents/bold.md"), of(BOLD));
    let standing = || place.profiles().find("bold", Some(&tree)).unwrap().trust;
    assert_eq!(standing(), ProfileTrust::Trusted);
    write(&tree.join(".offshoot/agents/bold.md"), of(&format!("{BOLD}\nbudget: 9usd")));
    assert_eq!(standing(), ProfileTrust::Untrusted);
}

#[test]
fn trust_is_listed_and_removed() {
    let place = ProjectDir::new();
    let inner = place.project().join("a");
    write(&inner.join(".claude/agents/x.md"), of("name: x"));
    place.brings("bold.md", of(BOLD));
    assert!(place.trust().list().unwrap().is_empty());
    let added = place.trust().add(&inner).unwrap();
    assert_eq!(added, [inner.clone(), place.project()]);
    let listed: Vec<_> = place.trust().list().unwrap().into_iter().map(|one| one.folder).collect();
    assert_eq!(listed, [place.project(), inner.clone()]);
    assert_eq!(place.trust().remove(&inner).unwrap().len(), 2);
    assert!(place.trust().list().unwrap().is_empty());
    assert_eq!(place.find("bold").unwrap().trust, ProfileTrust::Untrusted);
    assert_eq!(place.trust().remove(&inner).unwrap(), Vec::<PathBuf>::new());
    let gone = place.project().join("gone");
    assert!(place.trust().add(&gone).unwrap_err().to_string().contains("cannot be looked at"));
}

#[test]
fn the_list_is_private_and_a_broken_one_trusts_no_directory() {
    let place = ProjectDir::new();
    place.brings("bold.md", of(BOLD));
    place.trust().add(&place.project()).unwrap();
    let mode = fs::metadata(place.list()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::write(place.list(), "{\"version\": 2, \"folders\": {}}").unwrap();
    assert!(place.trust().list().unwrap_err().to_string().contains("it is of version 2"));
    fs::write(place.list(), "[").unwrap();
    assert_eq!(place.find("bold").unwrap().trust, ProfileTrust::Untrusted);
    assert!(place.wrong()[0].contains("the list of trusted folders"));
    // A broken list is not overwritten.
    assert!(place.trust().add(&place.project()).is_err());
    assert_eq!(fs::read_to_string(place.list()).unwrap(), "[");
}

#[test]
fn concurrent_changes_of_the_list_are_all_kept() {
    let place = ProjectDir::new();
    let folders: Vec<_> = (0..16)
        .map(|n| {
            let folder = place.project().parent().unwrap().join(format!("p{n}"));
            write(&folder.join(".offshoot/agents/a.md"), of("name: a"));
            folder
        })
        .collect();
    let begin = Barrier::new(folders.len());
    std::thread::scope(|scope| {
        for folder in &folders {
            let (begin, trust) = (&begin, place.trust());
            scope.spawn(move || {
                begin.wait();
                trust.add(folder).unwrap();
            });
        }
    });
    assert_eq!(place.trust().list().unwrap().len(), 16);
}

#[test]
fn a_directory_with_too_many_files_cannot_be_trusted() {
    let place = ProjectDir::new();
    place.brings("bold.md", of(BOLD));
    let large = place.project().join(".offshoot/large");
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let refused = place.trust().add(&place.project()).unwrap_err().to_string();
    assert!(
        refused.contains("cannot be trusted") && refused.contains("it is larger than"),
        "{refused}"
    );
    assert_eq!(place.find("bold").unwrap().trust, ProfileTrust::Untrusted);
}
