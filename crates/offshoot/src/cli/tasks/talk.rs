//! The conversation of an agent, as `tasks tail` shows it.

use offshoot_client::wire::{Block, Reply, Request, Tail, TailMode, TailStart, Task};
use offshoot_client::{Error, StreamItem};

use crate::cli::desk::Desk;
use crate::cli::show::{Form, Part, size, text};
use crate::cli::trouble::Trouble;

/// How often a stream may break in a row without having said anything.
const BREAKS: u32 = 5;

/// Whether what is shown is made safe for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// So that no control sequence is obeyed.
    Safely,
    /// As it is.
    Exactly,
}

/// Shows what was said to an agent and by it, and what is said from then on if
/// that is wanted. What comes last is the task as it is then.
pub(super) async fn show(desk: &Desk, mut tail: Tail, shown: Shown) -> Result<Task, Trouble> {
    let mut breaks = 0;
    loop {
        let mut stream = desk.client.follow(&Request::Tail(tail.clone())).await?;
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
                    say(desk, &block, shown)?;
                    // If the stream breaks, nothing is said twice.
                    tail.reading = TailStart::From(block.position + 1);
                }
                Reply::Skipped { blocks } => skip(desk, blocks)?,
                Reply::Position { at } => tail.reading = TailStart::From(at),
                Reply::Task(task) => last = Some(*task),
                _ => {}
            }
        }
        if tail.following == TailMode::Follow {
            desk.screen.tell("offshoot: the daemon went away; asking the next one");
        }
    }
}

fn say(desk: &Desk, block: &Block, shown: Shown) -> Result<(), Trouble> {
    if desk.screen.form == Form::Json {
        return desk.screen.json_line(&serde_json::json!({ "block": block }));
    }
    let Some(label) = label(block) else { return Ok(()) };
    let said = match shown {
        Shown::Safely => text::lines(&block.text),
        Shown::Exactly => block.text.clone(),
    };
    let label = desk.screen.out.paint(Part::Head, text::line(&label));
    let lines: Vec<&str> = said.trim_end().split('\n').collect();
    let said = lines.join("\n    ").replace("\n    \n", "\n\n");
    desk.screen.say(&format!("{}\n", format!("  {label} {said}").trim_end()))
}

fn skip(desk: &Desk, blocks: u64) -> Result<(), Trouble> {
    match desk.screen.form {
        Form::Json => desk.screen.json_line(&serde_json::json!({ "skipped": blocks })),
        Form::People => {
            let count = size::count(blocks, "block");
            let were = if blocks == 1 { "is" } else { "are" };
            let more = "-n shows up to 256";
            desk.screen.remark(&format!("offshoot: {count} before this {were} not shown; {more}"));
            Ok(())
        }
    }
}

/// Who says it, or what it is; nothing if nobody would want to read it.
fn label(block: &Block) -> Option<String> {
    let name = block.name.as_deref().unwrap_or("a tool");
    Some(match (block.kind.as_str(), block.name.as_deref()) {
        ("user", _) => "is asked:".to_owned(),
        ("assistant", _) => "says:".to_owned(),
        ("thought", _) if block.text.trim().is_empty() => return None,
        ("thought", _) => "thinks:".to_owned(),
        ("tool_use", _) => format!("calls {name}:"),
        ("tool_result", _) => format!("gets from {name}:"),
        ("notice", _) => "is told:".to_owned(),
        (_, Some("partial")) => "was cut off after:".to_owned(),
        (_, Some("summary")) => "sums up:".to_owned(),
        (_, Some("running")) => "ends its turn.".to_owned(),
        (_, Some("fork")) => "knows what whoever sent it off knew.".to_owned(),
        (_, Some("continued")) => "goes on in a new task.".to_owned(),
        // What a whole answer took, and what is kept to be read on.
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
    fn what_nobody_would_read_is_left_out() {
        assert_eq!(labelled("tool_use", Some("ask")).as_deref(), Some("calls ask:"));
        assert_eq!(labelled("other", Some("partial")).as_deref(), Some("was cut off after:"));
        assert_eq!(labelled("other", Some("answered")), None);
        assert_eq!(labelled("other", None), None);
    }
}
