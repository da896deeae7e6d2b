//! `write`: replaces a whole file.

use std::sync::Arc;

use offshoot_agent::built_in_tools::WRITE;
use offshoot_agent::{Function, Tool, ToolContext, ToolError};
use offshoot_core::permissions::{Access, Action, Rule};
use schemars::JsonSchema;
use serde::Deserialize;

use super::file_path::FilePath;
use super::read::{WHOLE, no_text};
use super::text::{Content, count};
use super::{Load, Shared, Work, diff, guard, within};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, as seen from the folder you work in. Folders that are missing
    /// are made.
    path: String,
    /// All that it shall hold.
    content: String,
}

/// The name of the tool.
const NAME: &str = WRITE.name;

pub(super) fn tool(shared: Arc<Shared>) -> impl Tool {
    Function::built_in(
        &WRITE,
        "Writes a whole file. One that is there is replaced, if you have read it as it is. To \
         change a part of a file use edit.",
        move |cx, asked| call(shared.clone(), cx, asked),
    )
    .wishing(|cx, asked: &Arguments| wish(cx, NAME, &asked.path))
    // A file that has this content already stays. After a crash a file is replaced only
    // once the agent has read it again.
}

/// Returns the access of a call that changes the file at a path.
pub(super) fn wish(cx: &ToolContext, tool: &str, path: &str) -> Access {
    let wish = Access::new(tool, Action::Change);
    let place = cx.folder().map(|folder| FilePath::of(folder, path));
    // A path that leads out is refused by the call.
    let why = place.and_then(Result::ok).and_then(|place| guard::why(place.path()));
    match why {
        Some(why) => wish.guarded(&why),
        None => wish.lasting(Rule::tool(tool)),
    }
}

async fn call(shared: Arc<Shared>, cx: ToolContext, asked: Arguments) -> Result<String, ToolError> {
    within(shared, &cx, Load::File, move |work| work.write(&asked)).await
}

impl Work {
    fn write(&self, Arguments { path, content }: &Arguments) -> Result<String, ToolError> {
        if content.len() as u64 > WHOLE {
            return Err(ToolError::new(format!(
                "A file may be written with {WHOLE} bytes at most."
            )));
        }
        let mut target = self.target(path)?;
        let shown = super::file_path::shown(&target.path);
        let size = format!(
            "{}, {}",
            count(content.len() as u64, "byte"),
            count(content.lines().count() as u64, "line")
        );
        let Some(old) = target.old.take() else {
            self.replace(target, content.as_bytes())?;
            return Ok(format!("{shown} was made: {size}."));
        };
        if old.bytes == content.as_bytes() {
            let version = self.shared.known.version(&old.bytes);
            self.shared.known.note(self.agent, &target.path, version);
            return Ok(format!("{shown} holds exactly this already: {size}."));
        }
        let before = match Content::of(&old.bytes) {
            Content::Binary(_) => return Err(no_text(&shown, &old.bytes)),
            Content::Text(text) => text.text.into_owned(),
        };
        self.check_known(&target, &old)?;
        target.old = Some(old);
        self.replace(target, content.as_bytes())?;
        let diff = diff::unified(&before, content);
        Ok(format!("{shown} was replaced: {size}.\n{}", diff.trim_end_matches('\n')))
    }
}
