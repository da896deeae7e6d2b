//! What the agents of a run ask leave for: asked in place, one after the other,
//! or told to whoever answers elsewhere.

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

/// How long what is typed does not count after a question was taken away from
/// whoever was about to answer it, and another stands there.
const STARTLED: Duration = Duration::from_millis(700);

/// Why it is denied where nobody is.
const NO_APPROVER: &str = "nobody is there to be asked";

/// From how many lines on what is asked is named again below them.
const HIGH: usize = 16;

/// How many columns of it are then shown.
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

/// What the agents of a run ask leave for.
pub(super) struct ApprovalPrompt {
    cx: CommandContext,
    requests: ApprovalWatch,
    answers: ApprovalChannel,
    waiting: VecDeque<ApprovalRequest>,
    /// What is asked now.
    current: Option<ApprovalRequest>,
    /// What was dealt with: answered here, or told.
    done: HashSet<String>,
    /// What was told here, and is to be answered elsewhere.
    elsewhere: Vec<ApprovalRequest>,
    /// What became of those of it that are not open any more.
    closing: JoinSet<ClosedRequest>,
    /// What is under way.
    doing: Option<JoinHandle<Finished>>,
    /// The line that is waited for.
    typing: Option<PendingLine>,
    /// Before this, what is typed does not count.
    startled: Option<Instant>,
}

/// What came of what was under way.
enum Finished {
    /// It was answered from here, or not.
    Answered(Box<Result<ApprovalRequest, CliError>>),
    /// It is not open any more: what became of it.
    Closed(Option<Box<ApprovalRequest>>),
}

/// What was asked, and what became of it, if that is known.
type ClosedRequest = (ApprovalRequest, Option<Box<ApprovalRequest>>);

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
enum ParsedAnswer {
    /// An answer.
    Answer(Decision),
    /// Nothing that could be one.
    Nothing,
}

/// What tells one question from any other.
fn key(asked: &ApprovalRequest) -> String {
    format!("{}-{}", asked.task, asked.number)
}

impl ApprovalPrompt {
    /// What this task and those below it ask.
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

    /// Whether somebody is being asked here: nothing else is to be said meanwhile.
    pub(super) fn is_asking(&self) -> bool {
        self.current.is_some()
    }

    /// Goes on with it. It is safe to drop while it waits.
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

    /// Waits for a line if one is wanted, and for none if none is.
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

    /// EndSignals a line that stands open, and tells what became of what was to be
    /// answered elsewhere.
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

    /// ApprovalPrompt what became of what is to be answered elsewhere and is not open any
    /// more.
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

    /// Tells what became of what was to be answered elsewhere.
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

    /// Takes note of what is open now.
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

    /// ApprovalPrompt what became of what is asked here.
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

    /// ApprovalPrompt the next one, unless one is being asked.
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

    /// Shows what is asked, and what can be answered.
    fn show(&self, asked: &ApprovalRequest) {
        let whole = format!("all: {}", self.cx.command_anywhere("approvals show", &[&asked.id]));
        let mut shown = format!("\n{}", approval::asked(asked, self.look(&whole)));
        if shown.lines().count() > HIGH {
            // The beginning may have left the screen by now.
            let (agent, tool) = (exact::on_one_line(&asked.agent), exact::on_one_line(&asked.tool));
            let what = text::cut(&approval::in_short(asked), SHORT);
            shown.push_str(&format!("  all this is for {agent} to use {tool} ({what})\n"));
        }
        if let more @ 1.. = self.waiting.len() {
            shown.push_str(&format!("  {more} more to answer after this\n"));
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

    /// Reads what was typed.
    fn read(&mut self, typed: TerminalInput) {
        let Some(current) = self.current.clone() else { return };
        if self.startled.take().is_some_and(|until| Instant::now() < until) {
            write("  (typed while another question was taken away, so it does not count)\n");
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
                return write("\n  nobody can be asked here any more\n");
            }
        };
        match parse_answer(&line, current.always.as_deref()) {
            ParsedAnswer::Answer(verdict) => self.answer(&current, verdict),
            ParsedAnswer::Nothing => {
                write(&format!("  that is no answer: {}\n", exact::on_one_line(&line)));
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

    /// Tells what came of an answer from here.
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
                    write(&format!("  it could not be answered: {}\n", fault.message));
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

    /// Says what became of a question, where it was asked here.
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

    /// Tells what became of what was asked here, and was answered elsewhere.
    fn closed(&mut self, found: Option<&ApprovalRequest>) {
        let Some(current) = self.current.take() else { return };
        self.done.insert(key(&current));
        let closed = found.and_then(|found| found.closed.as_ref());
        let said = closed.map_or_else(|| "withdrawn".to_owned(), approval::closed);
        write(&format!("\n  meanwhile: {}\n", exact::on_one_line(&said)));
        self.startled = Some(Instant::now() + STARTLED);
    }
}

/// What is shown to whoever is asked goes out at once, or not at all.
fn write(shown: &str) {
    let mut err = std::io::stderr().lock();
    err.write_all(shown.as_bytes()).and_then(|()| err.flush()).ok();
}

/// What a line means to whoever asked.
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
    fn only_what_is_clear_is_an_answer() {
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
