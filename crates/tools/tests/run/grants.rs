//! What a standing grant covers: lines that begin alike and stay inside the directory.

use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use offshoot_agent::{Agents, Decision, MemoryGrants, PendingApproval};
use offshoot_core::permissions::{PermissionMode, Permissions, PolicyLayer};
use offshoot_models::Turn;
use serde_json::json;

use crate::support::{Confined, Test, TestDirs, World, answers};

/// Agents that ask before they run a command, and share one set of grants.
struct Asking {
    world: World,
    agents: Agents,
    command: Arc<Mutex<String>>,
}

impl Asking {
    async fn new(place: &TestDirs) -> Self {
        let command = Arc::<Mutex<String>>::default();
        let next = command.clone();
        let world = World::open(place, Confined::No, move |call| match answers(call) {
            0 => Turn::call([("run_command", json!({"command": *next.lock().unwrap()}))]),
            _ => Turn::say("over"),
        })
        .await;
        let agents = world.agents.clone().grants(MemoryGrants::default());
        Self { world, agents, command }
    }

    /// Has an agent run a command line. Answers the request for approval, and returns it
    /// if there is one.
    async fn run(
        &self,
        command: &str,
        decision: Decision,
    ) -> Result<Option<PendingApproval>, Box<dyn std::error::Error>> {
        command.clone_into(&mut self.command.lock().unwrap());
        let brief =
            self.world.brief().authority(Permissions::of(PolicyLayer::mode(PermissionMode::Ask)));
        let request = self.agents.request(&brief)?.executed_by(Arc::new(self.agents.backend()));
        let agent = self.world.session.spawn(request).await?;
        let asked = loop {
            if let Some(asked) = PendingApproval::of_task(&agent).await?.pop() {
                break Some(asked);
            }
            if agent.record().await?.ended().is_some() {
                break None;
            }
            tokio::task::yield_now().await;
        };
        if let Some(asked) = &asked {
            PendingApproval::decide(&agent, asked.number, &decision).await?;
        }
        while !agent.wait().await?.is_ended() {}
        Ok(asked)
    }
}

/// A working directory beside a directory of other files, and links to both.
fn place() -> TestDirs {
    let place = TestDirs::new();
    for directory in ["outside", "work/src"] {
        std::fs::create_dir(place.at(directory)).unwrap();
    }
    for (file, text) in [
        ("outside/secret", "secret\n"),
        ("work/README", "read me\n"),
        ("work/src/lib.rs", "\n"),
        ("work/list", "../outside/secret\0"),
    ] {
        std::fs::write(place.at(file), text).unwrap();
    }
    for (target, link) in [
        ("../outside/secret", "work/leak"),
        ("../outside", "work/elsewhere"),
        ("../gone", "work/dangling"),
        ("src", "work/inner"),
    ] {
        symlink(target, place.at(link)).unwrap();
    }
    place
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_covers_no_path_that_leads_outside_the_directory() -> Test {
    let place = place();
    let asking = Asking::new(&place).await;
    let outside = place.at("outside/secret").display().to_string();
    let absolute = [format!("cat {outside}"), format!("cat file://{outside}")];
    let cat = [
        "cat ../outside/secret",
        "cat README ../outside/secret",
        "cat -- ../outside/secret",
        "cat src/../../outside/secret",
        "cat < ../outside/secret",
        "cat leak",
        "cat ./leak",
        "cat < leak",
        "cat elsewhere/secret",
        "cat elsewhere/none",
        "cat dangling",
        "cat ./l*",
        "cat '~/secret'",
    ];
    let others = [
        ("grep me README", "grep -f../outside/secret README"),
        ("grep me README", "grep -rf../outside/secret README"),
        ("grep me README", "grep -fleak README"),
        ("grep me README", "grep --file=../outside/secret README"),
        ("grep me README", "grep -R secret"),
        ("grep me README", "grep --dereference-rec secret"),
        ("wc README", "wc --files0-from=list"),
        ("sha256sum README", "sha256sum -c list"),
        ("ls", "ls elsewhere/"),
        ("ls", "ls -RL"),
        ("git diff", "git diff --no-index README leak"),
        ("git diff", "git diff --no-index README elsewhere/secret"),
    ];
    let cat = cat.into_iter().chain(absolute.iter().map(String::as_str));
    let all: Vec<_> = cat.map(|line| ("cat README", line)).chain(others).collect();
    let mut covered = Vec::new();
    for (granted, line) in &all {
        asking.run(granted, Decision::Always).await?;
        assert_eq!(asking.run(granted, Decision::Once).await?, None, "{granted}");
        match asking.run(line, Decision::Denied { reason: None }).await? {
            None => covered.push(*line),
            Some(asked) => {
                let request = asked.request;
                assert_eq!(request.grant, None, "{line}");
                let notes = request.notes.join("; ");
                assert!(notes.contains("no standing grant covers"), "{line}: {notes}");
            }
        }
    }
    assert!(covered.is_empty(), "{} of {}: {covered:?}", covered.len(), all.len());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_covers_paths_inside_the_directory_however_they_are_written() -> Test {
    let place = place();
    let asking = Asking::new(&place).await;
    let inside = format!("cat {}", place.at("work/README").display());
    let lines = [
        ("cat README", "cat ./README src/lib.rs"),
        ("cat README", "cat src/../README"),
        ("cat README", &inside),
        ("cat README", "cat inner/lib.rs"),
        ("cat README", "cat missing"),
        ("cat README", "cat < README"),
        ("cat README", "cat README 2>/dev/null"),
        ("grep me README", "grep -rn 'me$' src"),
        ("grep me README", "grep -C3 -e 'a.*b' README"),
        ("ls", "ls -la --color=never src"),
    ];
    for (granted, line) in lines {
        asking.run(granted, Decision::Always).await?;
        assert_eq!(asking.run(line, Decision::Once).await?, None, "{line}");
    }
    Ok(())
}
