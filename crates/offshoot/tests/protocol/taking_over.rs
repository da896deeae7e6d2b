//! One daemon after the other: starts, ends and hand-overs.

use std::process::ExitStatus;

use offshoot_client::wire::{
    Code, Hello, OnApproval, OnMissing, Request, Restart, Sealed, State, Takeover, WaitMode,
    WaitTasks,
};
use offshoot_client::{Client, Connection, Error};
use tokio::task::JoinSet;

use crate::support::{World, gone, hello, send_off, status};

async fn state_of(client: &Client, task: &str) -> State {
    let wait = WaitTasks {
        session: "main".into(),
        tasks: vec![task.to_owned()],
        mode: WaitMode::All,
        timeout_ms: None,
        keys: Sealed::default(),
        on_missing: OnMissing::Wait,
        on_approval: OnApproval::Return,
    };
    match client.ask(&Request::Wait(wait)).await.unwrap() {
        offshoot_client::wire::Reply::Waited { tasks } => tasks[0].task.state,
        other => panic!("{other:?}"),
    }
}

fn newer(world: &World) -> Hello {
    Hello { version: "999.0.0".into(), ..hello(&world.data()) }
}

#[tokio::test]
async fn many_starters_at_once_get_one_daemon() {
    let world = World::new();
    let mut starters = JoinSet::new();
    for _ in 0..16 {
        let client = world.client();
        starters.spawn(async move { status(&client).await.pid });
    }
    let mut pids = starters.join_all().await;
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
}

#[tokio::test]
async fn a_daemon_without_work_and_visitors_ends_by_itself() {
    let world = World::new();
    let mut daemon = world.daemon(&["--idle", "100ms"]);
    let client = world.client_of_running();
    let task = send_off(&client, "exit 0", Restart::Never).await;
    assert_eq!(state_of(&client, &task.handle).await, State::Completed);
    drop(client);
    assert!(daemon.wait().unwrap().success());
    assert_eq!(world.place().daemon_address(), None);
    // The next one finds everything as it was.
    assert_eq!(state_of(&world.client(), &task.id).await, State::Completed);
}

#[tokio::test]
async fn a_newer_client_has_an_idle_daemon_make_room() {
    let world = World::new();
    let mut daemon = world.daemon(&[]);
    let visitor = world.client_of_running().connect().await.unwrap();
    let refused = Connection::open(&world.socket(), &newer(&world)).await;
    let Err(Error::Refused(fault)) = refused else { panic!("{refused:?}") };
    assert_eq!(fault.code, Code::Closing);
    gone(visitor).await;
    assert!(daemon.wait().unwrap().success());
    assert_ne!(status(&world.client()).await.pid, daemon.id());
}

#[tokio::test]
async fn a_daemon_that_executes_something_goes_on_for_newer_clients() {
    let world = World::new();
    let mut daemon = world.daemon(&[]);
    let client = world.client_of_running();
    let task = send_off(&client, "exec sleep 600", Restart::Never).await;
    let served = Connection::open(&world.socket(), &newer(&world)).await.unwrap();
    assert_eq!(served.welcome().pid, daemon.id());
    let modest = Hello { taking: Takeover::AsItIs, ..newer(&world) };
    Connection::open(&world.socket(), &modest).await.unwrap();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(state_of(&world.client(), &task.id).await, State::Lost);
}

#[tokio::test]
async fn a_daemon_keeps_nothing_open_that_its_starter_had_open() {
    let world = World::new();
    let lock = world.data().with_extension("lock");
    let script = "exec 9>\"$LOCK\"; \"$OFFSHOOT\" --data \"$DATA\" tasks ls";
    let started = std::process::Command::new("sh")
        .args(["-c", script])
        .env("LOCK", &lock)
        .env("DATA", world.data())
        .env("OFFSHOOT", env!("CARGO_BIN_EXE_offshoot"))
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");
    let pid = world.place().daemon_address().unwrap().pid;
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let open: Vec<_> = open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    assert!(!open.is_empty() && !open.contains(&lock), "{open:?}");
}

#[tokio::test]
async fn a_stopped_daemon_stops_its_commands_with_a_reason() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let world = World::new();
        let mut daemon = world.daemon(&[]);
        let client = world.client_of_running();
        let mortal = send_off(&client, "exec sleep 600", Restart::Never).await;
        let lasting = send_off(&client, "exec sleep 600", Restart::OnCrash).await;
        let pid = rustix::process::Pid::from_child(&daemon);
        rustix::process::kill_process(pid, signal).unwrap();
        let ended: ExitStatus = daemon.wait().unwrap();
        assert!(ended.success(), "{ended:?}");
        let client = world.client();
        assert_eq!(state_of(&client, &mortal.id).await, State::Cancelled);
        let named = offshoot_client::wire::TaskName { session: "main".into(), task: lasting.id };
        let shown = client.ask(&Request::Show(named)).await.unwrap();
        let offshoot_client::wire::Reply::Task(shown) = shown else { panic!("{shown:?}") };
        assert!(!shown.state.is_terminal(), "it is taken up again: {shown:?}");
    }
}

#[tokio::test]
async fn a_daemon_whose_socket_is_taken_away_listens_anew() {
    let world = World::new();
    let client = world.client();
    let task = send_off(&client, "exec sleep 600", Restart::Never).await;
    let before = status(&client).await.pid;
    for taken in [world.socket(), world.data().join("daemon.json")] {
        std::fs::remove_file(taken).unwrap();
        // A client that comes meanwhile waits for it.
        assert_eq!(status(&world.client()).await.pid, before);
    }
    let named = offshoot_client::wire::TaskName { session: "main".into(), task: task.id };
    let stop = offshoot_client::wire::CancelOptions::default();
    client.ask(&Request::Cancel { task: named, stop }).await.unwrap();
}

#[tokio::test]
async fn a_daemon_that_lost_its_folder_leaves_the_next_one_alone() {
    let world = World::new();
    let mut old = world.daemon(&[]);
    // It may be writing there, and then some of it is back at once.
    while std::fs::remove_dir_all(world.data()).is_err_and(|_| world.data().exists()) {}
    let next = status(&world.client()).await.pid;
    assert_ne!(next, old.id());
    assert!(old.wait().unwrap().success(), "it notices, and ends");
    assert_eq!(status(&world.client_of_running()).await.pid, next);
}
