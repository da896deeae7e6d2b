//! Serving a visitor, one request at a time.
//!
//! Each request is one function in the file of its noun. It returns its answer
//! or why there is none; one that streams says what it has through [`Out`], and
//! is dropped as soon as its visitor goes.

mod cancel;
mod events;
mod messages;
mod sessions;
mod spawn;
mod status;
mod tail;
mod tasks;
mod wait;

use offshoot_client::wire::{Chunk, Code, Fault, Reply, Request};
use offshoot_client::{Frame, FrameError, read_frame, write_frame};
use offshoot_core::TaskId;
use tokio::io::AsyncBufReadExt;
use tokio::net::unix::OwnedWriteHalf;

use crate::accept::Visitor;
use crate::house::House;
use crate::run::Shared;

/// Why a request came to no answer.
pub(crate) enum Stopped {
    /// It is refused.
    Refused(Fault),
    /// Its visitor has gone.
    Gone(FrameError),
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault)
    }
}

impl From<FrameError> for Stopped {
    fn from(error: FrameError) -> Self {
        Self::Gone(error)
    }
}

impl From<offshoot_runtime::Error> for Stopped {
    fn from(error: offshoot_runtime::Error) -> Self {
        Self::Refused(crate::fault::refusal(&error))
    }
}

/// What a request comes to.
type Answer = Result<Reply, Stopped>;

/// Where a request that streams says what it has.
pub(crate) struct Out<'a>(&'a mut OwnedWriteHalf);

impl Out<'_> {
    /// Says this.
    pub(crate) async fn say(&mut self, reply: &Reply) -> Result<(), Stopped> {
        Ok(write_frame(self.0, &Frame::say(reply)?).await?)
    }

    /// Passes on a piece of output.
    pub(crate) async fn pass(&mut self, chunk: Chunk) -> Result<(), Stopped> {
        Ok(write_frame(self.0, &Frame::Output(chunk)).await?)
    }
}

/// Serves a visitor until it goes.
pub(crate) async fn serve(house: &Shared, visitor: &mut Visitor) -> Result<(), FrameError> {
    loop {
        let frame = read_frame(&mut visitor.reader).await?;
        let request = match frame.read::<Request>() {
            Ok(request) => request,
            Err(error) => {
                let text = format!("this daemon does not know the request: {error}");
                let fault = Reply::Fault(Fault::new(Code::BadRequest, text));
                write_frame(&mut visitor.writer, &Frame::say(&fault)?).await?;
                continue;
            }
        };
        let mut out = Out(&mut visitor.writer);
        let answer = tokio::select! {
            answer = answer(house, request, visitor.within, &mut out) => answer,
            error = gone(&mut visitor.reader) => return Err(error),
        };
        let reply = match answer {
            Ok(reply) => reply,
            Err(Stopped::Refused(fault)) => Reply::Fault(fault),
            Err(Stopped::Gone(error)) => return Err(error),
        };
        let mut frame = Frame::say(&reply)?;
        if frame.is_too_long() {
            let text = "the answer is too long to be sent: ask for fewer at a time";
            frame = Frame::say(&Reply::Fault(Fault::new(Code::TooLarge, text)))?;
        }
        write_frame(&mut visitor.writer, &frame).await?;
    }
}

/// Resolves when the visitor has gone. What it sends meanwhile is its next
/// request, which is read in its turn.
async fn gone<R: AsyncBufReadExt + Unpin>(reader: &mut R) -> FrameError {
    match reader.fill_buf().await {
        Ok([]) => FrameError::Closed,
        Ok(_) => std::future::pending().await,
        Err(error) => error.into(),
    }
}

/// Answers a visitor that is perhaps a process of some task's command.
async fn answer(
    house: &House,
    request: Request,
    within: Option<TaskId>,
    out: &mut Out<'_>,
) -> Answer {
    match request {
        Request::Spawn(spawn) => spawn::spawn(house, *spawn, within, out).await,
        Request::List(list) => tasks::list(house, list).await,
        Request::Show(named) => tasks::show(house, &named).await,
        Request::Why(named) => tasks::why(house, &named).await,
        Request::Tail(tail) => tail::tail(house, &tail, within, out).await,
        Request::Wait(wait) => wait::wait(house, wait, within).await,
        Request::Ack { tasks } => wait::ack(house, &tasks).await,
        Request::Send { to, text, key } => messages::send(house, &to, &text, &key).await,
        Request::Cancel { task, stop } => cancel::cancel(house, &task, &stop).await,
        Request::Sessions { cursor, limit } => sessions::list(house, cursor, limit).await,
        Request::CancelSession { session, stop } => cancel::session(house, &session, &stop).await,
        Request::RemoveSession { session } => sessions::remove(house, &session).await,
        Request::Events { session, cursor } => events::follow(house, &session, cursor, out).await,
        Request::Status => status::status(house).await,
        Request::Quit => {
            house.leave.cancel();
            Ok(Reply::Done)
        }
        _ => Err(Fault::new(Code::BadRequest, "this daemon does not know the request").into()),
    }
}
