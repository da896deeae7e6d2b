//! Lineage: set by the caller, or taken from the surroundings.

use offshoot_core::{Lineage, Owner, RunId, Space, SpawnOrigin, Stamp};
use offshoot_runtime::{BodyError, Context, Error, Runtime, Session, in_tool_call};
use offshoot_store::Memory;

use crate::support::{Gate, Test, obedient, open_on, returns, session};

fn run(number: u128) -> RunId {
    RunId::mint(Stamp::from_millis(1), number)
}

fn origin(run: Option<RunId>, tool_call: &str, agent: &str) -> SpawnOrigin {
    SpawnOrigin { run, tool_call: Some(tool_call.into()), agent: Some(agent.into()) }
}

/// The record of a spawn inside a body, as its body reads it.
async fn inside<F, Run>(session: &Session, spawn: F) -> Result<(Lineage, Lineage), Error>
where
    F: FnOnce(Context, Session) -> Run + Send + 'static,
    Run: Future<Output = Result<Lineage, Error>> + Send + 'static,
{
    let inner = session.clone();
    let parent = session
        .spawn_ephemeral(move |cx: Context| async move {
            let lineage = spawn(cx, inner).await?;
            Ok::<_, BodyError>(lineage)
        })
        .run(run(1))
        .tool_call("call-1")
        .agent("lead")
        .await?;
    let child = parent.wait().await?.decode()?;
    Ok((parent.spec().lineage.clone(), child))
}

#[tokio::test]
async fn s1_6_a_task_of_the_session_has_the_whole_lineage() -> Test {
    let (_runtime, session) = session().await;
    let spawn = session.spawn_ephemeral(returns(()));
    let task = spawn.run(run(7)).tool_call("call-7").agent("lead").await?;
    let lineage = task.record().await?.spec.lineage.clone();
    let expected = Lineage {
        space: Space::default(),
        session: session.id(),
        parent: None,
        root: task.id(),
        origin: origin(Some(run(7)), "call-7", "lead").into(),
        depth: 0,
    };
    assert_eq!(lineage, expected);
    Ok(())
}

#[tokio::test]
async fn s1_6_a_childs_lineage_hangs_below_its_parents() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) = inside(&session, |cx, _session| async move {
        let child = cx.spawn_ephemeral(|cx: Context| async move {
            let grandchild = cx.spawn_ephemeral(returns(())).await?;
            Ok::<_, BodyError>(grandchild.spec().lineage.clone())
        });
        let child = child.await?;
        let grandchild: Lineage = child.wait().await?.decode()?;
        assert_eq!(grandchild.parent, Some(child.id()));
        assert_eq!((grandchild.root, grandchild.depth), (cx.id(), 2));
        Ok(child.spec().lineage.clone())
    })
    .await?;
    assert_eq!(child.parent, Some(parent.root));
    assert_eq!((child.root, child.depth), (parent.root, 1));
    assert_eq!((child.session, &child.space), (session.id(), &parent.space));
    Ok(())
}

#[tokio::test]
async fn s1_6_omitted_fields_of_a_spawn_come_from_the_ambient_task() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) = inside(&session, |_cx, session| async move {
        Ok(session.spawn_ephemeral(returns(())).await?.spec().lineage.clone())
    })
    .await?;
    assert_eq!(child.parent, Some(parent.root), "the body around the spawn is the parent");
    assert_eq!(child.origin.run, Some(run(1)));
    assert_eq!(child.origin.tool_call.as_deref(), Some("call-1"));
    assert_eq!(child.origin.agent.as_deref(), Some("lead"));
    Ok(())
}

#[tokio::test]
async fn s1_6_a_task_spawned_through_the_session_inside_a_body_is_its_to_touch() -> Test {
    let (_runtime, session) = session().await;
    let inner = session.clone();
    let parent = session.spawn_ephemeral(|_cx: Context| async move {
        let child = inner.spawn_ephemeral(obedient).await?;
        assert_eq!(child.cancel("enough").await?, 1);
        child.wait().await?;
        Ok::<_, BodyError>(())
    });
    parent.await?.wait().await?.decode::<()>()
}

#[tokio::test]
async fn s1_6_explicit_values_win() -> Test {
    let (_runtime, session) = session().await;
    let (_, child) = inside(&session, |cx, _session| async move {
        let around = origin(Some(run(3)), "call-3", "third");
        let spawn = cx.spawn_ephemeral(returns(())).run(run(2)).tool_call("call-2");
        let child = in_tool_call(around, spawn.agent("second").into_future()).await?;
        Ok(child.spec().lineage.clone())
    })
    .await?;
    assert_eq!(child.origin.run, Some(run(2)));
    assert_eq!(child.origin.tool_call.as_deref(), Some("call-2"));
    assert_eq!(child.origin.agent.as_deref(), Some("second"));
    Ok(())
}

#[tokio::test]
async fn s1_6_an_explicit_parent_wins_over_the_ambient_task() -> Test {
    let (_runtime, session) = session().await;
    let (parent, grandchild) = inside(&session, |cx, session| async move {
        let outer = cx.clone();
        let child = cx.spawn_ephemeral(|_cx: Context| async move {
            let top = session.spawn_ephemeral(returns(())).top_level().await?;
            assert_eq!(top.spec().lineage.parent, None);
            assert_eq!(top.spec().owner(), Owner::Session(session.id()));
            let sibling = outer.spawn_ephemeral(returns(())).await?;
            Ok::<_, BodyError>(sibling.spec().lineage.clone())
        });
        child.await?.wait().await?.decode()
    })
    .await?;
    assert_eq!(grandchild.parent, Some(parent.root));
    Ok(())
}

#[tokio::test]
async fn s1_6_the_ambient_task_comes_before_the_ambient_tool_call() -> Test {
    let (_runtime, session) = session().await;
    let (_, child) = inside(&session, |cx, _session| async move {
        let around = origin(Some(run(3)), "call-3", "third");
        let spawn = cx.spawn_ephemeral(returns(())).into_future();
        Ok(in_tool_call(around, spawn).await?.spec().lineage.clone())
    })
    .await?;
    assert_eq!(child.origin.run, Some(run(1)));
    assert_eq!(child.origin.tool_call.as_deref(), Some("call-1"));
    assert_eq!(child.origin.agent.as_deref(), Some("lead"));
    Ok(())
}

#[tokio::test]
async fn s1_6_an_unset_origin_comes_from_the_ambient_tool_call() -> Test {
    let (_runtime, session) = session().await;
    let around = origin(Some(run(3)), "call-3", "third");
    let spawn = session.spawn_ephemeral(returns(())).into_future();
    let task = in_tool_call(around, spawn).await?;
    let lineage = &task.spec().lineage;
    assert_eq!(lineage.origin.run, Some(run(3)));
    assert_eq!(lineage.origin.tool_call.as_deref(), Some("call-3"));
    assert_eq!(lineage.origin.agent.as_deref(), Some("third"));
    let after = session.spawn_ephemeral(returns(())).await?;
    assert_eq!(after.spec().lineage.origin.tool_call, None, "a tool call ends with its future");
    Ok(())
}

#[tokio::test]
async fn s1_6_blank_strings_are_not_inherited() -> Test {
    let (_runtime, session) = session().await;
    let parent = session.spawn_ephemeral(|cx: Context| async move {
        let around = origin(None, "call-3", " \t");
        let child = in_tool_call(around, cx.spawn_ephemeral(returns(())).into_future()).await?;
        Ok::<_, BodyError>(child.spec().lineage.clone())
    });
    let parent = parent.tool_call("  ").agent("").await?;
    assert_eq!(parent.spec().lineage.origin.tool_call, None);
    assert_eq!(parent.spec().lineage.origin.agent, None);
    let child: Lineage = parent.wait().await?.decode()?;
    assert_eq!(child.origin.tool_call.as_deref(), Some("call-3"));
    assert_eq!(child.origin.agent, None);
    Ok(())
}

#[tokio::test]
async fn s1_6_a_body_of_one_session_is_no_parent_in_another() -> Test {
    let (runtime, session) = session().await;
    let other = runtime.session("other").await?;
    let (_, child) = inside(&session, |_cx, _session| async move {
        Ok(other.spawn_ephemeral(returns(())).await?.spec().lineage.clone())
    })
    .await?;
    assert_eq!((child.parent, child.depth), (None, 0));
    assert_ne!(child.session, session.id());
    Ok(())
}

#[tokio::test]
async fn s1_6_the_space_is_part_of_the_lineage_and_of_every_unique_key() -> Test {
    let memory = Memory::new();
    let mut sessions = Vec::new();
    for space in ["one", "two"] {
        let builder = Runtime::builder(memory.clone()).space(Space::new(space));
        let runtime = builder.open().await?;
        let session = runtime.session("main").await?;
        let task = session.spawn_ephemeral(returns(())).name("docs").await?;
        assert_eq!(task.spec().lineage.space, Space::new(space));
        task.wait().await?;
        sessions.push(session.id());
    }
    assert_ne!(sessions[0], sessions[1], "the same name in another space is another session");
    Ok(())
}

#[tokio::test]
async fn s1_6_lineage_survives_a_restart() -> Test {
    let memory = Memory::new();
    let runtime = open_on(&memory).await;
    let session = runtime.session("main").await?;
    let task = session.spawn_ephemeral(Gate::new().then(())).run(run(9)).await?;
    let before = task.record().await?.spec.lineage.clone();
    drop(runtime);
    let runtime = open_on(&memory).await;
    let found = runtime.task(&task.id().to_string()).await?;
    assert_eq!(found.record().await?.spec.lineage, before);
    Ok(())
}
