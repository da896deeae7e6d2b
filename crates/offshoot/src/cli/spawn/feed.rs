//! Feeds our standard input to a command.

use std::time::Duration;

use offshoot_client::wire::Code;
use tokio::io::AsyncReadExt;

use crate::cli::desk::Desk;
use crate::cli::tasks::{EOF, send};
use crate::cli::trouble::Trouble;

/// The most that goes in one message: whole lines, as many as are there. A line
/// that is longer goes in pieces, each of which the command reads as a line.
const LONGEST: usize = 60 << 10;

/// How long to wait for room before a piece is sent again.
const PAUSE: Duration = Duration::from_millis(50);

/// What becomes of our standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The command gets it.
    PassedOn,
    /// Nobody reads it.
    LeftAlone,
}

/// Sends all of our input to the task, then that it is over.
pub(super) async fn feed(desk: Desk, task: String) -> Result<(), Trouble> {
    let mut input = tokio::io::stdin();
    let mut read = Vec::with_capacity(LONGEST);
    loop {
        let room = u64::try_from(LONGEST - read.len()).unwrap_or(u64::MAX);
        let more = (&mut input).take(room).read_buf(&mut read).await;
        if more.map_err(|error| Trouble::other(&error))? == 0 {
            break;
        }
        let ready: Vec<u8> = read.drain(..whole(&read)).collect();
        if !ready.is_empty() {
            pass(&desk, &task, text(&desk, ready)).await?;
        }
    }
    if !read.is_empty() {
        pass(&desk, &task, text(&desk, read)).await?;
    }
    pass(&desk, &task, EOF.to_owned()).await
}

/// Sends a piece, once there is room for it: a command that reads slowly holds
/// its input up.
async fn pass(desk: &Desk, task: &str, text: String) -> Result<(), Trouble> {
    loop {
        match send(desk, task, text.clone()).await {
            Err(Trouble::Told { fault, .. }) if fault.code == Code::Full => {
                tokio::time::sleep(PAUSE).await;
            }
            sent => return sent.map(drop),
        }
    }
}

/// How much of this can be sent: whole lines or, of a line that is too long,
/// whole characters.
fn whole(read: &[u8]) -> usize {
    let lines = read.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if lines > 0 || read.len() < LONGEST {
        return lines;
    }
    match std::str::from_utf8(read) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => read.len(),
    }
}

fn text(desk: &Desk, bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|bytes| {
        desk.screen.remark("offshoot: some of the input is not UTF-8 and was changed");
        String::from_utf8_lossy(bytes.as_bytes()).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_whole_and_what_is_too_long_in_whole_characters() {
        assert_eq!(whole(b"one\ntwo\nthr"), 8);
        assert_eq!(whole(b"no end yet"), 0);
        let mut long = vec![b'x'; LONGEST - 1];
        long.push("é".as_bytes()[0]);
        assert_eq!(whole(&long), LONGEST - 1, "the character is not cut");
        assert_eq!(whole(&vec![0xff; LONGEST]), LONGEST, "what is no text must not stay for ever");
    }
}
