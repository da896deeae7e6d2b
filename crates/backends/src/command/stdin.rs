//! The standard input of a command: the input of its caller, or messages as lines.

use tokio::net::unix::pipe;

use offshoot_core::DeliveryMode;
use offshoot_runtime::{Context, Error, InboxRows};

use super::body::Never;
use super::input::Input;
use super::supervisor::Supervisor;

/// The messages of one read.
const MANY: usize = 64;

/// Feeds a command once it has started, until its input has ended.
pub(crate) async fn feed(cx: &Context, supervisor: &Supervisor, input: Option<Input>) -> Never {
    let mut reports = supervisor.reports();
    let _ = reports.wait_for(|report| report.pid.is_some()).await;
    let stdin = supervisor.stdin.lock().take();
    if let Some(stdin) = stdin {
        match input {
            Some(input) => pass_on(input, &stdin).await,
            None => write_lines(cx, supervisor, stdin).await,
        }
    }
    std::future::pending().await
}

/// Passes on the input until it has ended, or the command reads no more.
async fn pass_on(mut input: Input, stdin: &pipe::Sender) {
    while let Some(piece) = input.next().await {
        if write(stdin, &piece).await.is_err() {
            break;
        }
    }
}

/// Writes each message as a line, and acknowledges it once the pipe has it.
///
/// A message that cannot be written stays unread, and returns to its sender when the task
/// ends.
async fn write_lines(cx: &Context, supervisor: &Supervisor, stdin: pipe::Sender) {
    let mut feeding = MessageWriter { cx, stdin, read: 0 };
    loop {
        match feeding.all().await {
            Ok(StdinState::Open) => supervisor.messages.notified().await,
            Ok(StdinState::Closed) => break,
            Err(error) => {
                tracing::debug!(task = %cx.id(), %error, "messages could not be read");
                supervisor.messages.notified().await;
            }
        }
    }
}

async fn write(stdin: &pipe::Sender, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        stdin.writable().await?;
        match stdin.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct MessageWriter<'a> {
    cx: &'a Context,
    stdin: pipe::Sender,
    /// The number of the last row that was read.
    read: u64,
}

/// Whether more can be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StdinState {
    Open,
    Closed,
}

impl MessageWriter<'_> {
    /// Writes all waiting messages.
    async fn all(&mut self) -> Result<StdinState, Error> {
        loop {
            let rows = self.cx.drain_after(self.read, MANY).await?;
            let Some(last) = rows.last_number() else { return Ok(StdinState::Open) };
            if self.are_lines(&rows).await? {
                if self.write(&rows).await? == StdinState::Closed {
                    return Ok(StdinState::Closed);
                }
                self.read = last;
            } else {
                // This body does not acknowledge rows of other kinds.
                let one = self.cx.drain_after(self.read, 1).await?;
                if self.are_lines(&one).await? && self.write(&one).await? == StdinState::Closed {
                    return Ok(StdinState::Closed);
                }
                self.read = one.last_number().unwrap_or(last);
            }
        }
    }

    /// Whether all of these are messages to this task, not to a task below it.
    async fn are_lines(&self, rows: &InboxRows) -> Result<bool, Error> {
        for row in rows.iter() {
            match row.message() {
                Some(message) if self.cx.is_addressee(message.id).await? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Writes these messages, and acknowledges those that the pipe has taken.
    async fn write(&mut self, rows: &InboxRows) -> Result<StdinState, Error> {
        let mut written = 0;
        let mut open = StdinState::Open;
        for message in rows.iter().filter_map(|row| row.message()) {
            let last = message.mode == DeliveryMode::Last;
            let silent = last && message.text.is_empty();
            if !silent && self.line(&message.text).await.is_err() {
                break;
            }
            open = if last { StdinState::Closed } else { StdinState::Open };
            written += 1;
            if open == StdinState::Closed {
                break;
            }
        }
        if written == rows.len() {
            rows.ack().await?;
            return Ok(open);
        }
        if written > 0 {
            // The command has stopped reading before their end.
            self.cx.drain_after(self.read, written).await?.ack().await?;
        }
        Ok(StdinState::Closed)
    }

    async fn line(&self, text: &str) -> std::io::Result<()> {
        write(&self.stdin, text.as_bytes()).await?;
        if text.ends_with('\n') { Ok(()) } else { write(&self.stdin, b"\n").await }
    }
}
