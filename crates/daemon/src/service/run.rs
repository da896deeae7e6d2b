//! Having an agent do something.

use std::path::PathBuf;

use offshoot_agent::{Brief, KIND, ModelSource, ModelUnavailable};
use offshoot_client::wire::{Code, Reply, Run, RunSession, Sealed, WireError};
use offshoot_core::permissions::Permissions;
use offshoot_core::{LEAD, MessageId, Owner, Payload, SessionId, Sizes, Task};
use offshoot_models::{InvalidModelName, Keys, ModelName, Provider};
use offshoot_runtime::{Session, TaskList, TaskRef};

use super::origin::RequestOrigin;
use super::view;
use super::{Answer, ServiceError, permissions, profiles};
use crate::host::Daemon;

/// Has an agent do something: a new one, or the one that the session has, which
/// goes on with its conversation. The answer is the task that does it, and which
/// message it is to one that was at work already.
pub(super) async fn run(daemon: &Daemon, mut run: Run, origin: RequestOrigin) -> Answer {
    let keys = keys(&run.keys);
    let mut notes = check_passed(&mut run, origin)?;
    let name = session_name(daemon, &run).await?;
    // Whoever comes second finds the agent that the first one has sent off.
    let _turn = daemon.conversations.lock(&name).await;
    let known = daemon.find_session(&name).await?;
    let lead = match &known {
        Some(session) => lead(daemon, session).await?,
        None => None,
    };
    let before = match (&known, &lead) {
        (Some(session), Some(lead)) => {
            let lead = session.task(&lead.id().to_string()).await?;
            lead.peek().last(1).limit(0).await?.total
        }
        _ => 0,
    };
    let (task, message) = match (known, lead) {
        (Some(session), Some(lead)) if is_repeated(&lead, &run) => {
            daemon.keys.give(session.id(), &keys);
            pass(daemon, session.id(), &run)?;
            (session.task(&lead.id().to_string()).await?, None)
        }
        (Some(session), Some(lead)) => {
            permissions::may_speak(daemon, origin).await?;
            go_on((daemon, &session), &lead, &run, &keys).await?
        }
        _ => {
            let authority = permissions::of(daemon, &run, origin).await?;
            let (task, told) = begin((daemon, &name), &run, &keys, authority).await?;
            notes.extend(told);
            (task, None)
        }
    };
    let shown = view::task(daemon, task.snapshot().await?).await?;
    let message = message.map(|message| message.to_string());
    Ok(Reply::Run { task: Box::new(shown), message, before, notes })
}

/// Whether this request has sent the agent off already, and its answer was lost.
fn is_repeated(lead: &Task, run: &Run) -> bool {
    let key = lead.spec.terms.key.as_deref();
    // One that goes on for another has the key of the message within its own.
    key.is_some_and(|key| key.rsplit(':').next() == Some(&run.key))
}

/// Refuses variables that no command gets, and takes the others out of a request
/// that does not come from a person; what is said of that.
fn check_passed(run: &mut Run, origin: RequestOrigin) -> Result<Vec<String>, WireError> {
    if let Some(name) = run.pass_env.0.keys().find(|name| !offshoot_tools::is_passable(name)) {
        let text = format!("the variable {name} cannot be passed to commands");
        let hint = "variables of Offshoot, and those that change what a shell or git does, are \
                    never passed: leave it out";
        return Err(WireError::new(Code::BadRequest, text).hint(hint));
    }
    if run.pass_env.is_empty() || matches!(origin, RequestOrigin::Person) {
        return Ok(Vec::new());
    }
    let names: Vec<_> = std::mem::take(&mut run.pass_env).0.into_keys().collect();
    let names = names.join(", ");
    Ok(vec![format!("{names}: not passed to commands, because only a person can pass variables")])
}

/// Passes the variables of a request to the commands of its session.
fn pass(daemon: &Daemon, session: SessionId, run: &Run) -> Result<(), WireError> {
    let passed = daemon.passed_env.give(session, &run.pass_env);
    passed.map_err(|error| {
        let error = WireError::from_error(Code::Other, &error);
        error.hint("the names of passed variables are kept in the data directory: check its disk")
    })
}

/// The keys that a caller brings.
pub(super) fn keys(brought: &Sealed) -> Keys {
    Keys::from_lookup(|name| brought.0.get(name).cloned())
}

async fn session_name(daemon: &Daemon, run: &Run) -> Result<String, ServiceError> {
    Ok(match &run.talk {
        // A request that is repeated finds the session that it has opened.
        RunSession::New => format!("run-{}", run.key.chars().take(8).collect::<String>()),
        RunSession::In(name) => name.clone(),
        RunSession::Latest => {
            let session = latest(daemon).await?.ok_or_else(|| {
                let none = WireError::new(Code::NotFound, "no conversation is kept here");
                none.hint("leave out --continue to begin")
            })?;
            daemon.session_name(session).await?.to_string()
        }
    })
}

/// The session whose agent was asked last by a person.
async fn latest(daemon: &Daemon) -> Result<Option<SessionId>, ServiceError> {
    let last = last_asked(daemon.runtime()?.tasks()).await?;
    Ok(last.map(|task| task.spec.lineage.session))
}

/// The agent to which a session talks.
async fn lead(daemon: &Daemon, session: &Session) -> Result<Option<Task>, ServiceError> {
    let owner = Owner::Session(session.id());
    last_asked(daemon.runtime()?.tasks().owner(owner)).await
}

/// The agent among these tasks that a person has asked last. Others stand beside
/// it: those that an agent has detached, and those that go on for a task whose
/// parent has ended.
async fn last_asked(among: TaskList) -> Result<Option<Task>, ServiceError> {
    let mut tasks = among.kind(KIND).newest_first();
    loop {
        let page = tasks.clone().await?;
        if let Some(found) = page.items.into_iter().find(is_asked_by_person) {
            return Ok(Some(found));
        }
        let Some(next) = page.next else { return Ok(None) };
        tasks = tasks.after(next);
    }
}

/// Whether a person has asked an agent first. One that an agent has sent off says
/// by which, and so does whoever goes on for it, even if that has no parent.
fn is_asked_by_person(task: &Task) -> bool {
    let lineage = &task.spec.lineage;
    lineage.parent.is_none() && lineage.origin.agent.is_none()
}

/// Sends a new agent off. Nothing is opened for one that cannot begin.
async fn begin(
    (daemon, name): (&Daemon, &str),
    run: &Run,
    keys: &Keys,
    authority: Permissions,
) -> Result<(TaskRef, Vec<String>), ServiceError> {
    let (profile, project) = match &run.profile {
        Some(name) => profiles::found(daemon, name, &run.folder).await?,
        None => profiles::usual(daemon, LEAD, &run.folder).await?,
    };
    // What a person says now counts more than what a profile says.
    let model = match (&run.model, &profile.model, &run.usual) {
        (Some(said), ..) | (None, None, Some(said)) => model(said)?,
        (None, Some(model), _) => model.clone(),
        (None, None, None) => keys.default_model().ok_or_else(no_model)?,
    };
    daemon.keys.open(&model, keys).map_err(unasked)?;
    // Its tools go where the name leads now, whatever is put in its place later.
    let named = PathBuf::from(&run.folder);
    let real = profiles::apart(move || std::fs::canonicalize(&named).unwrap_or(named));
    let folder = real.await?;
    let brief = Brief::new(model.clone(), run.task.clone()).folder(folder);
    let brief = project.applied_to(brief.authority(authority));
    let mut brief = profile.applied_to(brief);
    brief.model = model;
    brief.endpoint = keys.endpoint(brief.model.provider());
    if let Some(budget) = permissions::budget(run)? {
        brief.budget = brief.budget.within(budget).into();
    }
    let said = |error| WireError::from_error(Code::BadRequest, &error);
    // What an agent lacks is told by its record alone.
    let (bytes, most) = (Payload::encode(&brief).map_err(said)?.bytes(), Sizes::default().inline);
    if bytes > most as u64 {
        let text = format!("the task is too long: {bytes} bytes, where {most} are allowed");
        let error = WireError::new(Code::BadRequest, text);
        return Err(error.hint("the agent is given all of it at once: shorten it").into());
    }
    let said = |error| WireError::from_error(Code::BadRequest, &error);
    let request = daemon.agents.request(&brief).map_err(said)?;
    let session = daemon.open_session(name).await?;
    daemon.keys.give(session.id(), keys);
    pass(daemon, session.id(), run)?;
    let task = session.spawn(request).name(LEAD).key(&run.key).await?;
    let tools: Vec<_> = daemon.agents.tools().collect();
    let mut notes = profiles::notes(&profile, &tools);
    notes.extend(project.notes);
    Ok((task, notes))
}

/// Goes on with a conversation. What was asked is a message to its agent; if
/// that has ended, a new one goes on for it, and the message is no longer one to
/// somebody who was at work.
async fn go_on(
    (daemon, session): (&Daemon, &Session),
    lead: &Task,
    run: &Run,
    keys: &Keys,
) -> Result<(TaskRef, Option<MessageId>), ServiceError> {
    let brief: Brief =
        lead.spec.input.decode().map_err(|error| {
            WireError::from_error(Code::Other, &error).hint("begin a new session")
        })?;
    if let Some(said) = &run.model
        && model(said)? != brief.model
    {
        let said = format!("the agent of this session asks {}, not {said}", brief.model);
        let error = WireError::new(Code::BadRequest, said);
        return Err(error.hint("leave out --model, or begin a new session").into());
    }
    permissions::stays_as_it_is(&brief, run)?;
    stays_where_it_is(&brief, keys)?;
    daemon.keys.give(session.id(), keys);
    pass(daemon, session.id(), run)?;
    let found = match &brief.endpoint {
        Some(began) => daemon.keys.find_at(&brief.model, session.id(), began),
        None => daemon.keys.find(&brief.model, session.id()),
    };
    found.map_err(|error| cannot_go_on(&error))?;
    let task = session.task(&lead.id().to_string()).await?;
    let receipts = task.send(&run.task).key(&run.key).await?;
    let receipt = receipts.first();
    let joined = receipt.filter(|receipt| receipt.task == lead.id());
    let id = receipt.map_or(lead.id(), |receipt| receipt.task);
    Ok((session.task(&id.to_string()).await?, joined.map(|receipt| receipt.message)))
}

/// Refuses what is set for another address than the agent's: it would neither be
/// asked there nor where whoever set it expects it.
fn stays_where_it_is(brief: &Brief, keys: &Keys) -> Result<(), WireError> {
    let provider = brief.model.provider();
    let now = keys.only(provider).and_then(|keys| keys.endpoint(provider));
    match (&brief.endpoint, &now) {
        (Some(began), Some(now)) if began.address() != now.address() => {
            began.check(provider, Some(now)).map_err(|differs| cannot_go_on(&differs))
        }
        _ => Ok(()),
    }
}

fn cannot_go_on(why: &impl std::error::Error) -> WireError {
    let said = format!("the agent of this session cannot go on: {why}");
    WireError::new(Code::BadRequest, said).hint("or begin a new session")
}

/// Why a new agent cannot ask its model.
fn unasked(error: ModelUnavailable) -> WireError {
    match error {
        ModelUnavailable::NoKey(_) => WireError::from_error(Code::BadRequest, &error)
            .hint("the model offline/survey needs no key, and neither does `offshoot demo`"),
        error => unusable(error),
    }
}

fn model(said: &str) -> Result<ModelName, WireError> {
    said.parse().map_err(|error: InvalidModelName| unusable(error))
}

fn unusable(error: impl std::error::Error) -> WireError {
    WireError::from_error(Code::BadRequest, &error).hint("`offshoot models ls` lists the models")
}

fn no_model() -> WireError {
    let variables = Provider::with_default_model().into_iter();
    let variables: Vec<_> = variables
        .filter_map(|(provider, _)| provider.spec().key_variables.first().copied())
        .collect();
    let variables = match variables.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => variables.concat(),
    };
    WireError::new(Code::BadRequest, "there is no key for any model").hint(format!(
        "set {variables}, or name a model with --model; offline/survey needs no key, and neither \
         does `offshoot demo`"
    ))
}
