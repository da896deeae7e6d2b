//! A server that sends a hostile answer, and short ones after it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{Body, HostileAnswer, HostileWire};

/// A server that answers the first request with a hostile answer and all later
/// ones with a short text. Dropping it ends it.
#[derive(Debug)]
pub struct HostileServer {
    address: String,
    accepting: JoinHandle<()>,
}

impl HostileServer {
    /// Serves answers of this family with about `size` letters.
    pub async fn start(answer: HostileAnswer, wire: HostileWire, size: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = format!("http://{}", listener.local_addr()?);
        let first = Arc::new(AtomicBool::new(true));
        let body = Arc::new(move || match first.swap(false, Ordering::Relaxed) {
            true => answer.body(wire, size),
            false => wire.short(),
        });
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let body = body.clone();
                // A client that hangs up has seen enough.
                tokio::spawn(async move {
                    let _hung_up = serve(socket, &*body).await;
                });
            }
        });
        Ok(Self { address, accepting })
    }

    /// Where it listens, such as `http://127.0.0.1:4711`.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(socket: TcpStream, body: &(impl Fn() -> Body + Sync)) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut socket = BufReader::new(socket);
    while skip_request(&mut socket).await? {
        socket.get_mut().write_all(HEAD.as_bytes()).await?;
        let mut pending = Vec::with_capacity(2 * BATCH);
        for piece in body() {
            pending.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            pending.extend_from_slice(piece.as_bytes());
            pending.extend_from_slice(b"\r\n");
            if pending.len() >= BATCH {
                socket.get_mut().write_all(&pending).await?;
                pending.clear();
            }
        }
        pending.extend_from_slice(b"0\r\n\r\n");
        socket.get_mut().write_all(&pending).await?;
    }
    Ok(())
}

/// How much is written at once. Each piece is an HTTP chunk of its own even so.
const BATCH: usize = 32 * 1024;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";

/// Reads one request and keeps nothing of it. `false` at the end.
async fn skip_request(socket: &mut BufReader<TcpStream>) -> io::Result<bool> {
    let (mut line, mut length) = (String::new(), 0_u64);
    loop {
        line.clear();
        if socket.read_line(&mut line).await? == 0 {
            return Ok(false);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(said) = line.strip_prefix("content-length:") {
            length = said.trim().parse().unwrap_or_default();
        }
    }
    let mut body = socket.take(length);
    tokio::io::copy_buf(&mut body, &mut tokio::io::sink()).await?;
    Ok(true)
}
