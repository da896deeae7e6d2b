//! Having an agent do something.

use offshoot_agent::{Brief, Catalogue, KIND};
use offshoot_client::wire::{Code, Fault, Reply, Run, Sealed, Talk};
use offshoot_core::{Owner, Task};
use offshoot_models::{Keys, ModelName, Provider};
use offshoot_runtime::{Session, TaskRef};

use super::{Answer, Stopped};
use crate::house::{House, no_session};
use crate::view;

/// What the first agent of a session is called.
const LEAD: &str = "lead";

/// Whom to ask if nobody says, in this order, if there is a key.
const USUAL: [(Provider, &str); 3] = [
    (Provider::Anthropic, "claude-sonnet-4-5"),
    (Provider::OpenAiResponses, "gpt-5"),
    (Provider::Gemini, "gemini-2.5-pro"),
];

/// Has an agent do something: a new one, or the one that the session has, which
/// goes on with its conversation. The answer is the task that does it.
pub(super) async fn run(house: &House, run: Run) -> Answer {
    let keys = keys(&run.keys);
    let session = session(house, &run).await?;
    house.keys.give(session.id(), keys.clone());
    let task = match lead(house, &session).await? {
        Some(lead) => go_on(&session, &lead, &run).await?,
        None => begin(house, &session, &run, &keys).await?,
    };
    let shown = view::task(house, task.snapshot().await?).await?;
    Ok(Reply::Task(Box::new(shown)))
}

/// The keys that a caller brings.
pub(super) fn keys(brought: &Sealed) -> Keys {
    Keys::found(|name| brought.0.get(name).cloned())
}

async fn session(house: &House, run: &Run) -> Result<Session, Stopped> {
    Ok(match &run.talk {
        // A request that is repeated finds the session that it has opened.
        Talk::New => {
            let number = run.key.chars().take(8).collect::<String>();
            house.session(&format!("run-{number}")).await?
        }
        Talk::In(name) => house.session(name).await?,
        Talk::Latest => {
            let latest = house.runtime()?.tasks().kind(KIND).newest_first().limit(1).await?;
            let Some(task) = latest.items.first() else {
                let none = Fault::new(Code::NotFound, "no agent was ever asked here");
                return Err(none.hint("leave out --continue to begin").into());
            };
            let name = house.session_name(task.spec.lineage.session).await?;
            house.known_session(&name).await?.ok_or_else(|| no_session(&name))?
        }
    })
}

/// The agent to which a session talks: the last that was asked at its top.
async fn lead(house: &House, session: &Session) -> Result<Option<Task>, Stopped> {
    let owner = Owner::Session(session.id());
    let tasks = house.runtime()?.tasks().owner(owner).kind(KIND).newest_first().limit(1);
    Ok(tasks.await?.items.first().cloned())
}

async fn begin(
    house: &House,
    session: &Session,
    run: &Run,
    keys: &Keys,
) -> Result<TaskRef, Stopped> {
    let model = match &run.model {
        Some(said) => said
            .parse::<ModelName>()
            .map_err(|error| Fault::from_error(Code::BadRequest, &error))?,
        None => usual(keys).ok_or_else(no_model)?,
    };
    house.keys.find(&model, session.id()).map_err(|error| {
        Fault::from_error(Code::BadRequest, &error).hint("`offshoot models ls` lists the models")
    })?;
    let brief = Brief::new(model, run.task.clone()).folder(&run.folder);
    let request = house.agents.request(&brief);
    let request = request.map_err(|error| Fault::from_error(Code::BadRequest, &error))?;
    Ok(session.spawn(request).name(LEAD).key(&run.key).await?)
}

/// Goes on with a conversation. What was asked is a message to its agent; if
/// that has ended, a new one goes on for it.
async fn go_on(session: &Session, lead: &Task, run: &Run) -> Result<TaskRef, Stopped> {
    if let Some(model) = &run.model {
        let brief: Brief =
            lead.spec.input.decode().map_err(|error| {
                Fault::from_error(Code::Other, &error).hint("begin a new session")
            })?;
        if brief.model.to_string() != *model {
            let said = format!("the agent of this session asks {}, not {model}", brief.model);
            let fault = Fault::new(Code::BadRequest, said);
            return Err(fault.hint("leave out --model, or begin a new session").into());
        }
    }
    let task = session.task(&lead.id().to_string()).await?;
    let receipts = task.send(&run.task).key(&run.key).await?;
    let id = receipts.first().map_or(lead.id(), |receipt| receipt.task);
    Ok(session.task(&id.to_string()).await?)
}

fn usual(keys: &Keys) -> Option<ModelName> {
    let usable = |(provider, _): &&(Provider, &str)| keys.access(*provider).is_ok();
    let (provider, name) = USUAL.iter().find(usable)?;
    ModelName::new(*provider, name).ok()
}

fn no_model() -> Fault {
    Fault::new(Code::BadRequest, "there is no key for any model").hint(
        "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a model with --model; \
         offline/survey needs no key, and neither does `offshoot demo`",
    )
}
