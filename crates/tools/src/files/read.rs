//! `read`: shows the lines of a file.

mod lines;

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use offshoot_agent::built_in_tools::READ;
use offshoot_agent::{Function, Output, Tool, ToolContext, ToolError};
use offshoot_models::{Image, Picture};
use schemars::JsonSchema;
use serde::Deserialize;

use self::lines::{End, Lines, Page};
use super::root::{self, Opened};
use super::text::{Content, Encoding, HEAD, kind};
use super::{Load, Shared, Work, at_once, within};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, as seen from the folder you work in.
    path: String,
    /// The number of the first line that is shown; 1 if you do not say.
    #[serde(default)]
    offset: Option<u64>,
    /// How many lines are shown at the most.
    #[serde(default)]
    limit: Option<u64>,
}

/// The largest file that is read as a whole, in bytes.
///
/// Only such a file can be edited, and only its number of lines is shown.
pub(super) const WHOLE: u64 = 8 << 20;

/// The largest file that is read on the calling thread, in bytes.
///
/// A blocking thread would cost more than reading it.
const SMALL: usize = 64 << 10;

/// The largest picture that is shown, in bytes.
///
/// Encoding adds a third, and providers accept five megabytes.
const PICTURE: u64 = 3_500_000;

pub(super) fn tool(shared: Arc<Shared>) -> impl Tool {
    Function::built_in(
        &READ,
        "Reads a file: its lines with their numbers, or a picture. Long files are shown in parts: \
         use offset and limit to read on. Read a file before you write or edit it.",
        move |cx, asked| call(shared.clone(), cx, asked),
    )
}

async fn call(shared: Arc<Shared>, cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    if let Some(read) = at_once(&shared, &cx, |work| work.read_in_memory(&asked)) {
        return Ok(read);
    }
    within(shared, &cx, Load::File, move |work| work.read(&asked)).await
}

impl Work {
    fn read(&self, asked: &Arguments) -> Result<Output, ToolError> {
        let place = self.root.place(&asked.path)?;
        let shown = place.shown();
        let (file, opened) = root::file(self.root.look(&place)?, &shown)?;
        let page = Page::new(asked.offset, asked.limit);
        match opened.size() {
            0..=WHOLE => self.whole(&shown, (file, &opened), page),
            _ => self.part(&shown, (file, &opened), page),
        }
    }

    /// Reads a small file that the kernel has in memory.
    fn read_in_memory(&self, asked: &Arguments) -> Option<Output> {
        let place = self.root.place(&asked.path).ok()?;
        let opened = self.root.look(&place).ok()?;
        let bytes = opened.in_memory(SMALL)?;
        Some(self.told(&place.shown(), &opened, &bytes, Page::new(asked.offset, asked.limit)))
    }

    /// Reads a whole file.
    fn whole(
        &self,
        shown: &str,
        (file, opened): (File, &Opened),
        page: Page,
    ) -> Result<Output, ToolError> {
        let Some(bytes) = all(&file, opened)? else {
            return Err(ToolError::new(format!("{shown} grows as it is read. Try again.")));
        };
        Ok(self.told(shown, opened, &bytes, page))
    }

    /// Returns the output for a file that was read as a whole.
    fn told(&self, shown: &str, opened: &Opened, bytes: &[u8], page: Page) -> Output {
        let version = self.shared.known.version(bytes);
        let text = match Content::of(bytes) {
            Content::Text(text) => text,
            Content::Binary(kind) => return binary(shown, kind, bytes),
        };
        self.shared.known.note(self.agent, &opened.path, version);
        if bytes.is_empty() {
            return Output::text(format!("{shown} is empty."));
        }
        let mut lines = Lines::new(page);
        lines.all(&text.text);
        Output::text(lines.told(shown, End::Whole, text.encoding))
    }

    /// Reads a file up to the last line that is shown.
    fn part(
        &self,
        shown: &str,
        (mut file, opened): (File, &Opened),
        page: Page,
    ) -> Result<Output, ToolError> {
        let mut buffer = vec![0; 256 << 10];
        let failed = |error: std::io::Error| ToolError::new(format!("{shown}: {error}."));
        let mut lines = Lines::new(page);
        let mut begun = false;
        while !lines.is_full() {
            self.stop.check()?;
            let read = match file.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.map_err(failed)?,
            };
            let mut bytes = &buffer[..read];
            if !begun {
                match Content::of(&bytes[..bytes.len().min(HEAD)]) {
                    Content::Binary(kind) => return Ok(described(shown, kind, opened.size())),
                    Content::Text(text) if text.encoding == Encoding::Utf16 => {
                        let kind = "text in units of two bytes (UTF-16)";
                        return Ok(described(shown, kind, opened.size()));
                    }
                    Content::Text(_) => {}
                }
                bytes = bytes.strip_prefix(super::text::BOM).unwrap_or(bytes);
                begun = true;
            }
            lines.more(bytes);
            if read == 0 {
                return Ok(Output::text(lines.told(shown, End::Whole, Encoding::Utf8)));
            }
        }
        Ok(Output::text(lines.told(shown, End::Part(opened.size()), Encoding::Utf8)))
    }
}

/// Reads a whole file. Returns `None` if it grows beyond [`WHOLE`].
pub(super) fn all(file: &File, opened: &Opened) -> Result<Option<Vec<u8>>, ToolError> {
    let mut bytes = Vec::with_capacity(usize::try_from(opened.size() + 1).unwrap_or_default());
    let read = file.take(WHOLE + 1).read_to_end(&mut bytes);
    read.map_err(|error| ToolError::new(format!("It cannot be read: {error}.")))?;
    Ok((bytes.len() as u64 <= WHOLE).then_some(bytes))
}

/// Returns the output for a file that is not text. A picture is shown.
fn binary(shown: &str, kind: &'static str, bytes: &[u8]) -> Output {
    let size = bytes.len() as u64;
    match kind.starts_with("image/") && size <= PICTURE {
        true => {
            Output::text(format!("{shown} is a picture ({kind}, {size} bytes).")).image(Image {
                media_type: kind.to_owned(),
                picture: Picture::Base64(BASE64_STANDARD.encode(bytes)),
            })
        }
        false => described(shown, kind, size),
    }
}

fn described(shown: &str, kind: &str, size: u64) -> Output {
    let kind = if kind.starts_with("image/") { &format!("a picture ({kind})") } else { kind };
    Output::text(format!("{shown} is no text and not shown. It is {kind} and has {size} bytes."))
}

/// Returns the error for a change of a file that is not text.
pub(super) fn no_text(shown: &str, bytes: &[u8]) -> ToolError {
    ToolError::new(format!("{shown} is no text ({}), so it was left as it is.", kind(bytes)))
}
