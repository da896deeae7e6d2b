//! Serving a visitor, one request at a time.
//!
//! Each request is one function in the file of its noun. It returns its answer
//! or why there is none; one that streams says what it has through [`Out`], and
//! is dropped as soon as its visitor goes.

mod approvals;
mod authority;
mod cancel;
mod events;
mod grants;
mod inflow;
mod messages;
mod models;
mod profiles;
mod run;
mod sessions;
mod spawn;
mod status;
mod tail;
mod talk;
mod tasks;
mod wait;

use std::time::Duration;

use offshoot_backends::Input;
use offshoot_client::wire::{Chunk, Code, Reply, Request, WireError};
use offshoot_client::{
    Frame, FrameError, FrameMemory, FramePermit, read_frame_within, write_frame,
};
use offshoot_core::TaskId;
use tokio::io::AsyncBufReadExt;
use tokio::net::unix::OwnedWriteHalf;

use self::inflow::Inflow;
use crate::accept::Visitor;
use crate::house::House;
use crate::origin::Origin;
use crate::run::Shared;

/// Time a client has to finish a request that it has begun to send. A request
/// that stays unfinished would keep its bytes in memory.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// How many values a request may hold. Each takes more memory than its text while
/// the request is read, whatever it is: a few dozen bytes for one.
const MOST_VALUES: usize = 1 << 18;

/// Why a request came to no answer.
pub(crate) enum Stopped {
    /// It is refused.
    Refused(WireError),
    /// Its visitor has gone.
    Gone(FrameError),
}

impl From<WireError> for Stopped {
    fn from(fault: WireError) -> Self {
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
        Ok(write_frame(self.0, &Frame::json(reply)?).await?)
    }

    /// Passes on a piece of output.
    pub(crate) async fn pass(&mut self, chunk: Chunk) -> Result<(), Stopped> {
        Ok(write_frame(self.0, &Frame::Output(chunk)).await?)
    }
}

/// Serves a visitor until it goes.
pub(crate) async fn serve(house: &Shared, visitor: &mut Visitor) -> Result<(), FrameError> {
    loop {
        let waiting = house.waiting.enter();
        let (frame, taken) = tokio::select! {
            read = read_request(&mut visitor.reader, &house.room) => read?,
            () = waiting.closed() => return Err(FrameError::Closed),
        };
        drop(waiting);
        let understood = understand(&frame);
        drop((frame, taken));
        let request = match understood {
            Ok(request) => request,
            Err(fault) => {
                write_frame(&mut visitor.writer, &Frame::json(&Reply::Error(fault))?).await?;
                continue;
            }
        };
        let (mut inflow, input) = Inflow::of(&request);
        let quits = matches!(request, Request::Quit);
        let visit = Visit { within: visitor.within, origin: visitor.origin(), input };
        let mut out = Out(&mut visitor.writer);
        let answer = tokio::select! {
            answer = answer(house, request, visit, &mut out) => answer,
            error = inflow.receive(&mut visitor.reader) => return Err(error),
            // Whatever the request waits for can never be written.
            fault = house.failed(), if !quits => Err(fault.into()),
        };
        let reply = match answer {
            Ok(reply) => reply,
            Err(Stopped::Refused(fault)) => Reply::Error(fault),
            Err(Stopped::Gone(error)) => return Err(error),
        };
        let mut frame = Frame::json(&reply)?;
        if frame.is_too_long() {
            let text = "the answer is too long to be sent: ask for fewer at a time";
            frame = Frame::json(&Reply::Error(WireError::new(Code::TooLarge, text)))?;
        }
        write_frame(&mut visitor.writer, &frame).await?;
        if inflow.is_open() {
            return Ok(());
        }
    }
}

/// Reads the next request: waits for its first byte as long as the client stays
/// connected, and for the rest within [`REQUEST_TIME`].
async fn read_request<R: AsyncBufReadExt + Unpin>(
    reader: &mut R,
    room: &FrameMemory,
) -> Result<(Frame, FramePermit), FrameError> {
    if reader.fill_buf().await?.is_empty() {
        return Err(FrameError::Closed);
    }
    let frame = tokio::time::timeout(REQUEST_TIME, read_frame_within(reader, room)).await;
    frame.unwrap_or_else(|_| Err(FrameError::Protocol("a request that was never finished".into())))
}

/// What a frame asks for.
fn understand(frame: &Frame) -> Result<Request, WireError> {
    if let Frame::Json(said) = frame
        && values(said) > MOST_VALUES
    {
        let text = format!("the request holds more than {MOST_VALUES} values");
        return Err(WireError::new(Code::TooLarge, text));
    }
    frame.read().map_err(|error| {
        let text = format!("this daemon does not know the request: {error}");
        WireError::new(Code::BadRequest, text)
    })
}

/// About how many values a JSON text holds: one more at each bracket and comma
/// that is not in a string.
fn values(json: &[u8]) -> usize {
    let (mut values, mut quoted, mut escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'[' | b'{' | b',' if !quoted => values += 1,
            _ => {}
        }
    }
    values
}

/// Who asks, and what comes with the request.
#[derive(Debug)]
struct Visit {
    /// The task of whose command the visitor is a process, if it is one.
    within: Option<TaskId>,
    /// Who it is.
    origin: Origin,
    /// The input of the command that is asked for.
    input: Option<Input>,
}

async fn answer(house: &House, request: Request, visit: Visit, out: &mut Out<'_>) -> Answer {
    let (within, origin) = (visit.within, visit.origin);
    if looks_at_tasks(&request) {
        house.settled().await?;
    }
    match request {
        Request::Spawn(spawn) => spawn::spawn(house, *spawn, visit, out).await,
        Request::Run(run) => run::run(house, *run, origin).await,
        Request::Models { keys } => Ok(models::list(&keys)),
        Request::List(list) => tasks::list(house, list).await,
        Request::Show(named) => tasks::show(house, &named).await,
        Request::Why(named) => tasks::why(house, &named).await,
        Request::Tail(tail) => tail::tail(house, &tail, within, out).await,
        Request::Wait(wait) => wait::wait(house, wait, within).await,
        Request::Ack { tasks } => wait::ack(house, &tasks).await,
        Request::Send(message) => messages::send(house, &message).await,
        Request::Receipt { task, message } => messages::receipt(house, &task, &message).await,
        Request::Answer(answer) => messages::answer(house, &answer).await,
        Request::Approvals(list) => approvals::list(house, list).await,
        Request::Approval(sought) => approvals::show(house, &sought).await,
        Request::Decide(decision) => approvals::decide(house, *decision, origin).await,
        Request::Grants => grants::list(house),
        Request::Revoke { folder, rule } => grants::revoke(house, &folder, rule.as_deref(), origin),
        Request::Profiles { folder } => profiles::list(house, folder).await,
        Request::Trust { folder, trusting } => profiles::trust(folder, trusting, origin).await,
        Request::Trusted => profiles::trusted().await,
        Request::Cancel { task, stop } => cancel::cancel(house, &task, &stop).await,
        Request::Sessions { cursor, limit } => sessions::list(house, cursor, limit).await,
        Request::CancelSession { session, stop } => cancel::session(house, &session, &stop).await,
        Request::RemoveSession { session } => sessions::remove(house, &session).await,
        Request::Events { session, cursor } => events::follow(house, &session, cursor, out).await,
        Request::Status => status::status(house).await,
        Request::Check => Ok(house.check_store().await.map(|()| Reply::Done)?),
        Request::Quit => quit(house, out).await,
        _ => Err(WireError::new(Code::BadRequest, "this daemon does not know the request").into()),
    }
}

/// Whether somebody wants to know where tasks stand.
fn looks_at_tasks(request: &Request) -> bool {
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
        // One that is bounded is over when it is to be.
        Request::Wait(wait) => wait.timeout_ms.is_none(),
        _ => false,
    }
}

/// Has the daemon end, and tells what became of everything.
async fn quit(house: &House, out: &mut Out<'_>) -> Answer {
    let mut stopped = house.stopped();
    house.leave.cancel();
    let told = stopped.wait_for(Option::is_some).await.ok().and_then(|told| told.clone());
    out.say(&Reply::Shutdown(told.unwrap_or_default())).await?;
    // The process stays until nobody waits to be told.
    drop(stopped);
    Ok(Reply::Done)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, BufReader};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_never_finished_ends_its_connection() {
        let (mut client, daemon) = tokio::io::duplex(64);
        let mut daemon = BufReader::new(daemon);
        client.write_all(&[0, 0, 1, 0, 0, b'{']).await.unwrap();
        let unfinished = read_request(&mut daemon, &FrameMemory::new(0)).await;
        assert!(matches!(unfinished, Err(FrameError::Protocol(_))), "{unfinished:?}");
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, count) in [
            (r#"{"do":"status"}"#, 1),
            (r#"{"do":"ack","tasks":["a","b,[{","\\\"c,"]}"#, 5),
            (r#"[[],{},"\\",1]"#, 6),
            ("1", 0),
        ] {
            assert_eq!(values(json.as_bytes()), count, "{json}");
        }
        let many = format!(r#"{{"do":"status","x":[0{}]}}"#, ",0".repeat(MOST_VALUES));
        let refused = understand(&Frame::Json(many.into_bytes())).unwrap_err();
        assert_eq!(refused.code, Code::TooLarge);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_stay_idle_between_two_requests() {
        let (mut client, daemon) = tokio::io::duplex(64);
        let mut daemon = BufReader::new(daemon);
        let read =
            tokio::spawn(async move { read_request(&mut daemon, &FrameMemory::new(0)).await });
        tokio::time::sleep(REQUEST_TIME * 10).await;
        client.write_all(&[0, 0, 0, 3, 0, b'{', b'}']).await.unwrap();
        assert_eq!(read.await.unwrap().unwrap().0, Frame::Json(b"{}".to_vec()));
    }
}
