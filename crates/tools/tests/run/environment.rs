//! The environment of commands.

use serde_json::json;

use crate::confined::confines;
use crate::support::{Confined, TestDirs, World, calls, variables};

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_has_no_key_and_of_offshoot_only_the_mark() {
    for confined in [Confined::No, Confined::Yes] {
        let place = TestDirs::new();
        let given = [
            ("OPENAI_API_KEY", "sk-secret"),
            ("ANTHROPIC_API_KEY", "sk-secret"),
            ("OTHER_API_KEY", "sk-secret"),
            ("OFFSHOOT_DATA", "sk-secret"),
            ("GH_TOKEN", "sk-secret"),
            ("github_pat", "sk-secret"),
            ("AWS_SECRET_ACCESS_KEY", "sk-secret"),
            ("DATABASE_URL", "sk-secret"),
            ("PGPASSWORD", "sk-secret"),
            ("SSH_AUTH_SOCK", "sk-secret"),
            ("BASH_FUNC_ls%%", "() { echo sk-secret; }"),
            ("LANG", "C.UTF-8"),
            ("PATH", "/usr/bin:/bin:."),
        ];
        let script =
            calls(json!({"command": "env; cat /proc/self/environ; cat /proc/$PPID/environ; true"}));
        let world = World::with(&place, confined, script, |runs| {
            runs.surroundings(move |_| variables(&given))
        })
        .await;
        let text = world.result().await.text;
        assert!(text.starts_with("Exit code 0"), "{text}");
        assert!(!text.contains("sk-secret") && !text.contains("API_KEY"), "{text}");
        let ours: Vec<_> = text.lines().filter(|line| line.starts_with("OFFSHOOT_")).collect();
        assert!(ours.len() == 1 && ours[0].starts_with("OFFSHOOT_TASK="), "{ours:?}");
        for line in ["LANG=C.UTF-8", "PATH=/usr/bin:/bin", "PAGER=cat", "TERM=dumb", "NO_COLOR=1"] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
        let scratch = format!("TMPDIR={}/", place.at("scratch").display());
        assert!(text.lines().any(|line| line.starts_with(&scratch)), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passed_variable_reaches_commands_and_a_withheld_one_is_named() {
    if !confines() {
        return;
    }
    for confined in [Confined::No, Confined::Yes] {
        let place = TestDirs::new();
        let given = [("GH_TOKEN", "ghp"), ("NPM_TOKEN", "npm"), ("PATH", "/usr/bin:/bin")];
        let script = calls(json!({"command": "echo got $GH_TOKEN $NPM_TOKEN; exit 1"}));
        let world = World::with(&place, confined, script, |runs| {
            let runs = runs.surroundings(move |_| variables(&given));
            runs.passing(|_| variables(&[("GH_TOKEN", "ghp")]))
        })
        .await;
        let text = world.result().await.text;
        assert!(text.contains("got ghp\n"), "{text}");
        assert!(text.contains("The variable NPM_TOKEN is withheld"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_variable_is_hidden_unless_passed_or_in_the_directory() {
    if !confines() {
        return;
    }
    let place = TestDirs::new();
    std::fs::create_dir(place.at("keys")).unwrap();
    for file in ["keys/netrc", "keys/kube", "work/pgpass"] {
        std::fs::write(place.at(file), format!("in {file}\n")).unwrap();
    }
    let named =
        [("NETRC", "keys/netrc"), ("KUBECONFIG", "keys/kube"), ("PGPASSFILE", "work/pgpass")];
    let named = named.map(|(name, file)| (name.into(), place.at(file)));
    let script = calls(json!({"command": "cat ../keys/netrc ../keys/kube pgpass"}));
    let world = World::with(&place, Confined::Yes, script, |runs| {
        runs.hiding_named(named).passing(|_| variables(&[("KUBECONFIG", "keys/kube")]))
    })
    .await;
    let text = world.result().await.text;
    assert!(!text.contains("in keys/netrc"), "{text}");
    assert!(text.contains("in keys/kube\nin work/pgpass\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_a_password_reaches_commands_only_if_it_is_passed() {
    if !confines() {
        return;
    }
    for confined in [Confined::No, Confined::Yes] {
        let place = TestDirs::new();
        let given = [
            ("HTTPS_PROXY", "http://me:hush@proxy"),
            ("PIP_INDEX_URL", "https://me:hush@host/simple"),
            ("HTTP_PROXY", "http://proxy:8080"),
            ("DB_URI", "hush"),
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_2", "http.extraheader"),
            ("GIT_CONFIG_VALUE_2", "hush"),
            ("PATH", "/usr/bin:/bin"),
        ];
        let script = calls(json!({"command": "env; echo no HTTPS_PROXY; exit 1"}));
        let world = World::with(&place, confined, script, |runs| {
            let runs = runs.surroundings(move |_| variables(&given));
            runs.passing(|_| variables(&[("PIP_INDEX_URL", "https://me:passed@host/simple")]))
        })
        .await;
        let text = world.result().await.text;
        assert!(!text.contains("hush") && !text.contains("extraheader"), "{text}");
        assert!(text.contains("PIP_INDEX_URL=https://me:passed@host/simple\n"), "{text}");
        assert!(text.contains("HTTP_PROXY=http://proxy:8080\n"), "{text}");
        assert!(text.contains("GIT_CONFIG_COUNT=2\n"), "{text}");
        assert!(text.contains("The variable HTTPS_PROXY is withheld"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_apply_to_commands_and_without_them_none_runs() {
    if !confines() {
        return;
    }
    let place = TestDirs::new();
    let limits = offshoot_sandbox::ResourceLimits::default().open_files(48);
    let script = calls(json!({"command": "ulimit -Hn; ulimit -c"}));
    let world =
        World::with(&place, Confined::Yes, script, |runs| runs.limits(move || Ok(limits.clone())))
            .await;
    let text = world.result().await.text;
    assert!(text.contains("48\n0"), "{text}");

    let script = calls(json!({"command": "touch run"}));
    let place = TestDirs::new();
    let world = World::with(&place, Confined::Yes, script, |runs| {
        runs.limits(|| Err("config.json is wrong".to_owned()))
    })
    .await;
    let text = world.result().await.text;
    assert_eq!(text, "Nothing was run: config.json is wrong");
    assert!(!place.at("work/run").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_agent_has_a_temporary_directory_until_the_sweep() {
    let place = TestDirs::new();
    let mut kept = None;
    let script = calls(json!({"command": "echo x > $TMPDIR/x && mktemp && ! ls ../data"}));
    // The directory may be below a hidden one.
    let scratch = place.at("data/scratch");
    let world = World::with(&place, Confined::Yes, script, |runs| {
        let runs = runs.scratch(&scratch);
        kept = Some(runs.clone());
        runs
    })
    .await;
    let result = world.result().await;
    assert!(!result.failed, "{result:?}");
    let agent = world.runtime.task("agent").await.unwrap().id();
    let own = scratch.join(agent.to_string());
    assert!(own.join("x").exists());
    let runs = kept.unwrap();
    assert_eq!(runs.sweep(|one| async move { one == agent }).await.unwrap(), 0);
    assert_eq!(runs.sweep(|_| async { false }).await.unwrap(), 1);
    assert!(!own.exists());
}
