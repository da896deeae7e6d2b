//! The input of a command on its way through the daemon.

use offshoot_client::wire::{Attachment, Code, Reply, Request, Restart, Spawn, State, Stdin, Task};
use offshoot_client::{
    Client, Error, Frame, InputSender, ReplyStream, StreamItem, read_frame, write_frame,
};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::support::{World, hello, script, status, tail};

fn fed(text: &str) -> Spawn {
    Spawn { attachment: Attachment::Attached, stdin: Stdin::Follows, ..script(text) }
}

/// Spawns a command that gets input from its client.
async fn send_off(client: &Client, spawn: Spawn) -> ReplyStream {
    let mut stream = client.follow(&Request::Spawn(Box::new(spawn))).await.unwrap();
    let first = stream.next().await.unwrap();
    assert!(matches!(first, Some(StreamItem::Reply(Reply::Task(_)))), "{first:?}");
    stream
}

/// Returns the whole output of a command, and its end.
async fn end(mut stream: ReplyStream) -> (Vec<u8>, Task) {
    let (mut written, mut last) = (Vec::new(), None);
    while let Some(item) = stream.next().await.unwrap() {
        match item {
            StreamItem::Output(chunk) => written.extend(chunk.bytes),
            StreamItem::Reply(Reply::Task(task)) => last = Some(*task),
            StreamItem::Reply(_) => {}
        }
    }
    (written, last.unwrap())
}

#[tokio::test]
async fn input_passes_piece_by_piece_with_its_end() {
    let world = World::new();
    let client = world.client();
    let mut stream = send_off(&client, fed("cat")).await;
    let mut input = stream.input().unwrap();
    assert!(stream.input().is_none(), "there is one");
    input.pass(vec![0xff; InputSender::MOST]).await.unwrap();
    input.pass(Vec::new()).await.unwrap();
    input.pass(b"and this".to_vec()).await.unwrap();
    input.end().await.unwrap();
    let (written, task) = end(stream).await;
    assert_eq!(task.state, State::Completed);
    assert_eq!(written.len(), InputSender::MOST + 8, "an empty piece is not the end");
    assert!(written.ends_with(b"\xffand this"));
}

#[tokio::test]
async fn a_spawn_that_only_passes_input_gets_only_the_end() {
    let world = World::new();
    let client = world.client();
    let spawn = Spawn { attachment: Attachment::Detached, ..fed("cat") };
    let mut stream = send_off(&client, spawn).await;
    let mut input = stream.input().unwrap();
    input.pass(b"unseen".to_vec()).await.unwrap();
    input.end().await.unwrap();
    let (written, task) = end(stream).await;
    assert_eq!((written.len(), task.state), (0, State::Completed));
}

#[tokio::test]
async fn an_input_that_breaks_off_ends_and_the_command_goes_on() {
    let world = World::new();
    let client = world.client();
    let spawn = Spawn { name: Some("a".into()), ..fed("cat; echo over; exec sleep 1000") };
    let mut stream = send_off(&client, spawn).await;
    let mut input = stream.input().unwrap();
    input.pass(b"half\n".to_vec()).await.unwrap();
    drop((input, stream));
    let mut stream = client.follow(&tail("a")).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"over\n") {
        match stream.next().await.unwrap().expect("it goes on") {
            StreamItem::Output(chunk) => seen.extend(chunk.bytes),
            StreamItem::Reply(_) => {}
        }
    }
    assert_eq!(seen, b"half\nover\n");
}

#[tokio::test]
async fn a_request_amid_input_closes_only_its_connection() {
    let world = World::new();
    let client = world.client();
    let before = status(&client).await.pid;
    for strange in [Frame::json(&Request::Status).unwrap(), Frame::Input(vec![0; 65 << 10])] {
        let stream = UnixStream::connect(world.socket()).await.unwrap();
        let (mut reader, mut writer) = stream.into_split();
        let spawn = Request::Spawn(Box::new(fed("cat; exec sleep 1000")));
        for said in [Frame::json(&hello(&world.data())).unwrap(), Frame::json(&spawn).unwrap()] {
            write_frame(&mut writer, &said).await.unwrap();
        }
        write_frame(&mut writer, &strange).await.ok();
        let mut answer = Vec::new();
        reader.read_to_end(&mut answer).await.ok();
    }
    assert_eq!(status(&client).await.pid, before);
}

#[tokio::test]
async fn a_connection_whose_input_has_ended_serves_the_next_request() {
    let world = World::new();
    status(&world.client()).await;
    let stream = UnixStream::connect(world.socket()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let spawn = Request::Spawn(Box::new(fed("cat")));
    let frames = [
        Frame::json(&hello(&world.data())).unwrap(),
        Frame::json(&spawn).unwrap(),
        Frame::Input(b"x".to_vec()),
        Frame::Input(Vec::new()),
        Frame::json(&Request::Status).unwrap(),
    ];
    for frame in frames {
        write_frame(&mut writer, &frame).await.unwrap();
    }
    let done = Frame::json(&Reply::Done).unwrap();
    while read_frame(&mut reader).await.unwrap() != done {}
    let reply = read_frame(&mut reader).await.unwrap().read().unwrap();
    assert!(matches!(reply, Reply::Status(_)), "{reply:?}");
}

#[tokio::test]
async fn input_and_a_restart_are_refused_together() {
    let world = World::new();
    let client = world.client();
    let spawn = Spawn { restart: Restart::OnCrash, ..fed("cat") };
    let mut stream = client.follow(&Request::Spawn(Box::new(spawn))).await.unwrap();
    let refused = stream.next().await;
    let Err(Error::Refused(fault)) = refused else { panic!("{refused:?}") };
    assert_eq!(fault.code, Code::BadRequest);
    assert!(fault.message.contains("restarted"), "{fault}");
}
