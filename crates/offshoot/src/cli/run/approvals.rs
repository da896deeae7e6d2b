//! The approval requests of a run: shown at the terminal one after the other, or
//! printed with the command that decides them.

use std::collections::{HashSet, VecDeque};
use std::io::Write;
use std::time::Duration;

use offshoot_client::Error;
use offshoot_client::wire::{ApprovalRef, ApprovalRequest, Code, Decision, Reply, Request, Task};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::tty::{PendingLine, TerminalInput, Tty};
use crate::cli::approval_watch::ApprovalWatch;
use crate::cli::approvals::send;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::show::approval::{self, ApprovalView, SOME};
use crate::cli::show::{Part, exact, text};

/// The time for which input is ignored after one request replaced another.
///
/// The user may still be typing the answer to the first one.
const STARTLED: Duration = Duration::from_millis(700);

/// The reason of a denial without a terminal.
const NO_APPROVER: &str = "there is no approver";

/// The number of lines from which a request is named again at its end.
const HIGH: usize = 16;

/// The width of that short form.
const SHORT: usize = 60;

/// How approval requests are decided during this run.
#[derive(Debug)]
pub(super) enum ApprovalChannel {
    /// The user decides at this terminal.
    Terminal(Tty),
    /// The user decides with `offshoot approve` in another terminal.
    Elsewhere,
    /// Every request is denied.
    Deny,
}

/// The approval requests of a run.
pub(super) struct ApprovalPrompt {
    cx: CommandContext,
    requests: ApprovalWatch,
    answers: ApprovalChannel,
    waiting: VecDeque<ApprovalRequest>,
    /// The request shown to the user.
    current: Option<ApprovalRequest>,
    /// The requests that were decided here or printed.
    done: HashSet<String>,
    /// The printed requests that are decided elsewhere.
    elsewhere: Vec<ApprovalRequest>,
    /// Lookups of the decisions of those that are closed.
    closing: JoinSet<ClosedRequest>,
    /// The request to the daemon that is in progress.
    doing: Option<JoinHandle<Finished>>,
    /// The line that the user is typing.
    typing: Option<PendingLine>,
    /// Input before this time is ignored.
    startled: Option<Instant>,
}

/// The result of a request to the daemon.
enum Finished {
    /// A decision was sent from here, or failed.
    Answered(Box<Result<ApprovalRequest, CliError>>),
    /// The request was closed elsewhere.
    Closed(Option<Box<ApprovalRequest>>),
}

/// A closed request, and its final record if it is known.
type ClosedRequest = (ApprovalRequest, Option<Box<ApprovalRequest>>);

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
enum ParsedAnswer {
    /// A decision.
    Answer(Decision),
    /// Not a decision.
    Nothing,
}

/// The unique key of a request.
fn key(asked: &ApprovalRequest) -> String {
    format!("{}-{}", asked.task, asked.number)
}

impl ApprovalPrompt {
    /// Follows the requests of a task and of the tasks below it.
    pub(super) fn new(cx: &CommandContext, lead: &Task, answers: ApprovalChannel) -> Self {
        Self {
            cx: cx.clone(),
            requests: ApprovalWatch::new(cx, &lead.session, vec![lead.id.clone()]),
            answers,
            waiting: VecDeque::new(),
            current: None,
            done: HashSet::new(),
            elsewhere: Vec::new(),
            closing: JoinSet::new(),
            doing: None,
            typing: None,
            startled: None,
        }
    }

    /// Whether a request is on the screen; nothing else is printed meanwhile.
    pub(super) fn is_asking(&self) -> bool {
        self.current.is_some()
    }

    /// Handles the next event. Safe to drop while it waits.
    pub(super) async fn next(&mut self) {
        let typed = async {
            match &mut self.typing {
                Some(typing) => typing.line().await,
                None => std::future::pending().await,
            }
        };
        let done = async {
            match &mut self.doing {
                Some(doing) => doing.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            open = self.requests.next() => self.take(open),
            Some(closed) = self.closing.join_next() => if let Ok(closed) = closed {
                self.tell(closed);
            },
            done = done => {
                self.doing = None;
                match done {
                    Ok(Finished::Answered(answered)) => self.answered(*answered),
                    Ok(Finished::Closed(closed)) => self.closed(closed.as_deref()),
                    Err(_) => {}
                }
            }
            typed = typed => {
                self.typing = None;
                self.read(typed);
            }
        }
        self.ask_next();
        self.listen();
    }

    /// Reads a line while a request is on the screen.
    fn listen(&mut self) {
        let is_asked = self.current.is_some() && self.doing.is_none();
        match (&self.answers, is_asked) {
            (ApprovalChannel::Terminal(tty), true) if self.typing.is_none() => match tty.ask() {
                Ok(typing) => self.typing = Some(typing),
                Err(_) => self.read(TerminalInput::Gone),
            },
            (ApprovalChannel::Terminal(_), true) => {}
            _ => self.typing = None,
        }
    }

    /// Ends the prompt, and prints the decisions of requests decided elsewhere.
    pub(super) async fn leave(&mut self) {
        if self.current.take().is_some() {
            write("\n");
        }
        self.follow(&[]);
        while let Some(closed) = self.closing.join_next().await {
            if let Ok(closed) = closed {
                self.tell(closed);
            }
        }
    }

    /// Looks up the decisions of printed requests that are closed.
    fn follow(&mut self, open: &[ApprovalRequest]) {
        let is_open = |told: &ApprovalRequest| open.iter().any(|one| key(one) == key(told));
        let gone: Vec<_> = self.elsewhere.extract_if(.., |told| !is_open(told)).collect();
        for asked in gone {
            let sought = ApprovalRef { session: asked.session.clone(), id: key(&asked) };
            let cx = self.cx.clone();
            self.closing.spawn(async move {
                match cx.client.ask(&Request::Approval(sought)).await {
                    Ok(Reply::Approval(found)) => (asked, Some(found)),
                    _ => (asked, None),
                }
            });
        }
    }

    /// Prints the decision of a request that was decided elsewhere.
    fn tell(&self, (asked, found): ClosedRequest) {
        let Some(found) = found else { return };
        let (agent, tool) = (exact::on_one_line(&asked.agent), exact::on_one_line(&asked.tool));
        let what = text::cut(&approval::in_short(&asked), SHORT);
        let said = match &found.closed {
            Some(closed) => exact::on_one_line(&approval::closed(closed)),
            None => "left open".to_owned(),
        };
        self.cx.screen.remark(&format!("  {agent}: {tool} ({what}): {said}"));
    }

    /// Updates the open requests.
    fn take(&mut self, open: Vec<ApprovalRequest>) {
        self.follow(&open);
        let current = self.current.as_ref().map(key);
        let is_gone = current.as_ref().is_some_and(|own| open.iter().all(|one| key(one) != *own));
        self.waiting = open
            .into_iter()
            .filter(|one| !self.done.contains(&key(one)) && Some(key(one)) != current)
            .collect();
        if is_gone && self.doing.is_none() {
            self.find_out();
        }
    }

    /// Looks up the decision of the request on the screen.
    fn find_out(&mut self) {
        let Some(current) = &self.current else { return };
        let sought = ApprovalRef { session: current.session.clone(), id: key(current) };
        let cx = self.cx.clone();
        self.doing = Some(tokio::spawn(async move {
            match cx.client.ask(&Request::Approval(sought)).await {
                Ok(Reply::Approval(found)) => Finished::Closed(Some(found)),
                Ok(_) | Err(Error::Refused(_)) => Finished::Closed(None),
                Err(error) => Finished::Answered(Box::new(Err(error.into()))),
            }
        }));
    }

    /// Shows the next request, unless one is on the screen.
    fn ask_next(&mut self) {
        if self.current.is_some() || self.doing.is_some() {
            return;
        }
        let Some(next) = self.waiting.pop_front() else { return };
        match &self.answers {
            ApprovalChannel::Terminal(tty) => {
                tty.forget();
                self.show(&next);
                self.current = Some(next);
            }
            ApprovalChannel::Elsewhere => {
                self.done.insert(key(&next));
                let show = self.cx.command_anywhere("approvals show", &[&next.id]);
                self.cx.screen.remark(approval::asked(&next, self.look(&show)).trim_end());
                let how = approval::answer_hint(&self.cx, &next.id);
                self.cx.screen.remark(&format!("  {how}"));
                self.elsewhere.push(next);
                self.ask_next();
            }
            ApprovalChannel::Deny => {
                let denied = Decision::Denied { reason: Some(NO_APPROVER.to_owned()) };
                self.answer(&next, denied);
                self.current = Some(next);
            }
        }
    }

    fn look<'a>(&self, whole: &'a str) -> ApprovalView<'a> {
        let screen = self.cx.screen;
        ApprovalView { width: screen.err_width, colour: screen.err, most: Some(SOME), whole }
    }

    /// Prints a request and the possible decisions.
    fn show(&self, asked: &ApprovalRequest) {
        let whole = format!("all: {}", self.cx.command_anywhere("approvals show", &[&asked.id]));
        let mut shown = format!("\n{}", approval::asked(asked, self.look(&whole)));
        if shown.lines().count() > HIGH {
            // The start may have scrolled off the screen.
            let (agent, tool) = (exact::on_one_line(&asked.agent), exact::on_one_line(&asked.tool));
            let what = text::cut(&approval::in_short(asked), SHORT);
            shown.push_str(&format!("  this request is for {agent} to use {tool} ({what})\n"));
        }
        if let more @ 1.. = self.waiting.len() {
            shown.push_str(&format!("  {more} more requests after this\n"));
        }
        shown.push_str(&self.choices(asked));
        write(&shown);
    }

    fn choices(&self, asked: &ApprovalRequest) -> String {
        let paint = |key: &str| self.cx.screen.err.paint(Part::Name, key);
        let (yes, always, no) = (paint("y"), paint("a"), paint("n"));
        let always = approval::covers(asked)
            .map(|covers| format!(", {always} always ({covers})"))
            .unwrap_or_default();
        format!("Allow it? {yes} once{always}, {no} no, {no} and why: ")
    }

    /// Handles a typed line.
    fn read(&mut self, typed: TerminalInput) {
        let Some(current) = self.current.clone() else { return };
        if self.startled.take().is_some_and(|until| Instant::now() < until) {
            write("  (ignored: typed while the request was replaced)\n");
            return write(&self.choices(&current));
        }
        let line = match typed {
            TerminalInput::Line(line) => line,
            TerminalInput::End => {
                let how = approval::answer_hint(&self.cx, &current.id);
                self.done.insert(key(&current));
                self.current = None;
                return write(&format!("\n  left open; {how}\n"));
            }
            TerminalInput::Gone => {
                self.answers = ApprovalChannel::Elsewhere;
                self.current = None;
                return write("\n  the terminal is gone; decide with `offshoot approve`\n");
            }
        };
        match parse_answer(&line, current.always.as_deref()) {
            ParsedAnswer::Answer(verdict) => self.answer(&current, verdict),
            ParsedAnswer::Nothing => {
                write(&format!("  not an answer: {}\n", exact::on_one_line(&line)));
                write(&self.choices(&current));
            }
        }
    }

    fn answer(&mut self, asked: &ApprovalRequest, verdict: Decision) {
        let cx = self.cx.clone();
        let id = key(asked);
        self.doing = Some(tokio::spawn(async move {
            Finished::Answered(Box::new(send(&cx, id, verdict).await))
        }));
    }

    /// Prints the result of a decision made here.
    fn answered(&mut self, answered: Result<ApprovalRequest, CliError>) {
        let Some(current) = self.current.clone() else { return };
        match answered {
            Ok(decided) => {
                let said = decided.closed.as_ref().and_then(|closed| closed.decision.as_ref());
                let said = said.map(approval::said).unwrap_or_default();
                self.say(&current, &said);
            }
            Err(CliError::Report { fault, .. }) => match fault.code {
                Code::Answered | Code::NotFound => self.say(&current, &fault.message),
                _ => {
                    write(&format!("  cannot send the decision: {}\n", fault.message));
                    if let ApprovalChannel::Terminal(_) = self.answers {
                        return write(&self.choices(&current));
                    }
                }
            },
            Err(CliError::ReaderGone) => {}
        }
        self.done.insert(key(&current));
        self.current = None;
    }

    /// Prints the end of a request that was handled here.
    fn say(&self, asked: &ApprovalRequest, said: &str) {
        match self.answers {
            ApprovalChannel::Deny => {
                let (agent, tool) = (exact::on_one_line(&asked.agent), &asked.tool);
                let what = approval::in_short(asked);
                let tool = exact::on_one_line(tool);
                self.cx
                    .screen
                    .remark(&format!("offshoot: {agent} may not use {tool} ({what}): {said}"));
            }
            _ => write(&format!("  {}\n", exact::on_one_line(said))),
        }
    }

    /// Prints that the request on the screen was decided elsewhere.
    fn closed(&mut self, found: Option<&ApprovalRequest>) {
        let Some(current) = self.current.take() else { return };
        self.done.insert(key(&current));
        let closed = found.and_then(|found| found.closed.as_ref());
        let said = closed.map_or_else(|| "withdrawn".to_owned(), approval::closed);
        write(&format!("\n  meanwhile: {}\n", exact::on_one_line(&said)));
        self.startled = Some(Instant::now() + STARTLED);
    }
}

/// Writes to the terminal at once; errors are ignored.
fn write(shown: &str) {
    let mut err = std::io::stderr().lock();
    err.write_all(shown.as_bytes()).and_then(|()| err.flush()).ok();
}

/// Parses a typed line.
fn parse_answer(line: &str, always: Option<&str>) -> ParsedAnswer {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (word, rest) = (word.to_lowercase(), rest.trim());
    match (word.as_str(), rest) {
        ("y" | "yes", "") => ParsedAnswer::Answer(Decision::Once),
        ("a" | "always", "") if always.is_some() => ParsedAnswer::Answer(Decision::Always),
        ("n" | "no", "") => ParsedAnswer::Answer(Decision::Denied { reason: None }),
        ("n" | "no", why) => {
            ParsedAnswer::Answer(Decision::Denied { reason: Some(why.to_owned()) })
        }
        _ => ParsedAnswer::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_line_is_a_decision() {
        assert_eq!(parse_answer("y", Some("write")), ParsedAnswer::Answer(Decision::Once));
        assert_eq!(parse_answer("YES", None), ParsedAnswer::Answer(Decision::Once));
        assert_eq!(parse_answer("a", Some("write")), ParsedAnswer::Answer(Decision::Always));
        let reason = Some("use the test database".to_owned());
        let denied = ParsedAnswer::Answer(Decision::Denied { reason });
        assert_eq!(parse_answer("n use the test database", Some("write")), denied);
        assert_eq!(
            parse_answer("no", Some("write")),
            ParsedAnswer::Answer(Decision::Denied { reason: None })
        );
        for unclear in ["", "yy", "y please", "a lot", "ok", "\u{1b}[A"] {
            assert_eq!(parse_answer(unclear, Some("write")), ParsedAnswer::Nothing, "{unclear:?}");
        }
        assert_eq!(parse_answer("a", None), ParsedAnswer::Nothing, "it is not offered");
    }
}
