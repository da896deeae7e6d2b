//! A request to an agent, and its repetition after a lost answer.

use offshoot_client::Client;
use offshoot_client::wire::{
    Network, OnApproval, OnMissing, Reply, Request, Run, RunApprover, RunSession, Sealed, Sessions,
    Task, TaskName, WaitMode, WaitTasks,
};

use crate::support::World;

fn run(world: &World, talk: RunSession, key: &str) -> Request {
    Request::Run(Box::new(Run {
        talk,
        task: "What is here?".into(),
        model: Some("offline/survey".into()),
        usual: None,
        folder: world.data().to_string_lossy().into_owned(),
        profile: None,
        mode: None,
        budget: None,
        approver: RunApprover::None,
        network: Network::Closed,
        keys: Sealed::default(),
        pass_env: Sealed::default(),
        key: key.into(),
    }))
}

/// Waits for the end of the task of a request.
async fn ended(client: &Client, request: &Request) -> Task {
    let Reply::Run { task, .. } = client.ask(request).await.unwrap() else { panic!("no task") };
    let wait = WaitTasks {
        session: task.session.clone(),
        tasks: vec![task.id.clone()],
        mode: WaitMode::All,
        timeout_ms: None,
        keys: Sealed::default(),
        on_missing: OnMissing::Wait,
        on_approval: OnApproval::Return,
    };
    client.ask(&Request::Wait(wait)).await.unwrap();
    let named = TaskName { session: task.session.clone(), task: task.id };
    match client.ask(&Request::Show(named)).await.unwrap() {
        Reply::Task(task) => *task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_that_is_asked_for_again_is_the_same_one() {
    let world = World::new();
    let client = world.client();
    let first = ended(&client, &run(&world, RunSession::New, "aaaaaaaa1")).await;
    let again = ended(&client, &run(&world, RunSession::New, "aaaaaaaa1")).await;
    assert_eq!((&again.id, &again.ended_at), (&first.id, &first.ended_at));
    let latest = || run(&world, RunSession::Latest, "bbbbbbbb1");
    let second = ended(&client, &latest()).await;
    assert_ne!(second.id, first.id, "it goes on for the first");
    assert_eq!(second.session, first.session);
    assert_eq!(ended(&client, &latest()).await.id, second.id);
    let sessions = Request::Sessions { cursor: None, limit: 9 };
    let Reply::Sessions(Sessions { sessions, .. }) = client.ask(&sessions).await.unwrap() else {
        panic!("no sessions")
    };
    assert_eq!(sessions.len(), 1, "{sessions:?}");
}
