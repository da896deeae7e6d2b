//! The server: a socket, a script, and what it has seen.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::relay::{self, RelayEnd};
use crate::reply::{ScriptedReply, Step};
use crate::request::ReceivedRequest;
use crate::strict::{Answers, Strict};

/// How often what is repeated comes.
const PACE: Duration = Duration::from_millis(2);

/// A model server. Dropping it ends it, and fails the test if a request broke a
/// rule that the test has not taken.
#[derive(Debug)]
pub struct Server {
    address: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

type Script = Box<dyn FnMut(&ReceivedRequest) -> ScriptedReply + Send>;

struct Shared {
    script: Mutex<Script>,
    strict: Mutex<Strict>,
    asked: Mutex<Vec<ReceivedRequest>>,
    violations: Mutex<Vec<String>>,
    connections: Mutex<usize>,
    requests: watch::Sender<usize>,
    // How often a client has hung up on a reply that was not over.
    hang_ups: watch::Sender<usize>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("asked", &self.asked.lock().len()).finish_non_exhaustive()
    }
}

impl Server {
    /// Answers every request as this says.
    pub async fn start(
        script: impl FnMut(&ReceivedRequest) -> ScriptedReply + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            strict: Mutex::default(),
            asked: Mutex::default(),
            violations: Mutex::default(),
            connections: Mutex::default(),
            requests: watch::Sender::new(0),
            hang_ups: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { address, shared, accepting })
    }

    /// Stands before another server: checks each request and passes it on.
    pub async fn before(address: &str) -> io::Result<Self> {
        let address = address.to_owned();
        Self::start(move |_| ScriptedReply::passed_on(&address)).await
    }

    /// Answers the first request with the first of these, and so on. A request
    /// too many breaks a rule.
    pub async fn of(replies: impl IntoIterator<Item = ScriptedReply>) -> io::Result<Self> {
        let mut replies: VecDeque<_> = replies.into_iter().collect();
        Self::start(move |_| replies.pop_front().unwrap_or_default()).await
    }

    /// Takes answers in requests that it never gave: the test makes up histories.
    #[must_use]
    pub fn with_any_answers(self) -> Self {
        *self.shared.strict.lock() = Strict::new(Answers::Any);
        self
    }

    /// Where it is, such as `http://127.0.0.1:4711`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.shared.asked.lock().clone()
    }

    /// How often it was asked so far.
    pub fn asked_times(&self) -> usize {
        *self.shared.requests.borrow()
    }

    /// Waits until it was asked this many times.
    pub async fn was_asked(&self, times: usize) {
        let mut asked = self.shared.requests.subscribe();
        // The sender lives as long as the server.
        let _ = asked.wait_for(|seen| *seen >= times).await;
    }

    /// How many connections were made to it so far.
    pub fn connections(&self) -> usize {
        *self.shared.connections.lock()
    }

    /// Takes the broken rules, so that they do not fail the test.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.violations.lock())
    }

    /// Waits until clients have hung up on this many replies that were not over.
    pub async fn hung_up(&self, times: usize) {
        let mut hang_ups = self.shared.hang_ups.subscribe();
        // The sender lives as long as the server.
        let _ = hang_ups.wait_for(|seen| *seen >= times).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        let violations = self.take_violations();
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "rules were broken: {violations:#?}");
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((socket, _)) = listener.accept().await {
        *shared.connections.lock() += 1;
        // Pieces are small, and go out when they are written. A socket that
        // cannot do that is slow, no more.
        let _ = socket.set_nodelay(true);
        tokio::spawn(serve(socket, shared.clone()));
    }
}

async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    let mut socket = BufReader::new(socket);
    while let Ok(Some(asked)) = ReceivedRequest::read(&mut socket).await {
        let reply = shared.reply(&asked);
        shared.asked.lock().push(asked.clone());
        shared.requests.send_modify(|seen| *seen += 1);
        match shared.send(&mut socket, &asked, reply.steps).await {
            SendEnd::Whole => {}
            SendEnd::Closed => return,
            SendEnd::HungUp => {
                shared.hang_ups.send_modify(|seen| *seen += 1);
                return;
            }
        }
    }
}

impl Shared {
    fn reply(&self, asked: &ReceivedRequest) -> ScriptedReply {
        let broken = self.strict.lock().check(asked);
        if let Err(broken) = broken {
            return self.violated(&broken);
        }
        let reply = (self.script.lock())(asked);
        if reply.steps.is_empty() {
            return self.violated("there is no reply to this request");
        }
        if let Some(said) = &reply.said {
            self.strict.lock().sent(asked, said.clone());
        }
        reply
    }

    fn violated(&self, rule: &str) -> ScriptedReply {
        self.violations.lock().push(rule.to_owned());
        let message = format!("a rule of the wire is broken: {rule}");
        let error = json!({"type": "invalid_request_error", "message": message});
        ScriptedReply::status(400, &[], &json!({"type": "error", "error": error}))
    }

    async fn send(
        &self,
        socket: &mut BufReader<TcpStream>,
        asked: &ReceivedRequest,
        steps: Vec<Step>,
    ) -> SendEnd {
        for step in steps {
            let sent = match step {
                Step::Send(bytes) => write(socket, &bytes).await,
                Step::Hang => {
                    wait_for_hang_up(socket).await;
                    return SendEnd::HungUp;
                }
                Step::Repeat(bytes) => loop {
                    if write(socket, &bytes).await.is_err() {
                        return SendEnd::HungUp;
                    }
                    tokio::time::sleep(PACE).await;
                },
                Step::Close => return SendEnd::Closed,
                Step::PassOn(address) => {
                    let tell = |said| self.strict.lock().sent(asked, said);
                    return match relay::pass_on(asked, &address, socket, tell).await {
                        Ok(RelayEnd::Closed) => SendEnd::Closed,
                        Ok(RelayEnd::HungUp) | Err(_) => SendEnd::HungUp,
                    };
                }
            };
            if sent.is_err() {
                return SendEnd::HungUp;
            }
        }
        SendEnd::Whole
    }
}

enum SendEnd {
    Whole,
    Closed,
    HungUp,
}

async fn write(socket: &mut BufReader<TcpStream>, bytes: &[u8]) -> io::Result<()> {
    socket.get_mut().write_all(bytes).await?;
    socket.get_mut().flush().await
}

async fn wait_for_hang_up(socket: &mut BufReader<TcpStream>) {
    let mut rest = [0; 1024];
    while let Ok(read) = socket.read(&mut rest).await {
        if read == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
