//! The conversation of an agent, as `tasks tail` shows it.

use offshoot_client::wire::{Block, Reply, Request, Tail, TailMode, TailStart, Task};
use offshoot_client::{Error, StreamItem};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::show::{Format, Part, size, text};

/// The number of failures in a row before a stream is given up.
const BREAKS: u32 = 5;

/// Whether the text is made safe for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rendering {
    /// Without control sequences.
    Safe,
    /// The exact bytes.
    Exact,
}

/// Prints the conversation of an agent, follows it if requested, and returns
/// the task as it is at the end.
pub(super) async fn show(
    cx: &CommandContext,
    mut tail: Tail,
    shown: Rendering,
) -> Result<Task, CliError> {
    let mut breaks = 0;
    loop {
        let mut stream = cx.client.follow(&Request::Tail(tail.clone())).await?;
        let mut last = None;
        loop {
            let item = match stream.next().await {
                Ok(Some(StreamItem::Reply(said))) => said,
                Ok(Some(_)) => continue,
                Ok(None) => return last.ok_or_else(|| Error::WrongAnswer.into()),
                Err(error) if error.is_broken_off() && breaks < BREAKS => {
                    breaks += 1;
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            match item {
                Reply::Block(block) => {
                    breaks = 0;
                    say(cx, &block, shown)?;
                    // If the stream breaks, no block is printed twice.
                    tail.reading = TailStart::From(block.position + 1);
                }
                Reply::Skipped { blocks } => skip(cx, blocks)?,
                Reply::Position { at } => tail.reading = TailStart::From(at),
                Reply::Task(task) => last = Some(*task),
                _ => {}
            }
        }
        if tail.following == TailMode::Follow {
            cx.screen.tell("offshoot: the daemon died; connecting to the next one");
        }
    }
}

fn say(cx: &CommandContext, block: &Block, shown: Rendering) -> Result<(), CliError> {
    if cx.screen.format == Format::Json {
        return cx.screen.json_line(&serde_json::json!({ "block": block }));
    }
    let Some(label) = label(block) else { return Ok(()) };
    let said = match shown {
        Rendering::Safe => text::lines(&block.text),
        Rendering::Exact => block.text.clone(),
    };
    let label = cx.screen.out.paint(Part::Head, text::line(&label));
    let lines: Vec<&str> = said.trim_end().split('\n').collect();
    let said = lines.join("\n    ").replace("\n    \n", "\n\n");
    cx.screen.say(&format!("{}\n", format!("  {label} {said}").trim_end()))
}

fn skip(cx: &CommandContext, blocks: u64) -> Result<(), CliError> {
    match cx.screen.format {
        Format::Json => cx.screen.json_line(&serde_json::json!({ "skipped": blocks })),
        Format::Text => {
            let count = size::count(blocks, "block");
            let were = if blocks == 1 { "is" } else { "are" };
            let more = "-n shows up to 256";
            cx.screen.remark(&format!("offshoot: {count} before this {were} not shown; {more}"));
            Ok(())
        }
    }
}

/// The label of a block; none for a block that is not printed.
fn label(block: &Block) -> Option<String> {
    let name = block.name.as_deref().unwrap_or("a tool");
    Some(match (block.kind.as_str(), block.name.as_deref()) {
        ("user", _) => "reads:".to_owned(),
        ("assistant", _) => "says:".to_owned(),
        ("thought", _) if block.text.trim().is_empty() => return None,
        ("thought", _) => "thinks:".to_owned(),
        ("tool_use", _) => format!("calls {name}:"),
        ("tool_result", _) => format!("gets from {name}:"),
        ("notice", _) => "is notified:".to_owned(),
        (_, Some("partial")) => "was cut off after:".to_owned(),
        (_, Some("summary")) => "sums up:".to_owned(),
        (_, Some("running")) => "ends its turn.".to_owned(),
        (_, Some("fork")) => "starts with the conversation of its parent.".to_owned(),
        (_, Some("continued")) => "continues in a new task.".to_owned(),
        // Bookkeeping blocks, such as the usage of an answer.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(kind: &str, name: Option<&str>) -> Option<String> {
        let (kind, name) = (kind.to_owned(), name.map(str::to_owned));
        label(&Block { position: 0, kind, name, text: "x".into(), refused: None })
    }

    #[test]
    fn bookkeeping_blocks_are_not_printed() {
        assert_eq!(labelled("tool_use", Some("ask")).as_deref(), Some("calls ask:"));
        assert_eq!(labelled("other", Some("partial")).as_deref(), Some("was cut off after:"));
        assert_eq!(labelled("other", Some("answered")), None);
        assert_eq!(labelled("other", None), None);
    }
}
