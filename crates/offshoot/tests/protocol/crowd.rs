//! Many connections and large requests, beside which other clients are still served.

use std::time::Instant;

use offshoot_client::wire::{CancelOptions, Code, Reply, Request, Restart, TaskName};
use offshoot_client::{Frame, read_frame, write_frame};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

use crate::support::{World, hello, send_off, status};

/// Returns the peak memory of a process, in bytes.
#[cfg(target_os = "linux")]
fn peak_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

#[tokio::test]
async fn a_cancel_is_served_while_idle_connections_use_up_the_open_files() {
    // Silent ones, and ones that have greeted.
    for (files, connections, greet) in [(64, 120, false), (256, 400, true)] {
        let world = World::new();
        let mut daemon = world.daemon_with_files(files);
        let client = world.client_of_running();
        let task = send_off(&client, "sleep 1000", Restart::Never).await;
        let mut crowd = Vec::new();
        for _ in 0..connections {
            let mut stream = UnixStream::connect(world.socket()).await.unwrap();
            if greet {
                let greeting = Frame::json(&hello(&world.data())).unwrap();
                // One that has been closed for another is as good.
                write_frame(&mut stream, &greeting).await.ok();
            }
            crowd.push(stream);
        }
        let began = Instant::now();
        let named = TaskName { session: "main".into(), task: task.id.clone() };
        let client = world.client_of_running();
        let stop = CancelOptions { reason: None, grace_ms: None };
        let cancelled = client.ask(&Request::Cancel { task: named, stop }).await;
        let took = began.elapsed();
        println!("{files} files, {connections} connections: cancelled after {took:?}");
        assert!(cancelled.is_ok(), "{cancelled:?}");
        assert_eq!(status(&client).await.pid, daemon.id());
        drop(crowd);
        drop(world);
        daemon.wait().unwrap();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn greetings_that_are_too_long_are_turned_away_unread() {
    const CLIENTS: usize = 40;
    let world = World::new();
    let client = world.client();
    let daemon = status(&client).await.pid;
    let before = peak_bytes(daemon);
    let mut closed = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = UnixStream::connect(world.socket()).await.unwrap();
        stream.write_all(&(16u32 << 20).to_be_bytes()).await.unwrap();
        // It is closed before this has been read.
        stream.write_all(&vec![0; 8 << 20]).await.unwrap_err();
        closed.push(stream);
    }
    let taken = peak_bytes(daemon) - before;
    println!("{CLIENTS} greetings of 16 MiB: {taken} bytes");
    assert!(taken < 32 << 20, "{taken} bytes");
    assert_eq!(status(&client).await.pid, daemon);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_request_of_too_many_values_is_refused_before_they_are_read() {
    const LONG: usize = (16 << 20) - 100;
    let world = World::new();
    let daemon = status(&world.client()).await.pid;
    let before = peak_bytes(daemon);
    let many = format!(r#"{{"do":"status","x":[0{}]}}"#, ",0".repeat(LONG / 2 - 20));
    let stream = UnixStream::connect(world.socket()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    write_frame(&mut writer, &Frame::json(&hello(&world.data())).unwrap()).await.unwrap();
    read_frame(&mut reader).await.unwrap();
    write_frame(&mut writer, &Frame::Json(many.into_bytes())).await.unwrap();
    let reply = read_frame(&mut reader).await.unwrap().read().unwrap();
    let Reply::Error(fault) = reply else { panic!("{reply:?}") };
    assert_eq!(fault.code, Code::TooLarge, "{fault:?}");
    let taken = peak_bytes(daemon) - before;
    println!("a request of {} values: {taken} bytes", LONG / 2);
    assert!(taken < 64 << 20, "{taken} bytes");
}
