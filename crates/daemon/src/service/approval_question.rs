//! Approval requests: finding them, their short ids, and their wire form.
//!
//! An agent may have several requests at once, so the open ones are read from its
//! questions and not from its state.

use offshoot_agent::{self as agent, AgentReport, Brief, KIND};
use offshoot_client::wire::{self, ApprovalEnd, ApprovalRef, Code, Decision, TaskName, WireError};
use offshoot_core::{Caller, Question, QuestionKind, Resolution, Task, TaskId};
use offshoot_runtime::TaskList;

use crate::errors::wire_error;
use crate::host::Daemon;

/// The hexadecimal digits of a task's id in a short id.
const DIGITS: usize = 6;

/// The fewest digits of an id that a user may type.
const FEWEST: usize = 4;

/// The agents that one read returns.
const PAGE: usize = 256;

/// The most ended agents that are searched for an id that no live agent has.
const ENDED: usize = 16 * PAGE;

/// The most agents above another.
const DEEPEST: usize = 64;

/// The most requests that an ambiguity error names.
const NAMED: usize = 8;

/// An approval request, open or closed.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalQuestion {
    pub(crate) task: Task,
    pub(crate) question: Question,
}

/// An agent and the tasks above it.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) ids: Vec<TaskId>,
    /// Their handles, from the lead to the agent.
    pub(crate) handles: String,
}

/// The short id of a question of a task.
pub(crate) fn short_id(task: TaskId, number: u32) -> String {
    let digits = digits(task);
    format!("{}-{number}", &digits[digits.len() - DIGITS..])
}

fn digits(task: TaskId) -> String {
    task.to_string().replace('-', "")
}

/// The digits and the number of a possible short id.
fn parts(id: &str) -> Option<(String, u32)> {
    let (digits, number) = id.rsplit_once('-')?;
    let digits = digits.replace('-', "").to_ascii_lowercase();
    let fits = digits.len() >= FEWEST && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    fits.then_some((digits, number.parse().ok()?))
}

impl ApprovalQuestion {
    /// Its short id.
    pub(crate) fn id(&self) -> String {
        short_id(self.task.id(), self.question.number)
    }

    /// Whether its agent still waits for an answer.
    pub(crate) fn is_open(&self) -> bool {
        self.question.closed.is_none() && self.task.is_live()
    }

    /// The call that it is about.
    pub(crate) fn approval(&self) -> Option<agent::ApprovalRequest> {
        self.question.about.decode().ok()
    }

    /// Its wire form.
    pub(crate) async fn shown(&self, daemon: &Daemon) -> Result<wire::ApprovalRequest, WireError> {
        let path = path(daemon, &self.task).await?;
        self.shown_at(daemon, path).await
    }

    /// Its wire form, if the path of its agent is known.
    pub(crate) async fn shown_at(
        &self,
        daemon: &Daemon,
        at: Path,
    ) -> Result<wire::ApprovalRequest, WireError> {
        let lineage = &self.task.spec.lineage;
        // A request that cannot be decoded is shown, too, so that it can be denied.
        let about = self.approval();
        let (tool, arguments) = match &about {
            Some(about) => (about.tool.to_string(), about.arguments.to_string()),
            None => (self.question.text.to_string(), String::new()),
        };
        let brief: Option<Brief> = self.task.spec.input.decode().ok();
        let folder = brief.and_then(|brief| brief.folder);
        let about = about.as_ref();
        let report = AgentReport::of(&self.task);
        let worktree = report.as_ref().and_then(AgentReport::left).map(|left| &left.path);
        Ok(wire::ApprovalRequest {
            id: self.id(),
            session: daemon.session_name(lineage.session).await?.to_string(),
            task: self.task.id().to_string(),
            agent: at.handles,
            root: lineage.root.to_string(),
            number: self.question.number,
            tool,
            arguments,
            why: about.and_then(agent::ApprovalRequest::reasons),
            always: about.and_then(|about| about.grant.as_ref()).map(ToString::to_string),
            folder: folder.map(|folder| folder.to_string_lossy().into_owned()),
            worktree: worktree.map(|path| path.to_string_lossy().into_owned()),
            since: self.question.at.to_string(),
            closed: self.closing(daemon).await?,
        })
    }

    /// The end of the request, unless it is open.
    async fn closing(&self, daemon: &Daemon) -> Result<Option<ApprovalEnd>, WireError> {
        Ok(match &self.question.closed {
            Some(Resolution::Answered { by, answer, at }) => Some(ApprovalEnd {
                decision: answer.decode().ok().map(verdict),
                by: Some(match by {
                    Caller::Host | Caller::Session(_) => "a person".to_owned(),
                    Caller::Task(task) => match get(daemon, *task).await? {
                        Some(task) => task.handle().to_owned(),
                        None => task.to_string(),
                    },
                }),
                at: at.to_string(),
            }),
            Some(Resolution::Withdrawn { at }) => {
                Some(ApprovalEnd { decision: None, by: None, at: at.to_string() })
            }
            None if !self.task.is_live() => {
                Some(ApprovalEnd { decision: None, by: None, at: self.task.since.to_string() })
            }
            None => None,
        })
    }
}

fn verdict(decision: agent::Decision) -> Decision {
    match decision {
        agent::Decision::Once => Decision::Once,
        agent::Decision::Always => Decision::Always,
        agent::Decision::Denied { reason } => Decision::Denied { reason },
    }
}

async fn get(daemon: &Daemon, task: TaskId) -> Result<Option<Task>, WireError> {
    daemon.runtime()?.get(task).await.map_err(|error| wire_error(&error))
}

/// Finds the tasks above a task.
pub(crate) async fn path(daemon: &Daemon, task: &Task) -> Result<Path, WireError> {
    let (mut ids, mut handles) = (vec![task.id()], vec![task.handle().to_owned()]);
    let mut parent = task.spec.lineage.parent;
    while let Some(above) = parent.filter(|_| ids.len() < DEEPEST) {
        let Some(above) = get(daemon, above).await? else { break };
        ids.push(above.id());
        handles.push(above.handle().to_owned());
        parent = above.spec.lineage.parent;
    }
    handles.reverse();
    Ok(Path { ids, handles: handles.join("/") })
}

/// The approval requests of a task, oldest first.
pub(crate) async fn of_task(
    daemon: &Daemon,
    task: &Task,
) -> Result<Vec<ApprovalQuestion>, WireError> {
    let asked = daemon.questions(task.id()).await?;
    let wanted = asked.into_iter().filter(|asked| asked.wants == QuestionKind::Approval);
    Ok(wanted.map(|question| ApprovalQuestion { task: task.clone(), question }).collect())
}

/// The open approval requests of a task.
pub(crate) async fn open_of(
    daemon: &Daemon,
    task: &Task,
) -> Result<Vec<ApprovalQuestion>, WireError> {
    if *task.spec.kind != *KIND || !task.is_live() {
        return Ok(Vec::new());
    }
    let asked = of_task(daemon, task).await?;
    Ok(asked.into_iter().filter(ApprovalQuestion::is_open).collect())
}

/// The open approval requests of a task and its descendants, at most this many.
pub(crate) async fn open_below(
    daemon: &Daemon,
    task: &Task,
    most: usize,
) -> Result<Vec<(ApprovalQuestion, Path)>, WireError> {
    let runtime = daemon.runtime()?;
    let name = daemon.session_name(task.spec.lineage.session).await?;
    let Some(session) = daemon.find_session(&name).await? else { return Ok(Vec::new()) };
    let all = session.with_visibility(offshoot_core::Visibility::Subtree).tasks();
    drop(runtime);
    let mut found = Vec::new();
    let mut pages = Pages::of(all.live());
    while let Some(page) = pages.next().await? {
        for one in page {
            // A task of another root is not below this one.
            if one.id() != task.id() && one.spec.lineage.root != task.spec.lineage.root {
                continue;
            }
            for asked in open_of(daemon, &one).await? {
                let path = path(daemon, &one).await?;
                if path.ids.contains(&task.id()) {
                    found.push((asked, path));
                }
            }
            if found.len() >= most {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Agents, a page at a time.
struct Pages(Option<TaskList>);

impl Pages {
    fn of(tasks: TaskList) -> Self {
        Self(Some(tasks.kind(KIND).limit(PAGE)))
    }

    async fn next(&mut self) -> Result<Option<Vec<Task>>, WireError> {
        let Some(tasks) = self.0.take() else { return Ok(None) };
        let page = tasks.clone().await.map_err(|error| wire_error(&error))?;
        self.0 = page.next.map(|next| tasks.after(next));
        Ok(Some(page.items))
    }
}

/// Finds a request by its id, or by its agent if the agent has only one.
pub(crate) async fn find(
    daemon: &Daemon,
    sought: &ApprovalRef,
) -> Result<ApprovalQuestion, WireError> {
    let id = sought.id.trim();
    let mut found = by_id(daemon, id, daemon.runtime()?.tasks().live(), usize::MAX).await?;
    let named = TaskName { session: sought.session.clone(), task: id.to_owned() };
    let mut closed = None;
    // An id never names an agent: otherwise an agent could take the id of another one's
    // withdrawn request as its name.
    if parts(id).is_none()
        && let Ok(task) = daemon.task(&named).await
    {
        let record = task.record().await.map_err(|error| wire_error(&error))?;
        let asked = of_task(daemon, &record).await?;
        closed = asked.last().cloned();
        let is_new = |asked: &ApprovalQuestion| !found.iter().any(|one| one.id() == asked.id());
        let open: Vec<_> = asked.into_iter().filter(|a| a.is_open() && is_new(a)).collect();
        found.extend(open);
    }
    if found.is_empty() {
        let ended = daemon.runtime()?.tasks().newest_first();
        found = by_id(daemon, id, ended, ENDED).await?;
    }
    match (found.len(), closed) {
        (1, _) => Ok(found.swap_remove(0)),
        (0, Some(closed)) => Ok(closed),
        (0, None) => {
            let text = format!("no approval request has the id {id:?}");
            Err(WireError::new(Code::NotFound, text).hint("`offshoot approvals ls` lists what is"))
        }
        (many, _) => Err(ambiguous(daemon, id, &found[..many.min(NAMED)], many).await?),
    }
}

async fn ambiguous(
    daemon: &Daemon,
    id: &str,
    some: &[ApprovalQuestion],
    many: usize,
) -> Result<WireError, WireError> {
    let mut named = Vec::with_capacity(some.len());
    for asked in some {
        let path = path(daemon, &asked.task).await?;
        let tool = asked.approval().map(|about| about.tool.to_string()).unwrap_or_default();
        // A longer id where the short ones are the same.
        let number = asked.question.number;
        let alike = some.iter().filter(|other| other.id() == asked.id()).count() > 1;
        let id = if alike { format!("{}-{number}", asked.task.id()) } else { asked.id() };
        named.push(format!("{id} ({}: {tool})", path.handles));
    }
    if many > some.len() {
        named.push(format!("{} more", many - some.len()));
    }
    let text = format!("{id:?} may mean several: {}", named.join(", "));
    Ok(WireError::new(Code::Ambiguous, text).hint("use one of these ids"))
}

/// Finds the requests of this id among these agents, of which at most `most` are read.
async fn by_id(
    daemon: &Daemon,
    id: &str,
    among: TaskList,
    mut most: usize,
) -> Result<Vec<ApprovalQuestion>, WireError> {
    let Some((wanted, number)) = parts(id) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut pages = Pages::of(among);
    while let Some(page) = pages.next().await? {
        most = most.saturating_sub(page.len());
        for task in page.iter().filter(|task| digits(task.id()).ends_with(&wanted)) {
            let asked = of_task(daemon, task).await?;
            found.extend(asked.into_iter().filter(|asked| asked.question.number == number));
        }
        if most == 0 {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn an_id_is_short_and_any_longer_end_of_it_means_the_same() {
        let task = TaskId::mint(Stamp::from_micros(1), 0xabc_1234_5678);
        let id = short_id(task, 12);
        assert_eq!(id, "345678-12");
        for typed in [id.clone(), "34-56-78-12".into(), format!("{task}-12")] {
            let (wanted, number) = parts(&typed).unwrap();
            assert!(digits(task).ends_with(&wanted) && number == 12, "{typed}");
        }
        for handle in ["agent-1", "78-12", "345678", "345678-x", "", "-", "345678-99999999999"] {
            assert_eq!(parts(handle), None, "{handle}");
        }
    }
}
