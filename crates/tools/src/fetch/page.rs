//! A response as text of a bounded length.

use offshoot_agent::ToolError;
use offshoot_core::text;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Response, Url};

use super::html;

/// The largest number of bytes that are read.
const BYTES: usize = 2 << 20;

/// The largest number of Unicode scalars that are shown.
const LETTERS: usize = 200_000;

/// Returns the text of a response for the model.
pub(super) async fn told(url: &Url, mut response: Response) -> Result<String, ToolError> {
    let status = response.status();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let kind = header(CONTENT_TYPE).unwrap_or("text/plain").to_ascii_lowercase();
    let packed = header(CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    let shown = text::cut(url.as_str(), 300).into_owned();
    if packed || !is_text(&kind) {
        let size = response.content_length().map(|size| format!(", {size} bytes"));
        return Err(ToolError::new(format!(
            "{shown} answered {status} with what is no text ({}{}). It was not read.",
            text::cut(&kind, 100),
            size.unwrap_or_default()
        )));
    }
    let (body, whole) = body(&mut response).await?;
    let read = decoded(&body, &kind);
    let read = if kind.contains("html") { html::text(&read) } else { read };
    let cut = match whole {
        true => String::new(),
        false => format!("\n[Only the first {BYTES} bytes were read.]"),
    };
    let said = format!("{shown} answered {status}.\n\n{}{cut}", text::cut(&read, LETTERS));
    match status.is_success() {
        true => Ok(said),
        false => Err(ToolError::new(text::cut(&said, 2_000).into_owned())),
    }
}

/// Reads the body up to its limit. Also returns whether that is all.
async fn body(response: &mut Response) -> Result<(Vec<u8>, bool), ToolError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| ToolError::of(&error))? {
        let room = BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

fn is_text(kind: &str) -> bool {
    let media = kind.split(';').next().unwrap_or_default().trim();
    media.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "x-sh"]
            .iter()
            .any(|it| media.ends_with(it))
}

fn decoded(body: &[u8], kind: &str) -> String {
    // Each byte of these encodings is a character.
    match ["iso-8859-1", "latin1", "us-ascii"].iter().any(|it| kind.contains(it)) {
        true => body.iter().map(|byte| char::from(*byte)).collect(),
        false => String::from_utf8_lossy(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).into(),
    }
}
