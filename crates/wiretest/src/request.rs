//! A request, as it came over the wire.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// A request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// Its method.
    pub method: String,
    /// Its path, without what follows a question mark.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// Its headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub text: String,
    /// Its body as JSON; null if it is none.
    pub body: Value,
}

impl ReceivedRequest {
    /// What a header says.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Reads the next request; none if the client hangs up before one begins.
    pub(crate) async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let Some(first) = line(from).await? else {
            return Ok(None);
        };
        let mut words = first.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut headers = Vec::new();
        while let Some(header) = line(from).await?.filter(|header| !header.is_empty()) {
            if let Some((name, value)) = header.split_once(':') {
                headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes).await?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or_default();
        let (path, query) = (path.to_owned(), query.to_owned());
        Ok(Some(Self { method, path, query, headers, text, body }))
    }
}

async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = from.read_line(&mut line).await?;
    Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}
