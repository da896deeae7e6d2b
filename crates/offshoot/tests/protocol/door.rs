//! Greetings and malformed requests.

use std::os::unix::fs::MetadataExt;

use offshoot::store::OpenStore;
use offshoot_client::wire::{Code, Reply, WIRE, WireError};
use offshoot_client::{Connection, Error, Frame, FrameError, read_frame, write_frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::support::{World, hello, status};

#[tokio::test]
async fn only_the_user_can_reach_the_socket() {
    let world = World::new();
    status(&world.client()).await;
    let socket = world.socket();
    assert_eq!(socket.metadata().unwrap().mode() & 0o777, 0o700);
    let folder = socket.parent().unwrap().metadata().unwrap();
    assert_eq!(folder.mode() & 0o777, 0o700);
    assert_eq!(folder.uid(), rustix::process::geteuid().as_raw());
}

#[tokio::test]
async fn a_connection_without_greeting_is_refused() {
    let world = World::new();
    let client = world.client();
    let before = status(&client).await.pid;
    let long = (64u32 << 20).to_be_bytes();
    let half = [0, 0, 0, 9, 0];
    for strange in [&b"GET / HTTP/1.1\r\n\r\n"[..], &long, &half, b"", &[0, 0, 0, 1, 0]] {
        let mut stream = UnixStream::connect(world.socket()).await.unwrap();
        stream.write_all(strange).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok();
        assert!(answer.is_empty(), "{answer:?}");
    }
    assert_eq!(status(&client).await.pid, before);
}

/// Returns the allocated memory of a process, in bytes.
#[cfg(target_os = "linux")]
fn data_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn requests_that_are_announced_and_not_sent_take_no_memory() {
    const CLIENTS: usize = 64;
    // More than a socket holds, so that the daemon has read some of it by the
    // time that it is written.
    const SENT: usize = 512 << 10;
    let world = World::new();
    let client = world.client();
    let daemon = status(&client).await.pid;
    let before = data_bytes(daemon);
    let mut open = Vec::new();
    for _ in 0..CLIENTS {
        let stream = UnixStream::connect(world.socket()).await.unwrap();
        let (mut reader, mut writer) = stream.into_split();
        write_frame(&mut writer, &Frame::json(&hello(&world.data())).unwrap()).await.unwrap();
        read_frame(&mut reader).await.unwrap();
        writer.write_all(&(16u32 << 20).to_be_bytes()).await.unwrap();
        writer.write_all(&vec![0; SENT]).await.unwrap();
        open.push((reader, writer));
    }
    let taken = data_bytes(daemon).saturating_sub(before);
    let sent = (CLIENTS * SENT) as u64;
    println!("{CLIENTS} clients announced 16 MiB each and sent {sent} bytes: {taken} bytes");
    // A buffer doubles as it grows, and each connection has one to read with.
    assert!(taken < 4 * sent, "{taken} bytes for {sent}");
    assert_eq!(status(&client).await.pid, daemon);
}

#[tokio::test]
async fn a_request_that_is_not_known_is_refused_and_the_next_one_served() {
    let world = World::new();
    status(&world.client()).await;
    let stream = UnixStream::connect(world.socket()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    write_frame(&mut writer, &Frame::json(&hello(&world.data())).unwrap()).await.unwrap();
    read_frame(&mut reader).await.unwrap();
    for strange in ["{\"do\":\"fly\"}", "[]", "not json", "{\"do\":\"show\"}"] {
        let frame = Frame::Json(strange.as_bytes().to_vec());
        write_frame(&mut writer, &frame).await.unwrap();
        let Reply::Error(fault) = read_frame(&mut reader).await.unwrap().read().unwrap() else {
            panic!("{strange} was understood");
        };
        assert_eq!(fault.code, Code::BadRequest, "{strange}: {fault:?}");
    }
    write_frame(&mut writer, &Frame::Json(b"{\"do\":\"status\"}".to_vec())).await.unwrap();
    let reply = read_frame(&mut reader).await.unwrap().read().unwrap();
    assert!(matches!(reply, Reply::Status(_)), "{reply:?}");
}

#[tokio::test]
async fn a_greeting_for_another_folder_is_refused() {
    let (world, other) = (World::new(), World::new());
    let daemon = status(&world.client()).await.pid;
    let refused = Connection::open(&world.socket(), &hello(&other.data())).await;
    let Err(Error::WrongDirectory { error, process }) = refused else { panic!("{refused:?}") };
    assert_eq!(process, Some(daemon));
    assert_eq!(error.code, Code::Locked);
    assert!(error.message.contains(&*world.data().to_string_lossy()), "{error}");
}

#[tokio::test]
async fn a_protocol_that_the_daemon_does_not_speak_is_refused_with_both_versions() {
    let world = World::new();
    status(&world.client()).await;
    let mut strange = hello(&world.data());
    strange.wire = (7, 9);
    let refused = Connection::open(&world.socket(), &strange).await;
    let Err(Error::Refused(WireError { code, message, hint, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(code, Code::Wire);
    assert!(message.contains(&format!("speaks protocol {WIRE}")), "{message}");
    assert!(message.contains("7 to 9"), "{message}");
    assert!(hint.unwrap().contains("offshoot daemon stop"));
}

#[tokio::test]
async fn an_embedding_program_that_holds_the_folder_is_named() {
    let world = World::new();
    let store = offshoot::Sqlite::at(world.data()).open_store().await.unwrap();
    let refused = world.client().connect().await;
    let Err(Error::Locked { holder, .. }) = &refused else { panic!("{refused:?}") };
    assert!(holder.contains(&format!("process {}", std::process::id())), "{holder}");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("does not answer") && said.contains("--data"), "{said}");
    store.close(std::time::Duration::from_secs(5)).await.unwrap();
    status(&world.client()).await;
}

#[tokio::test]
async fn without_a_daemon_and_its_start_the_error_is_clear() {
    let world = World::new();
    let refused = world.client_of_running().connect().await;
    assert!(matches!(&refused, Err(Error::NotRunning(_))), "{refused:?}");
    // The address file of a dead daemon has no effect.
    let mut daemon = world.daemon(&[]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let refused = world.client_of_running().connect().await;
    assert!(matches!(&refused, Err(Error::NotRunning(_))), "{refused:?}");
    let gone = Connection::open(&world.socket(), &hello(&world.data())).await;
    assert!(matches!(&gone, Err(Error::Connection(FrameError::Io(_)))), "{gone:?}");
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_does_not_answer_is_not_waited_for_for_ever() {
    let world = World::new();
    let socket = world.place().data().join("silent.sock");
    let _silent = tokio::net::UnixListener::bind(&socket).unwrap();
    let refused = Connection::open(&socket, &hello(&world.data())).await;
    assert!(matches!(&refused, Err(Error::Unresponsive { .. })), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("SIGCONT"));
}
