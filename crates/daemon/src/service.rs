//! The service of a daemon: it takes requests and yields replies.
//!
//! A [`Service`] knows nothing of a transport. A transport reads a [`Call`] (the
//! request, its caller, and the input of its command), passes it to
//! [`Service::call`] with a [`ReplySink`] for the replies of a request that
//! streams, and sends the last reply, which the call returns. The Unix socket of
//! [`listener`](crate::listener) is one transport; the tests of this module call
//! the service in memory.
//!
//! Each request is one function in the file of its noun.

mod approval_question;
mod approvals;
mod cancel;
mod conversation;
mod events;
mod grants;
mod messages;
mod models;
mod origin;
mod output;
mod permissions;
mod profiles;
mod run;
mod sessions;
mod spawn;
mod status;
mod tasks;
#[cfg(test)]
mod tests;
mod view;
mod wait;

use std::sync::Arc;

use offshoot_backends::Input;
use offshoot_client::wire::{Chunk, Code, Reply, Request, WireError};

pub(crate) use self::origin::{Caller, RequestOrigin};
use crate::errors::wire_error;
use crate::host::Daemon;

/// Serves the requests of clients. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    daemon: Arc<Daemon>,
}

/// A request with its caller and its input.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) caller: Caller,
    /// The standard input of the command that the request spawns, if it has any.
    pub(crate) input: Option<Input>,
}

/// Receives the replies before the last one.
pub(crate) trait ReplySink: Send {
    /// Sends a reply.
    fn reply(&mut self, reply: &Reply) -> impl Future<Output = Result<(), Disconnected>> + Send;

    /// Sends a piece of a command's output.
    fn output(&mut self, chunk: Chunk) -> impl Future<Output = Result<(), Disconnected>> + Send;
}

/// The caller has gone, so its transport takes no more replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disconnected;

/// The reason for a call without a last reply.
#[derive(Debug)]
pub(crate) enum ServiceError {
    /// The daemon refuses the request, or it failed.
    Refused(WireError),
    /// The caller has gone.
    Disconnected,
}

impl From<WireError> for ServiceError {
    fn from(error: WireError) -> Self {
        Self::Refused(error)
    }
}

impl From<Disconnected> for ServiceError {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

impl From<offshoot_runtime::Error> for ServiceError {
    fn from(error: offshoot_runtime::Error) -> Self {
        Self::Refused(wire_error(&error))
    }
}

/// The last reply to a request.
type Answer = Result<Reply, ServiceError>;

impl Service {
    pub(crate) fn new(daemon: Arc<Daemon>) -> Self {
        Self { daemon }
    }

    /// Serves one request, and returns the last reply to it.
    ///
    /// A call may be dropped when its caller goes: its task stays.
    pub(crate) async fn call(&self, call: Call, replies: &mut impl ReplySink) -> Answer {
        let daemon = &*self.daemon;
        let ends_daemon = matches!(call.request, Request::Quit);
        tokio::select! {
            answer = answer(daemon, call, replies) => answer,
            // Nothing that the request waits for can be written any more.
            error = daemon.store_failure(), if !ends_daemon => Err(error.into()),
        }
    }
}

async fn answer(daemon: &Daemon, call: Call, replies: &mut impl ReplySink) -> Answer {
    let Call { request, caller, input } = call;
    let Caller { task: within, origin } = caller;
    if reads_tasks(&request) {
        daemon.wait_for_recovery().await?;
    }
    match request {
        Request::Spawn(spawn) => spawn::spawn(daemon, *spawn, (within, input), replies).await,
        Request::Run(run) => run::run(daemon, *run, origin).await,
        Request::Models { keys } => Ok(models::list(&keys)),
        Request::List(list) => tasks::list(daemon, list).await,
        Request::Show(named) => tasks::show(daemon, &named).await,
        Request::Why(named) => tasks::why(daemon, &named).await,
        Request::Tail(tail) => output::tail(daemon, &tail, within, replies).await,
        Request::Wait(wait) => wait::wait(daemon, wait, within).await,
        Request::Ack { tasks } => wait::ack(daemon, &tasks).await,
        Request::Send(message) => messages::send(daemon, &message).await,
        Request::Receipt { task, message } => messages::receipt(daemon, &task, &message).await,
        Request::Answer(answer) => messages::answer(daemon, &answer).await,
        Request::Approvals(list) => approvals::list(daemon, list).await,
        Request::Approval(sought) => approvals::show(daemon, &sought).await,
        Request::Decide(decision) => approvals::decide(daemon, *decision, origin).await,
        Request::Grants => grants::list(daemon),
        Request::Revoke { folder, rule } => {
            grants::revoke(daemon, &folder, rule.as_deref(), origin)
        }
        Request::Profiles { folder } => profiles::list(daemon, folder).await,
        Request::Trust { folder, trusting } => profiles::trust(folder, trusting, origin).await,
        Request::Trusted => profiles::trusted().await,
        Request::Cancel { task, stop } => cancel::cancel(daemon, &task, &stop).await,
        Request::Sessions { cursor, limit } => sessions::list(daemon, cursor, limit).await,
        Request::CancelSession { session, stop } => cancel::session(daemon, &session, &stop).await,
        Request::RemoveSession { session } => sessions::remove(daemon, &session).await,
        Request::Events { session, cursor } => {
            events::follow(daemon, &session, cursor, replies).await
        }
        Request::Status => status::status(daemon).await,
        Request::Check => Ok(daemon.check_store().await.map(|()| Reply::Done)?),
        Request::Quit => status::quit(daemon, replies).await,
        _ => Err(WireError::new(Code::BadRequest, "this daemon does not know the request").into()),
    }
}

/// Whether a request reads the states of tasks.
fn reads_tasks(request: &Request) -> bool {
    use Request::{Approval, Approvals, Events, List, Sessions, Show, Tail, Why};
    match request {
        Approvals(_)
        | Approval(_)
        | List(_)
        | Show(_)
        | Why(_)
        | Tail(_)
        | Sessions { .. }
        | Events { .. } => true,
        // A wait with a timeout is over on time.
        Request::Wait(wait) => wait.timeout_ms.is_none(),
        _ => false,
    }
}
