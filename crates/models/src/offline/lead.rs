//! The leading agent: it looks, spawns one agent for each directory, and
//! adds up. The state of each survey is read from the conversation.

use serde_json::{Value, json};

use crate::call::Call;
use crate::message::Part;

use super::figures::{Figures, Survey};
use super::names::names;
use super::{Depth, LABEL, OfflineReply, calling, folder_of, results, shown, survey, task};

/// How many agents it spawns in one answer.
const AT_ONCE: usize = 16;

/// How a folder state.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SurveyState {
    /// No agent was spawned for it.
    New,
    /// The spawn was refused for this reason, and no result has arrived since.
    Refused(String),
    /// An agent is at work.
    Out,
    /// It is counted.
    Counted(Figures),
    /// Its agent has counted nothing, for this reason.
    Failed(String),
}

/// What one agent counts: a folder, what the agent is called, and how it state.
struct Share<'a> {
    folder: &'a str,
    name: &'a str,
    state: SurveyState,
}

/// Looks, spawns agents, and adds up.
pub(super) fn lead(call: &Call) -> OfflineReply {
    let mut surveys = results(call, "survey");
    let Some(result) = surveys.next() else {
        return OfflineReply::Calls(vec![survey(".", Depth::Top)]);
    };
    let top = match Survey::read(result) {
        Ok(top) => top,
        Err(words) => return OfflineReply::not_counted(format!("nothing was counted: {words}")),
    };
    if top.unnamed > 0 {
        // One for each would be too many.
        return match surveys.next().map(Survey::read) {
            None => OfflineReply::Calls(vec![survey(".", Depth::Deep)]),
            Some(Ok(all)) => OfflineReply::Answer(format!("{LABEL}\nHere: {}", all.figures.told())),
            Some(Err(words)) => OfflineReply::not_counted(format!("nothing was counted: {words}")),
        };
    }
    let names = names(&top.folders);
    let parts = stand(call, &top.folders, &names);
    let out = parts.iter().filter(|part| part.state == SurveyState::Out).count();
    let new: Vec<_> = parts.iter().filter(|part| part.state == SurveyState::New).collect();
    if !new.is_empty() {
        let sent = results(call, "spawn_agent").count();
        let calls = new.into_iter().take(AT_ONCE).enumerate();
        return OfflineReply::Calls(calls.map(|(at, part)| spawn(sent + at + 1, part)).collect());
    }
    if out > 0 {
        let all = parts.len();
        return OfflineReply::Answer(format!("{LABEL}\nWaiting for {out} of {all} surveys."));
    }
    told(&top, &parts)
}

fn spawn(number: usize, part: &Share<'_>) -> Part {
    let arguments = json!({ "task": task(part.folder), "name": part.name });
    calling(&format!("spawn-{number}"), "spawn_agent", &arguments)
}

/// The state of each directory. A refused spawn is repeated once a result has
/// arrived, because then there is room.
fn stand<'a>(call: &Call, folders: &'a [String], names: &'a [String]) -> Vec<Share<'a>> {
    let mut parts: Vec<_> = folders
        .iter()
        .zip(names)
        .map(|(folder, name)| Share { folder, name, state: SurveyState::New })
        .collect();
    let mut asked: Vec<(&str, String)> = Vec::new();
    for said in call.messages.iter().flat_map(|message| &message.parts) {
        match said {
            Part::ToolCall(call) if call.name == "spawn_agent" => {
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                if let Some(folder) = arguments["task"].as_str().and_then(folder_of) {
                    asked.push((&call.id, folder.to_owned()));
                }
            }
            Part::ToolResult(result) if result.name == "spawn_agent" => {
                let folder = asked.iter().find(|(id, _)| *id == result.call).map(|(_, it)| it);
                let part =
                    parts.iter_mut().find(|part| Some(part.folder) == folder.map(|it| &**it));
                if let Some(part) = part {
                    part.state = match result.failed {
                        true => SurveyState::Refused(result.text.clone()),
                        false => SurveyState::Out,
                    };
                }
            }
            Part::Text { text, .. } => {
                let Some((name, notice)) = result_of(text) else { continue };
                let home = parts.iter_mut().find(|part| part.name == name);
                let Some(home) = home.filter(|part| part.state == SurveyState::Out) else {
                    continue;
                };
                home.state = match counted(notice) {
                    Some(figures) => SurveyState::Counted(figures),
                    None => SurveyState::Failed(reason(notice)),
                };
                for part in &mut parts {
                    if matches!(part.state, SurveyState::Refused(_)) {
                        part.state = SurveyState::New;
                    }
                }
            }
            _ => {}
        }
    }
    parts
}

/// The task whose result a notice tells, and what it tells.
fn result_of(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("<notice kind=\"result\" task=\"")?.split_once('"')
}

fn counted(notice: &str) -> Option<Figures> {
    let (attributes, body) = notice.split_once(">\n")?;
    let lines = || body.lines().filter_map(|line| line.rsplit_once(": "));
    let completed = attributes.contains("outcome=\"completed\"");
    completed.then(|| lines().find_map(|(_, figures)| Figures::read(figures))).flatten()
}

/// Why an agent that has ended has counted nothing.
fn reason(notice: &str) -> String {
    let body = notice.split_once(">\n").map_or("", |(_, body)| body);
    let body = body.strip_suffix("</notice>").unwrap_or(body);
    shown(body.trim().lines().nth(1).unwrap_or("it says nothing"))
}

fn told(top: &Survey, parts: &[Share<'_>]) -> OfflineReply {
    let mut all = top.figures;
    let (mut lines, mut missing) = (Vec::new(), Vec::new());
    for part in parts {
        let folder = shown(part.folder);
        match &part.state {
            SurveyState::Counted(figures) => {
                all.add(*figures);
                lines.push(format!("  {folder}: {}", figures.told()));
            }
            SurveyState::Refused(why) | SurveyState::Failed(why) => {
                missing.push(format!("{folder} ({why})"))
            }
            SurveyState::New | SurveyState::Out => missing.push(folder),
        }
    }
    let head = if missing.is_empty() { "Here" } else { "Here, but for what was not counted" };
    lines.insert(0, format!("{LABEL}\n{head}: {}", all.told()));
    if missing.is_empty() {
        return OfflineReply::Answer(lines.join("\n"));
    }
    let why = format!(
        "{} of {} folders were not counted: {}",
        missing.len(),
        parts.len(),
        missing.join(", ")
    );
    lines.push(why.clone());
    OfflineReply::Nothing { said: lines.join("\n"), why }
}
