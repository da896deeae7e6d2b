//! A scripted server on an address of this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that counts its requests.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

/// The answer of a server.
#[derive(Clone)]
pub(crate) enum Answer {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, and then others again and again without end.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, and then silence.
    Silent(Vec<u8>),
}

impl Answer {
    pub(crate) fn page(kind: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Self::Bytes([head.as_bytes(), body].concat())
    }

    pub(crate) fn redirect(to: &str) -> Self {
        let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        Self::Bytes(head.into_bytes())
    }
}

impl Server {
    /// Starts a server at an address of this machine.
    pub(crate) async fn at(
        ip: Ipv4Addr,
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let (answer, count) = (Arc::new(answer), asked.clone());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        request.push(byte);
                    }
                    let request = String::from_utf8_lossy(&request).into_owned();
                    let path = request.split(' ').nth(1).unwrap_or_default();
                    // A client that has read enough closes the connection.
                    let _ = match answer(path) {
                        Answer::Bytes(bytes) => stream.write_all(&bytes).await,
                        Answer::Endless(head, more) => {
                            let mut sent = stream.write_all(&head).await;
                            while sent.is_ok() {
                                sent = stream.write_all(&more).await;
                            }
                            sent
                        }
                        Answer::Silent(head) => {
                            let _ = stream.write_all(&head).await;
                            stream.read_u8().await.map(|_| ())
                        }
                    };
                });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }
}

/// The address that represents a public one.
pub(crate) const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);

/// An address that represents a private one.
pub(crate) const PRIVATE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

pub(crate) fn is_public(address: IpAddr) -> bool {
    address == IpAddr::V4(PUBLIC)
}
