//! What the server does with a request: bytes, in steps.

use serde_json::Value;

use crate::answer::SentAnswer;

/// What the server does with a request.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReply {
    pub(crate) steps: Vec<Step>,
    pub(crate) said: Option<SentAnswer>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// These bytes at once, apart from those before and after.
    Send(Vec<u8>),
    /// Nothing, until the client hangs up.
    Hang,
    /// These bytes again and again, until the client hangs up.
    Repeat(Vec<u8>),
    /// The connection is closed; nothing follows.
    Close,
    /// What the server at this address says.
    PassOn(String),
}

impl ScriptedReply {
    /// Exactly these bytes, from the status line on, and then the connection is
    /// closed.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { steps: vec![Step::Send(bytes.into()), Step::Close], said: None }
    }

    /// Whatever the server at this address says.
    pub fn passed_on(address: &str) -> Self {
        Self { steps: vec![Step::PassOn(address.to_owned())], said: None }
    }

    /// A status with headers and a body of JSON.
    pub fn status(status: u16, headers: &[(&str, &str)], body: &Value) -> Self {
        let body = body.to_string();
        let mut head = format!("HTTP/1.1 {status} .\r\ncontent-type: application/json\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        Self { steps: vec![Step::Send(head.into_bytes())], said: None }
    }

    /// A stream of events, each a chunk of its own, that ends as it should.
    pub fn events(events: impl IntoIterator<Item = String>) -> Self {
        let mut reply = Self::begun(events);
        reply.steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
        reply
    }

    /// A stream of events that has not ended.
    pub fn begun(events: impl IntoIterator<Item = String>) -> Self {
        let mut steps = vec![Step::Send(HEAD.as_bytes().to_vec())];
        steps.extend(events.into_iter().map(|event| Step::Send(chunk(event.as_bytes()))));
        Self { steps, said: None }
    }

    /// Then nothing, until the client hangs up.
    #[must_use]
    pub fn then_hang(self) -> Self {
        self.then(Step::Hang)
    }

    /// Then this piece of the body again and again, until the client hangs up.
    #[must_use]
    pub fn then_repeat(self, piece: &str) -> Self {
        self.then(Step::Repeat(chunk(piece.as_bytes())))
    }

    /// Then the connection is closed in the middle of the body.
    #[must_use]
    pub fn then_cut(self) -> Self {
        self.then(Step::Close)
    }

    /// Then the body ends in good order.
    #[must_use]
    pub fn then_end(self) -> Self {
        self.then(Step::Send(b"0\r\n\r\n".to_vec()))
    }

    /// The first so many pieces of the body alone.
    #[must_use]
    pub fn only(mut self, pieces: usize) -> Self {
        self.steps.truncate(pieces + 1);
        self.said = None;
        self
    }

    /// Then one more event.
    #[must_use]
    pub fn then_event(self, data: &Value) -> Self {
        self.then(Step::Send(chunk(format!("data: {data}\n\n").as_bytes())))
    }

    /// The same after another status line and other headers.
    #[must_use]
    pub fn with_head(mut self, head: &str) -> Self {
        if let Some(first) = self.steps.first_mut() {
            *first = Step::Send(head.as_bytes().to_vec());
        }
        self
    }

    /// Lines that end as they do elsewhere.
    #[must_use]
    pub fn with_crlf(mut self) -> Self {
        let bodies = self.bodies();
        let events = bodies.iter().map(|body| body.replace('\n', "\r\n"));
        let said = self.said.take();
        Self { said, ..Self::events(events) }
    }

    /// The same, but it ends because it is as long as an answer may be.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        let bodies = self.bodies();
        let ends = [
            (r#""finish_reason":"stop""#, r#""finish_reason":"length""#),
            (r#""stop_reason":"end_turn""#, r#""stop_reason":"max_tokens""#),
        ];
        let events = bodies.iter().map(|body| {
            ends.iter().fold(body.clone(), |body, (whole, cut)| body.replace(whole, cut))
        });
        let said = self.said.take();
        Self { said, ..Self::events(events) }
    }

    /// The body in pieces of so many bytes, which end in the middle of lines and
    /// of letters.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        let whole: Vec<u8> = self.bodies().concat().into_bytes();
        let mut steps = vec![Step::Send(HEAD.as_bytes().to_vec())];
        steps.extend(whole.chunks(bytes).map(|piece| Step::Send(chunk(piece))));
        steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
        Self { steps, said: self.said.take() }
    }

    /// All that is sent.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> String {
        let sent = self.steps.iter().filter_map(|step| match step {
            Step::Send(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        });
        sent.collect()
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The pieces of the body, without what HTTP puts around them.
    fn bodies(&self) -> Vec<String> {
        let sent = self.steps.iter().skip(1).filter_map(|step| match step {
            Step::Send(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        });
        let bodies = sent.filter_map(|chunk| {
            let (_, body) = chunk.split_once("\r\n")?;
            let body = body.strip_suffix("\r\n")?.to_owned();
            (!body.is_empty()).then_some(body)
        });
        bodies.collect()
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";

fn chunk(body: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", body.len()).into_bytes();
    chunk.extend_from_slice(body);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
