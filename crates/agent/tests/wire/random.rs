//! Random lives: whatever agents, people and crashes do, every request is one
//! that its provider takes, and every result is told to its owner once.

use std::time::Duration;

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_core::{Mode, Outcome, Owner, Task};
use offshoot_runtime::{Restarts, Runtime, TaskRef};
use offshoot_sqlite::Sqlite;
use offshoot_wiretest::{Asked, Language, Reply, Say, Server};
use serde_json::json;

use crate::support::{ALL, Here, Test, model};

/// How many lives are lived.
const LIVES: u64 = 32;

/// After so many requests every model comes to an end.
const REQUESTS: usize = 40;

/// Numbers that look random and are the same for the same seed.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = ((self.0 >> 33) ^ (self.0 >> 11)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 17) % sides.max(1)
    }
}

/// What a model does next.
fn next(dice: &mut Dice, language: Language, asked: usize) -> Reply {
    if asked > REQUESTS {
        return language.reply(&[Say::text("enough")]);
    }
    let mut said = Vec::new();
    if dice.below(2) == 0 {
        said.push(Say::thought("let me see"));
    }
    match dice.below(10) {
        0 => {
            return Reply::status(
                429,
                &[("retry-after-ms", "5")],
                &json!({"error": {"message": "x"}}),
            );
        }
        1..=3 => said.push(Say::text("that is it")),
        _ => {
            said.push(Say::text("some calls"));
            for number in 0..=dice.below(3) {
                said.push(call(dice, asked, number));
            }
        }
    }
    language.reply(&said)
}

fn call(dice: &mut Dice, asked: usize, number: u64) -> Say {
    let id = format!("call_{asked}_{number}");
    let task = format!("errand {asked} {number}");
    let (name, arguments) = match dice.below(8) {
        0 => ("fly", json!({"to": "the moon"}).to_string()),
        1 => ("list_tasks", "{oops".to_owned()),
        2 | 3 => ("list_tasks", json!({"all": true}).to_string()),
        4 => ("spawn_agent", json!({"task": task, "background": false}).to_string()),
        5 => ("spawn_agent", json!({"task": task, "context": "fork"}).to_string()),
        _ => ("spawn_agent", json!({"task": task}).to_string()),
    };
    Say::call(&id, name, &arguments)
}

/// One life of a lead and whoever it sends off.
async fn live(seed: u64) -> Test {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xa5a5);
    let language = ALL[dice.below(3) as usize];
    let (mut script, mut asked) = (dice.clone(), 0);
    let server = Server::start(move |_: &Asked| {
        asked += 1;
        next(&mut script, language, asked)
    })
    .await?;
    let folder = tempfile::tempdir()?;
    let agents = Agents::new(Here::at(&server));
    let brief = Brief::new(model(language), "lead");
    let mut id = None;
    loop {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        // Who crashes often gets far all the same, and nobody waits for it.
        let back_off = Duration::from_millis(1);
        let restarts = Restarts { max_attempts: 1_000, back_off, max_back_off: back_off };
        let runtime = runtime.restarts(restarts).open().await?;
        let session = runtime.session("main").await?;
        let lead = match id {
            Some(id) => session.task(&offshoot_core::TaskId::to_string(&id)).await?,
            None => session.spawn(agents.request(&brief)?).await?,
        };
        id = Some(lead.id());
        let until = server.asked().len() + 1 + dice.below(8) as usize;
        let dies = dice.below(3) == 0;
        let meddling = meddle(&mut dice, &server, &lead, until);
        let ended = tokio::select! {
            ended = lead.wait() => Some(ended?),
            () = meddling => None,
        };
        let ended = match ended {
            None if dies => None,
            None => Some(lead.wait().await?),
            ended => ended,
        };
        if ended.is_some() {
            return check(&runtime, seed).await;
        }
    }
}

/// Says something to the lead after so many requests.
async fn meddle(dice: &mut Dice, server: &Server, lead: &TaskRef, until: usize) {
    let modes = [Mode::Steer, Mode::Interrupt, Mode::FollowUp];
    let mode = modes[dice.below(3) as usize];
    server.was_asked(until).await;
    // It may have ended meanwhile, and goes on for it then: that is fine, too.
    if dice.below(2) == 0 {
        let _ = lead.send("a word").mode(mode).await;
    }
}

/// Every end of a task that an agent sent off is told in the agent's own
/// conversation, once.
async fn check(runtime: &Runtime, seed: u64) -> Test {
    let mut all: Vec<Task> = Vec::new();
    let mut page = runtime.tasks().await?;
    loop {
        all.append(&mut page.items);
        let Some(next) = page.next else { break };
        page = runtime.tasks().after(next).await?;
    }
    for task in &all {
        let Owner::Task(owner) = task.owner() else { continue };
        let owner = runtime.task(&owner.to_string()).await?;
        let completed = matches!(owner.record().await?.ended(), Some(Outcome::Completed { .. }));
        if !completed || task.is_live() {
            continue;
        }
        let history = owner.peek().last(100_000).limit(100_000).await?;
        let told = format!("task=\"{}\" id=\"{}\"", task.handle(), task.id());
        let texts = history.blocks.iter().filter_map(|block| block.text.as_deref());
        let times: usize = texts.map(|text| text.matches(&told).count()).sum();
        assert_eq!(times, 1, "seed {seed}: {} was told {times} times", task.handle());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_3_in_random_lives_every_result_is_told_once_and_every_request_is_taken() -> Test {
    for seed in 0..LIVES {
        live(seed).await.map_err(|error| format!("seed {seed}: {error}"))?;
    }
    Ok(())
}
