use std::time::Duration;

use offshoot_backends::{Input, InputFeed};
use offshoot_client::DaemonDir;
use offshoot_client::wire::{
    self, ApprovalRef, Attachment, DecideApproval, Decision, Sealed, Spawn, Stdin,
};
use offshoot_core::{Stamp, TaskId};
use tempfile::TempDir;

use super::*;
use crate::host::{DaemonOptions, ShutdownMode};
use crate::log_file::LogFile;

/// A service whose daemon has a data directory and no socket.
struct InMemoryService {
    service: Service,
    daemon: Arc<Daemon>,
    _data: TempDir,
}

/// The replies of a call before the last one.
#[derive(Debug, Default)]
struct CollectedReplies {
    replies: Vec<Reply>,
    output: Vec<u8>,
}

impl ReplySink for CollectedReplies {
    async fn reply(&mut self, reply: &Reply) -> Result<(), Disconnected> {
        self.replies.push(reply.clone());
        Ok(())
    }

    async fn output(&mut self, chunk: Chunk) -> Result<(), Disconnected> {
        self.output.extend(chunk.bytes);
        Ok(())
    }
}

/// The replies to a caller that has gone.
struct ClosedReplies;

impl ReplySink for ClosedReplies {
    async fn reply(&mut self, _: &Reply) -> Result<(), Disconnected> {
        Err(Disconnected)
    }

    async fn output(&mut self, _: Chunk) -> Result<(), Disconnected> {
        Err(Disconnected)
    }
}

impl InMemoryService {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let dir = DaemonDir::at(data.path()).unwrap();
        let log = LogFile::in_directory(dir.data());
        let options = DaemonOptions { dir, idle: Duration::from_secs(60), git_limit: None };
        let daemon = Daemon::open(options, log).await.unwrap();
        Self { service: Service::new(daemon.clone()), daemon, _data: data }
    }

    /// Calls the service as a person.
    async fn call(&self, request: Request) -> (Answer, CollectedReplies) {
        self.call_as(RequestOrigin::Person, request, None).await
    }

    async fn call_as(
        &self,
        origin: RequestOrigin,
        request: Request,
        input: Option<Input>,
    ) -> (Answer, CollectedReplies) {
        let mut replies = CollectedReplies::default();
        let call = Call { request, caller: Caller { task: None, origin }, input };
        let answer = self.service.call(call, &mut replies).await;
        (answer, replies)
    }

    async fn close(self) {
        self.daemon.shut_down(ShutdownMode::Orderly).await;
    }
}

/// A request to spawn `cat` and to stay until it has ended.
fn spawn_cat(stdin: Stdin) -> Request {
    Request::Spawn(Box::new(Spawn {
        session: "main".to_owned(),
        name: Some("copy".to_owned()),
        parent: None,
        argv: vec!["cat".to_owned()],
        cwd: "/".to_owned(),
        env: Sealed::default(),
        surroundings: Sealed([("PATH".to_owned(), std::env::var("PATH").unwrap())].into()),
        umask: None,
        timeout_ms: None,
        grace_ms: None,
        restart: wire::Restart::Never,
        key: "spawn-cat".to_owned(),
        attachment: Attachment::Attached,
        stdin,
    }))
}

async fn feed(feed: InputFeed, pieces: &[&str]) {
    for piece in pieces {
        feed.pass(piece.as_bytes().to_vec()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_its_input_and_yields_its_output() {
    let memory = InMemoryService::open().await;
    let (sender, input) = Input::new();
    let spawned = memory.call_as(RequestOrigin::Person, spawn_cat(Stdin::Follows), Some(input));
    let ((answer, replies), ()) = tokio::join!(spawned, feed(sender, &["one ", "two"]));
    assert_eq!(answer.unwrap(), Reply::Done);
    assert_eq!(String::from_utf8(replies.output).unwrap(), "one two");
    let states: Vec<_> = replies
        .replies
        .iter()
        .filter_map(|reply| match reply {
            Reply::Task(task) => Some((task.handle.as_str(), task.state.is_terminal())),
            _ => None,
        })
        .collect();
    assert_eq!(states, [("copy", false), ("copy", true)]);
    memory.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_caller_has_gone_leaves_its_task() {
    let memory = InMemoryService::open().await;
    let (sender, input) = Input::new();
    let caller = Caller { task: None, origin: RequestOrigin::Person };
    let call = Call { request: spawn_cat(Stdin::Follows), caller, input: Some(input) };
    let answer = memory.service.call(call, &mut ClosedReplies).await;
    assert!(matches!(answer, Err(ServiceError::Disconnected)), "{answer:?}");
    drop(sender);
    let named = wire::TaskName { session: "main".to_owned(), task: "copy".to_owned() };
    let (answer, _) = memory.call(Request::Show(named)).await;
    assert!(matches!(answer, Ok(Reply::Task(task)) if task.handle == "copy"));
    memory.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_of_a_task_cannot_answer_for_a_person() {
    let memory = InMemoryService::open().await;
    let task = TaskId::mint(Stamp::from_micros(1), 1);
    let request = || {
        Request::Decide(Box::new(DecideApproval {
            of: ApprovalRef { session: "main".to_owned(), id: "abcdef-1".to_owned() },
            decision: Decision::Once,
            key: "decide".to_owned(),
            keys: Sealed::default(),
        }))
    };
    let (answer, _) = memory.call_as(RequestOrigin::Task(task), request(), None).await;
    assert!(matches!(answer, Err(ServiceError::Refused(error)) if error.code == Code::NotAPerson));
    let (answer, _) = memory.call(request()).await;
    assert!(matches!(answer, Err(ServiceError::Refused(error)) if error.code == Code::NotFound));
    memory.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_ends_on_request_and_reports_it() {
    let memory = InMemoryService::open().await;
    let ends = async {
        memory.daemon.shutdown.cancelled().await;
        let report = memory.daemon.shut_down(ShutdownMode::Orderly).await;
        memory.daemon.publish_shutdown(report).await;
    };
    let ((answer, replies), ()) = tokio::join!(memory.call(Request::Quit), ends);
    assert_eq!(answer.unwrap(), Reply::Done);
    assert!(matches!(&replies.replies[..], [Reply::Shutdown(report)] if report.unsettled == 0));
}
