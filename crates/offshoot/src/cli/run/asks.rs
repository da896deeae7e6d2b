//! The approval requests of a run: asked in place, one after the other,
//! or told to whoever answers elsewhere.

use std::collections::{HashSet, VecDeque};
use std::io::Write;
use std::time::Duration;

use offshoot_client::Error;
use offshoot_client::wire::{ApprovalRef, ApprovalRequest, Code, Decision, Reply, Request, Task};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::tty::{Tty, Typed, Typing};
use crate::cli::approvals::send;
use crate::cli::desk::Desk;
use crate::cli::lookout::Lookout;
use crate::cli::show::approval::{self, Look, SOME};
use crate::cli::show::{Part, exact, text};
use crate::cli::trouble::Trouble;

/// How long what is typed does not count after a question was taken away from
/// whoever was about to answer it, and another stands there.
const STARTLED: Duration = Duration::from_millis(700);

/// Why it is denied where nobody is.
const NOBODY: &str = "nobody is there to be asked";

/// From how many lines on what is asked is named again below them.
const HIGH: usize = 16;

/// How many columns of it are then shown.
const SHORT: usize = 60;

/// Who answers.
#[derive(Debug)]
pub(super) enum Answers {
    /// Whoever sits at this terminal.
    InPlace(Tty),
    /// Somebody at another one.
    Elsewhere,
    /// Nobody: it is denied.
    Denied,
}

/// The approval requests of a run.
pub(super) struct Asks {
    desk: Desk,
    lookout: Lookout,
    answers: Answers,
    waiting: VecDeque<ApprovalRequest>,
    /// What is asked now.
    current: Option<ApprovalRequest>,
    /// What was dealt with: answered here, or told.
    done: HashSet<String>,
    /// What was told here, and is to be answered elsewhere.
    elsewhere: Vec<ApprovalRequest>,
    /// What became of those of it that are not open any more.
    fates: JoinSet<Fate>,
    /// What is under way.
    doing: Option<JoinHandle<Done>>,
    /// The line that is waited for.
    typing: Option<Typing>,
    /// Before this, what is typed does not count.
    startled: Option<Instant>,
}

/// What came of what was under way.
enum Done {
    /// It was answered from here, or not.
    Answered(Box<Result<ApprovalRequest, Trouble>>),
    /// It is not open any more: what became of it.
    Closed(Option<Box<ApprovalRequest>>),
}

/// What was asked, and what became of it, if that is known.
type Fate = (ApprovalRequest, Option<Box<ApprovalRequest>>);

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    /// An answer.
    Answer(Decision),
    /// Nothing that could be one.
    Nothing,
}

/// What tells one question from any other.
fn key(asked: &ApprovalRequest) -> String {
    format!("{}-{}", asked.task, asked.number)
}

impl Asks {
    /// What this task and those below it ask.
    pub(super) fn new(desk: &Desk, lead: &Task, answers: Answers) -> Self {
        Self {
            desk: desk.clone(),
            lookout: Lookout::new(desk, &lead.session, vec![lead.id.clone()]),
            answers,
            waiting: VecDeque::new(),
            current: None,
            done: HashSet::new(),
            elsewhere: Vec::new(),
            fates: JoinSet::new(),
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
            open = self.lookout.next() => self.take(open),
            Some(fate) = self.fates.join_next() => if let Ok(fate) = fate {
                self.tell(fate);
            },
            done = done => {
                self.doing = None;
                match done {
                    Ok(Done::Answered(answered)) => self.answered(*answered),
                    Ok(Done::Closed(closed)) => self.closed(closed.as_deref()),
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
            (Answers::InPlace(tty), true) if self.typing.is_none() => match tty.ask() {
                Ok(typing) => self.typing = Some(typing),
                Err(_) => self.read(Typed::Gone),
            },
            (Answers::InPlace(_), true) => {}
            _ => self.typing = None,
        }
    }

    /// Ends a line that stands open, and tells what became of what was to be
    /// answered elsewhere.
    pub(super) async fn leave(&mut self) {
        if self.current.take().is_some() {
            write("\n");
        }
        self.follow(&[]);
        while let Some(fate) = self.fates.join_next().await {
            if let Ok(fate) = fate {
                self.tell(fate);
            }
        }
    }

    /// Asks what became of what is to be answered elsewhere and is not open any
    /// more.
    fn follow(&mut self, open: &[ApprovalRequest]) {
        let is_open = |told: &ApprovalRequest| open.iter().any(|one| key(one) == key(told));
        let gone: Vec<_> = self.elsewhere.extract_if(.., |told| !is_open(told)).collect();
        for asked in gone {
            let sought = ApprovalRef { session: asked.session.clone(), id: key(&asked) };
            let desk = self.desk.clone();
            self.fates.spawn(async move {
                match desk.client.ask(&Request::Approval(sought)).await {
                    Ok(Reply::Approval(found)) => (asked, Some(found)),
                    _ => (asked, None),
                }
            });
        }
    }

    /// Tells what became of what was to be answered elsewhere.
    fn tell(&self, (asked, found): Fate) {
        let Some(found) = found else { return };
        let (agent, tool) = (exact::on_one_line(&asked.agent), exact::on_one_line(&asked.tool));
        let what = text::cut(&approval::in_short(&asked), SHORT);
        let said = match &found.closed {
            Some(closed) => exact::on_one_line(&approval::closed(closed)),
            None => "left open".to_owned(),
        };
        self.desk.screen.remark(&format!("  {agent}: {tool} ({what}): {said}"));
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

    /// Asks what became of what is asked here.
    fn find_out(&mut self) {
        let Some(current) = &self.current else { return };
        let sought = ApprovalRef { session: current.session.clone(), id: key(current) };
        let desk = self.desk.clone();
        self.doing = Some(tokio::spawn(async move {
            match desk.client.ask(&Request::Approval(sought)).await {
                Ok(Reply::Approval(found)) => Done::Closed(Some(found)),
                Ok(_) | Err(Error::Refused(_)) => Done::Closed(None),
                Err(error) => Done::Answered(Box::new(Err(error.into()))),
            }
        }));
    }

    /// Asks the next one, unless one is being asked.
    fn ask_next(&mut self) {
        if self.current.is_some() || self.doing.is_some() {
            return;
        }
        let Some(next) = self.waiting.pop_front() else { return };
        match &self.answers {
            Answers::InPlace(tty) => {
                tty.forget();
                self.show(&next);
                self.current = Some(next);
            }
            Answers::Elsewhere => {
                self.done.insert(key(&next));
                let show = self.desk.command_anywhere("approvals show", &[&next.id]);
                self.desk.screen.remark(approval::asked(&next, self.look(&show)).trim_end());
                let how = approval::how_to_answer(&self.desk, &next.id);
                self.desk.screen.remark(&format!("  {how}"));
                self.elsewhere.push(next);
                self.ask_next();
            }
            Answers::Denied => {
                let denied = Decision::Denied { reason: Some(NOBODY.to_owned()) };
                self.answer(&next, denied);
                self.current = Some(next);
            }
        }
    }

    fn look<'a>(&self, whole: &'a str) -> Look<'a> {
        let screen = self.desk.screen;
        Look { width: screen.err_width, colour: screen.err, most: Some(SOME), whole }
    }

    /// Shows what is asked, and what can be answered.
    fn show(&self, asked: &ApprovalRequest) {
        let whole = format!("all: {}", self.desk.command_anywhere("approvals show", &[&asked.id]));
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
        let paint = |key: &str| self.desk.screen.err.paint(Part::Name, key);
        let (yes, always, no) = (paint("y"), paint("a"), paint("n"));
        let always = approval::covers(asked)
            .map(|covers| format!(", {always} always ({covers})"))
            .unwrap_or_default();
        format!("Allow it? {yes} once{always}, {no} no, {no} and why: ")
    }

    /// Reads what was typed.
    fn read(&mut self, typed: Typed) {
        let Some(current) = self.current.clone() else { return };
        if self.startled.take().is_some_and(|until| Instant::now() < until) {
            write("  (typed while another question was taken away, so it does not count)\n");
            return write(&self.choices(&current));
        }
        let line = match typed {
            Typed::Line(line) => line,
            Typed::End => {
                let how = approval::how_to_answer(&self.desk, &current.id);
                self.done.insert(key(&current));
                self.current = None;
                return write(&format!("\n  left open; {how}\n"));
            }
            Typed::Gone => {
                self.answers = Answers::Elsewhere;
                self.current = None;
                return write("\n  nobody can be asked here any more\n");
            }
        };
        match meant(&line, current.always.as_deref()) {
            Meant::Answer(verdict) => self.answer(&current, verdict),
            Meant::Nothing => {
                write(&format!("  that is no answer: {}\n", exact::on_one_line(&line)));
                write(&self.choices(&current));
            }
        }
    }

    fn answer(&mut self, asked: &ApprovalRequest, verdict: Decision) {
        let desk = self.desk.clone();
        let id = key(asked);
        self.doing =
            Some(tokio::spawn(
                async move { Done::Answered(Box::new(send(&desk, id, verdict).await)) },
            ));
    }

    /// Tells what came of an answer from here.
    fn answered(&mut self, answered: Result<ApprovalRequest, Trouble>) {
        let Some(current) = self.current.clone() else { return };
        match answered {
            Ok(decided) => {
                let said = decided.closed.as_ref().and_then(|closed| closed.decision.as_ref());
                let said = said.map(approval::said).unwrap_or_default();
                self.say(&current, &said);
            }
            Err(Trouble::Told { fault, .. }) => match fault.code {
                Code::Answered | Code::NotFound => self.say(&current, &fault.message),
                _ => {
                    write(&format!("  it could not be answered: {}\n", fault.message));
                    if let Answers::InPlace(_) = self.answers {
                        return write(&self.choices(&current));
                    }
                }
            },
            Err(Trouble::ReaderGone) => {}
        }
        self.done.insert(key(&current));
        self.current = None;
    }

    /// Says what became of a question, where it was asked here.
    fn say(&self, asked: &ApprovalRequest, said: &str) {
        match self.answers {
            Answers::Denied => {
                let (agent, tool) = (exact::on_one_line(&asked.agent), &asked.tool);
                let what = approval::in_short(asked);
                let tool = exact::on_one_line(tool);
                self.desk
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
fn meant(line: &str, always: Option<&str>) -> Meant {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (word, rest) = (word.to_lowercase(), rest.trim());
    match (word.as_str(), rest) {
        ("y" | "yes", "") => Meant::Answer(Decision::Once),
        ("a" | "always", "") if always.is_some() => Meant::Answer(Decision::Always),
        ("n" | "no", "") => Meant::Answer(Decision::Denied { reason: None }),
        ("n" | "no", why) => Meant::Answer(Decision::Denied { reason: Some(why.to_owned()) }),
        _ => Meant::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_clear_is_an_answer() {
        assert_eq!(meant("y", Some("write")), Meant::Answer(Decision::Once));
        assert_eq!(meant("YES", None), Meant::Answer(Decision::Once));
        assert_eq!(meant("a", Some("write")), Meant::Answer(Decision::Always));
        let reason = Some("use the test database".to_owned());
        let denied = Meant::Answer(Decision::Denied { reason });
        assert_eq!(meant("n use the test database", Some("write")), denied);
        assert_eq!(meant("no", Some("write")), Meant::Answer(Decision::Denied { reason: None }));
        for unclear in ["", "yy", "y please", "a lot", "ok", "\u{1b}[A"] {
            assert_eq!(meant(unclear, Some("write")), Meant::Nothing, "{unclear:?}");
        }
        assert_eq!(meant("a", None), Meant::Nothing, "it is not offered");
    }
}
