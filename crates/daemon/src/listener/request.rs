//! Reading a request from a connection.

use std::time::Duration;

use offshoot_client::wire::{Code, Request, WireError};
use offshoot_client::{Frame, FrameError, FrameMemory, FramePermit, read_frame_within};
use tokio::io::AsyncBufReadExt;

/// Timeout for the rest of a request after its first byte. An unfinished request
/// would keep its bytes in memory.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// The most values in a request. While it is read, each takes more memory than its
/// text: a few dozen bytes.
const MOST_VALUES: usize = 1 << 18;

/// Reads the next request. It waits for the first byte as long as the client stays
/// connected, and for the rest at most [`REQUEST_TIME`].
pub(super) async fn read_request<R: AsyncBufReadExt + Unpin>(
    reader: &mut R,
    memory: &FrameMemory,
) -> Result<(Frame, FramePermit), FrameError> {
    if reader.fill_buf().await?.is_empty() {
        return Err(FrameError::Closed);
    }
    let frame = tokio::time::timeout(REQUEST_TIME, read_frame_within(reader, memory)).await;
    frame.unwrap_or_else(|_| Err(FrameError::Protocol("a request that was never finished".into())))
}

/// Parses a request.
pub(super) fn parse_request(frame: &Frame) -> Result<Request, WireError> {
    if let Frame::Json(json) = frame
        && count_values(json) > MOST_VALUES
    {
        let text = format!("the request holds more than {MOST_VALUES} values");
        return Err(WireError::new(Code::TooLarge, text));
    }
    frame.read().map_err(|error| {
        let text = format!("this daemon does not know the request: {error}");
        WireError::new(Code::BadRequest, text)
    })
}

/// Counts the values of a JSON text approximately: one for each bracket and comma
/// outside of a string.
fn count_values(json: &[u8]) -> usize {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, BufReader};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_unfinished_request_ends_its_connection() {
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
            assert_eq!(count_values(json.as_bytes()), count, "{json}");
        }
        let many = format!(r#"{{"do":"status","x":[0{}]}}"#, ",0".repeat(MOST_VALUES));
        let refused = parse_request(&Frame::Json(many.into_bytes())).unwrap_err();
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
