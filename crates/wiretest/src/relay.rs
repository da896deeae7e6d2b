//! Passing a request on to another server, and its answer back, byte for byte but
//! for whether the connection is kept: each request has one of its own. What the answer says is read on the way, so that what comes back of it later
//! can be held against it.

mod heard;

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::answer::SentAnswer;
use crate::protocol::WireProtocol;
use crate::request::ReceivedRequest;

/// How a request that was passed on has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    /// The other server has closed the connection.
    Closed,
    /// The client has hung up.
    HungUp,
}

/// Passes a request on to `address`. What the answer says is told as soon as all
/// of it is there, and before the client has its end.
pub(crate) async fn pass_on(
    asked: &ReceivedRequest,
    address: &str,
    client: &mut BufReader<TcpStream>,
    mut tell: impl FnMut(SentAnswer),
) -> io::Result<RelayEnd> {
    let host = address.trim_start_matches("http://");
    let mut other = TcpStream::connect(host).await?;
    other.write_all(&request(asked)).await?;
    let language = WireProtocol::of(&asked.path);
    let (mut so_far, mut told) = (Vec::new(), false);
    let (mut piece, mut ignored) = (vec![0; 16 * 1024], [0; 1024]);
    loop {
        let read = tokio::select! {
            read = other.read(&mut piece) => read,
            // The client sends nothing more, or hangs up.
            _ = client.read(&mut ignored) => return Ok(RelayEnd::HungUp),
        };
        // A connection that is torn down is passed on as such.
        let Ok(read @ 1..) = read else { return Ok(RelayEnd::Closed) };
        let piece = match so_far.is_empty() {
            true => without_keeping(&piece[..read]),
            false => piece[..read].to_vec(),
        };
        so_far.extend_from_slice(&piece);
        if let Some(language) = language.filter(|_| !told)
            && let Some(said) = heard::whole(language, &String::from_utf8_lossy(&so_far))
        {
            told = true;
            tell(said);
        }
        client.get_mut().write_all(&piece).await?;
        client.get_mut().flush().await?;
    }
}

/// The beginning of an answer, which does not say that the connection is kept.
fn without_keeping(first: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(first);
    match text.to_ascii_lowercase().find("\r\nconnection: keep-alive\r\n") {
        Some(at) => {
            let after = at + "\r\nconnection: keep-alive".len();
            [&first[..at], b"\r\nconnection: close", &first[after..]].concat()
        }
        None => first.to_vec(),
    }
}

/// The request as it came, for a connection of its own.
fn request(asked: &ReceivedRequest) -> Vec<u8> {
    let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
    let mut head = format!("{} {}{query} HTTP/1.1\r\n", asked.method, asked.path);
    for (name, value) in asked.headers.iter().filter(|(name, _)| name != "connection") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("connection: close\r\n\r\n");
    head.push_str(&asked.text);
    head.into_bytes()
}
