//! Feeds our standard input to a command, line by line.

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::cli::desk::Desk;
use crate::cli::tasks::{EOF, send};
use crate::cli::trouble::Trouble;

/// The longest line that goes in one message. What is longer goes in pieces,
/// each of which the command reads as a line.
const LONGEST: u64 = 60 << 10;

/// What becomes of our standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The command gets it.
    PassedOn,
    /// Nobody reads it.
    LeftAlone,
}

/// Sends every line of our input to the task, then that it is over.
pub(super) async fn feed(desk: Desk, task: String) -> Result<(), Trouble> {
    let mut input = BufReader::new(tokio::io::stdin());
    loop {
        let mut line = Vec::new();
        // A line without an end must not fill the memory: it goes in pieces.
        let mut bounded = (&mut input).take(LONGEST);
        let read = bounded.read_until(b'\n', &mut line).await.map_err(|e| Trouble::other(&e))?;
        if read == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let line = String::from_utf8(line).unwrap_or_else(|line| {
            desk.screen.remark("offshoot: a line of the input is not UTF-8 and was changed");
            String::from_utf8_lossy(line.as_bytes()).into_owned()
        });
        send(&desk, &task, line).await?;
    }
    send(&desk, &task, EOF.to_owned()).await.map(drop)
}
