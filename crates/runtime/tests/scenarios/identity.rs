//! Ids, handles and names.

use std::collections::HashSet;

use offshoot_core::{NameError, Naming, RESERVED, TaskId, Visibility};
use offshoot_runtime::{BodyError, Context, Error, Kind, MessageRecipient, Runtime};
use offshoot_store::Memory;

use crate::support::{Gate, Test, never, open, open_on, returns, session, until};

#[tokio::test]
async fn s1_1_an_id_is_a_version_seven_uuid() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(())).await?;
    let text = task.id().to_string();
    let groups: Vec<_> = text.split('-').collect();
    assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(groups[2].starts_with('7'), "version 7: {text}");
    assert!(groups[3].starts_with(['8', '9', 'a', 'b']), "RFC 9562 variant: {text}");
    assert_eq!(text.parse::<TaskId>().ok(), Some(task.id()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s1_1_ids_are_unique_across_threads_sessions_and_runtimes() -> Test {
    let mut spawners = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let runtime = std::sync::Arc::new(open().await);
        for name in ["one", "two"] {
            let (runtime, session) = (runtime.clone(), runtime.session(name).await?);
            spawners.spawn(async move {
                let mut ids = Vec::new();
                for _ in 0..250 {
                    ids.push(session.spawn_ephemeral(returns(())).await?.id());
                }
                drop(runtime);
                Ok::<_, Error>(ids)
            });
        }
    }
    let mut ids = Vec::new();
    while let Some(spawned) = spawners.join_next().await {
        ids.extend(spawned.expect("no panic")?);
    }
    assert_eq!(ids.len(), 1_000);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 1_000);
    Ok(())
}

#[tokio::test]
async fn s1_1_an_id_does_not_tell_the_next_one() -> Test {
    let (_runtime, session) = session().await;
    let mut random = Vec::new();
    for _ in 0..200 {
        let id = session.spawn_ephemeral(returns(())).await?.id();
        random.push(u64::from_be_bytes(id.to_bytes()[8..].try_into().expect("eight bytes")));
    }
    let steps: HashSet<_> = random.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
    assert!(steps.len() > 190, "the random half follows no pattern");
    assert!(!random.is_sorted(), "the random half does not count");
    Ok(())
}

#[tokio::test]
async fn s1_2_the_handle_is_the_given_name() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(())).name("Docs").await?;
    assert_eq!(task.handle(), "Docs");
    assert_eq!(task.spec().naming, Naming::Given);
    Ok(())
}

async fn nothing(_cx: Context, _input: ()) -> Result<(), BodyError> {
    Ok(())
}

#[tokio::test]
async fn s1_2_without_a_name_the_handle_is_counted_by_kind_or_profile() -> Test {
    let index = Kind::new("index", nothing);
    let runtime = Runtime::builder(Memory::new()).kind(&index).open().await?;
    let session = runtime.session("main").await?;
    let mut handles = Vec::new();
    for _ in 0..2 {
        handles.push(session.spawn(index.with(())).await?.handle().to_owned());
        handles.push(session.spawn_ephemeral(returns(())).await?.handle().to_owned());
        let scout = session.spawn_ephemeral(returns(())).profile("scout").await?;
        assert_eq!(scout.spec().naming, Naming::Counted);
        handles.push(scout.handle().to_owned());
    }
    assert_eq!(handles, ["index-1", "function-1", "scout-1", "index-2", "function-2", "scout-2"]);
    Ok(())
}

#[tokio::test]
async fn s1_2_handles_are_counted_per_session() -> Test {
    let runtime = open().await;
    for name in ["one", "two"] {
        let session = runtime.session(name).await?;
        let task = session.spawn_ephemeral(returns(())).await?;
        assert_eq!(task.handle(), "function-1");
    }
    Ok(())
}

#[tokio::test]
async fn s1_2_a_taken_number_is_skipped() -> Test {
    let (_runtime, session) = session().await;
    session.spawn_ephemeral(never).name("function-1").await?;
    session.spawn_ephemeral(never).name("Function-2").await?;
    let task = session.spawn_ephemeral(never).await?;
    assert_eq!(task.handle(), "function-3");
    Ok(())
}

#[tokio::test]
async fn s1_2_a_number_used_before_a_restart_is_not_given_to_another_task() -> Test {
    let memory = Memory::new();
    let first = open_on(&memory).await;
    let before = first.session("main").await?.spawn_ephemeral(returns(())).await?;
    before.wait().await?;
    drop(first);
    let second = open_on(&memory).await;
    let session = second.session("main").await?;
    let after = session.spawn_ephemeral(returns(())).await?;
    assert_ne!(before.handle(), after.handle());
    assert_eq!(session.task(before.handle()).await?.id(), before.id());
    Ok(())
}

#[tokio::test]
async fn s1_2_handle_and_id_are_taken_everywhere() -> Test {
    let (runtime, session) = session().await;
    let heard = Gate::new();
    let listens = heard.clone();
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            while cx.drain(16).await?.len() < 2 {
                cx.receive(16).await?;
                tokio::task::yield_now().await;
            }
            listens.open();
            Ok::<_, BodyError>(())
        })
        .name("listener")
        .await?;
    let id = task.id().to_string();
    for typed in ["listener", " LISTENER ", id.as_str(), id.to_uppercase().as_str()] {
        assert_eq!(session.task(typed).await?.id(), task.id());
        assert_eq!(runtime.task(typed).await?.id(), task.id());
    }
    session.send(MessageRecipient::Handle("listener"), "by handle").await?;
    session.send(MessageRecipient::Handle(&id), "by id").await?;
    heard.pass().await;
    Ok(())
}

#[tokio::test]
async fn s1_2_a_body_takes_handle_and_id_of_what_it_owns_and_of_itself() -> Test {
    let (_runtime, session) = session().await;
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(returns(())).name("child").await?;
            assert_eq!(cx.task("child").await?.id(), child.id());
            assert_eq!(cx.task(&child.id().to_string()).await?.id(), child.id());
            assert_eq!(cx.task("self").await?.id(), cx.id());
            assert_eq!(cx.task("lead").await?.id(), cx.id(), "its own handle");
            assert_eq!(cx.task(&cx.id().to_string()).await?.id(), cx.id());
            Ok::<_, BodyError>(())
        })
        .name("lead")
        .await?;
    parent.wait().await?.decode::<()>()
}

#[tokio::test]
async fn s1_2_a_handle_resolves_within_the_callers_scope() -> Test {
    let runtime = open().await;
    let (one, two) = (runtime.session("one").await?, runtime.session("two").await?);
    let of_one = one.spawn_ephemeral(never).name("docs").await?;
    assert!(matches!(two.task("docs").await, Err(Error::NotFound { .. })));
    let of_two = two.spawn_ephemeral(never).name("docs").await?;
    assert_eq!(one.task("docs").await?.id(), of_one.id());
    assert_eq!(two.task("docs").await?.id(), of_two.id());
    Ok(())
}

#[tokio::test]
async fn s1_2_an_ambiguous_handle_lists_the_ids() -> Test {
    let runtime = open().await;
    let mut ids = Vec::new();
    for name in ["one", "two"] {
        let session = runtime.session(name).await?;
        ids.push(session.spawn_ephemeral(never).name("docs").await?.id());
    }
    let error = runtime.task("docs").await.expect_err("two are called so");
    let Error::Ambiguous { what, ids: listed } = &error else { panic!("{error}") };
    assert_eq!(what, "docs");
    assert_eq!(listed.iter().collect::<HashSet<_>>(), ids.iter().collect::<HashSet<_>>());
    for id in ids {
        assert!(error.to_string().contains(&id.to_string()), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn s1_2_a_session_that_sees_its_subtree_gets_the_ambiguity() -> Test {
    let (_runtime, session) = session().await;
    let top = session.spawn_ephemeral(never).name("docs").await?;
    let (ready, gate) = (Gate::new(), Gate::new());
    let (says, waits) = (ready.clone(), gate.clone());
    session
        .spawn_ephemeral(move |cx: Context| async move {
            cx.spawn_ephemeral(never).name("docs").await?;
            says.open();
            waits.pass().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    ready.pass().await;
    assert_eq!(session.task("docs").await?.id(), top.id());
    let wide = session.with_visibility(Visibility::Subtree);
    assert!(matches!(wide.task("docs").await, Err(Error::Ambiguous { ids, .. }) if ids.len() == 2));
    Ok(())
}

#[tokio::test]
async fn s1_2_the_host_may_write_a_path_of_handles() -> Test {
    let (runtime, session) = session().await;
    let (ready, gate) = (Gate::new(), Gate::new());
    let mut children = Vec::new();
    for name in ["left", "right"] {
        let (says, waits) = (ready.clone(), gate.clone());
        let parent = session
            .spawn_ephemeral(move |cx: Context| async move {
                let child = cx.spawn_ephemeral(never).name("leaf").await?;
                cx.progress(&child.id()).await?;
                says.open();
                waits.pass().await;
                Ok::<_, BodyError>(())
            })
            .name(name)
            .await?;
        let parent = until(&parent, |task| task.progress.is_some()).await;
        children.push(parent.progress.clone().expect("a report").value.decode::<TaskId>()?);
    }
    assert!(matches!(runtime.task("leaf").await, Err(Error::Ambiguous { .. })));
    assert_eq!(runtime.task("left/leaf").await?.id(), children[0]);
    assert_eq!(runtime.task("Right/Leaf").await?.id(), children[1]);
    assert!(matches!(runtime.task("left/right").await, Err(Error::NotFound { .. })));
    assert!(matches!(session.task("left/leaf").await, Err(Error::NotFound { .. })));
    Ok(())
}

#[tokio::test]
async fn s1_3_a_name_is_trimmed() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(never).name(" \t docs \n").await?;
    assert_eq!(task.handle(), "docs");
    Ok(())
}

#[tokio::test]
async fn s1_3_a_name_has_at_most_sixty_four_characters_not_bytes() -> Test {
    let (_runtime, session) = session().await;
    let longest = "ü".repeat(64);
    let task = session.spawn_ephemeral(never).name(&longest).await?;
    assert_eq!(task.handle(), longest);
    let too_long = "u".repeat(65);
    let refused = session.spawn_ephemeral(never).name(&too_long).await;
    assert!(matches!(refused, Err(Error::Name(NameError::TooLong(65)))));
    Ok(())
}

#[tokio::test]
async fn s1_3_blank_path_like_control_uuid_and_reserved_names_are_refused() {
    let (_runtime, session) = session().await;
    let uuid = "0190a6b2-7c1e-7d3a-9b1f-3f6d2c5e8a01";
    let mut bad = vec!["", "   ", "\u{a0}", "a/b", "/", "a\nb", "a\0b", "a\u{7f}b", "a／b"];
    let (upper, plain) = (uuid.to_uppercase(), uuid.replace('-', ""));
    let (braced, urn) = (format!("{{{uuid}}}"), format!("urn:uuid:{uuid}"));
    bad.extend([uuid, &upper, &plain, &braced, &urn]);
    let reserved: Vec<_> = RESERVED
        .iter()
        .flat_map(|word| [(*word).to_owned(), word.to_uppercase(), format!(" {word} ")])
        .collect();
    bad.extend(reserved.iter().map(String::as_str));
    bad.push("ｐａｒｅｎｔ");
    for name in bad {
        let refused = session.spawn_ephemeral(never).name(name).await;
        assert!(matches!(refused, Err(Error::Name(_))), "{name:?}: {refused:?}");
    }
    assert_eq!(RESERVED, ["parent", "self", "all", "broadcast", "root"]);
}

#[tokio::test]
async fn s1_3_names_are_compared_after_nfkc_and_lowercasing() -> Test {
    let (_runtime, session) = session().await;
    for (given, same) in [("Docs", "dOCS"), ("ﬁle", "FILE"), ("Ünal", "u\u{308}nal")] {
        let task = session.spawn_ephemeral(never).name(given).await?;
        let taken = session.spawn_ephemeral(never).name(same).await;
        assert!(matches!(taken, Err(Error::NameTaken { holder, .. }) if holder == task.id()));
        assert_eq!(session.task(same).await?.id(), task.id());
        assert_eq!(task.handle(), given, "shown as it was given");
    }
    Ok(())
}

#[tokio::test]
async fn s1_7_a_name_means_the_live_task() -> Test {
    let (runtime, session) = session().await;
    let ended = session.spawn_ephemeral(returns(())).name("docs").await?;
    ended.wait().await?;
    let live = session.spawn_ephemeral(never).name("docs").await?;
    let wide = session.clone().with_visibility(Visibility::Subtree);
    assert_eq!(session.task("docs").await?.id(), live.id());
    assert_eq!(wide.task("docs").await?.id(), live.id());
    assert_eq!(runtime.task("docs").await?.id(), live.id());
    Ok(())
}

#[tokio::test]
async fn s1_7_a_name_without_a_live_task_means_the_last_finished_one() -> Test {
    let (runtime, session) = session().await;
    let mut last = None;
    for _ in 0..3 {
        let task = session.spawn_ephemeral(returns(())).name("docs").await?;
        task.wait().await?;
        last = Some(task.id());
    }
    let wide = session.clone().with_visibility(Visibility::Subtree);
    assert_eq!(Some(session.task("docs").await?.id()), last);
    assert_eq!(Some(wide.task("docs").await?.id()), last);
    assert_eq!(Some(runtime.task("docs").await?.id()), last);
    Ok(())
}
