//! Running agents.

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

/// Runs an agent: a new one, or the one of the session, which goes on with its
/// conversation.
///
/// The reply is the task of the agent. If the agent was at work already, it also names
/// the message to it.
pub(super) async fn run(daemon: &Daemon, mut run: Run, origin: RequestOrigin) -> Answer {
    let keys = keys(&run.keys);
    let mut notes = check_passed(&mut run, origin)?;
    let name = session_name(daemon, &run).await?;
    // A second request at the same time finds the agent of the first one.
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

/// Whether this request has spawned the agent already, and its reply was lost.
fn is_repeated(lead: &Task, run: &Run) -> bool {
    let key = lead.spec.terms.key.as_deref();
    // An agent that continues another has the key of the message within its own.
    key.is_some_and(|key| key.rsplit(':').next() == Some(&run.key))
}

/// Refuses variables that no command gets, and drops the others from a request that
/// does not come from a person. Returns the notes on dropped ones.
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
        // A repeated request finds the session that it has opened.
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

/// The session in which a person last ran an agent.
async fn latest(daemon: &Daemon) -> Result<Option<SessionId>, ServiceError> {
    let last = last_asked(daemon.runtime()?.tasks()).await?;
    Ok(last.map(|task| task.spec.lineage.session))
}

/// The lead of a session.
async fn lead(daemon: &Daemon, session: &Session) -> Result<Option<Task>, ServiceError> {
    let owner = Owner::Session(session.id());
    last_asked(daemon.runtime()?.tasks().owner(owner)).await
}

/// The agent among these tasks that a person ran last. The others are agents that an
/// agent has detached, and those that continue a task whose parent has ended.
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

/// Whether a person spawned an agent. An agent that another one spawned names that one,
/// and so does each agent that continues it, even without a parent.
fn is_asked_by_person(task: &Task) -> bool {
    let lineage = &task.spec.lineage;
    lineage.parent.is_none() && lineage.origin.agent.is_none()
}

/// Spawns a new agent. The session is opened only for an agent that can begin.
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
    // The request goes before the profile.
    let model = match (&run.model, &profile.model, &run.usual) {
        (Some(said), ..) | (None, None, Some(said)) => model(said)?,
        (None, Some(model), _) => model.clone(),
        (None, None, None) => keys.default_model().ok_or_else(no_model)?,
    };
    daemon.keys.open(&model, keys).map_err(unasked)?;
    // The working directory is the directory of now, even if a link takes its name later.
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
    // The record alone shows what an agent lacks, so the brief is not stored elsewhere.
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

/// Goes on with a conversation. The task is a message to its agent. If that agent has
/// ended, a new one continues it, and the reply names no message.
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

/// Refuses an address other than the agent's own: the agent keeps the address that it
/// started with, and the caller would expect the new one.
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

/// The error of a new agent that cannot ask its model.
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
