//! A lead and the agents it spawns, in every wire protocol.

use std::collections::HashMap;

use offshoot_core::DeliveryMode;
use offshoot_wiretest::{ReplyPart, Server, WireProtocol};
use serde_json::json;

use crate::support::{ALL, Test, World, purpose};

/// The number of requests of each agent, by its task.
#[derive(Default)]
struct Turns(HashMap<String, usize>);

impl Turns {
    fn next(&mut self, purpose: &str) -> usize {
        let turn = self.0.entry(purpose.to_owned()).or_default();
        *turn += 1;
        *turn
    }
}

fn spawn(id: &str, task: &str) -> ReplyPart {
    ReplyPart::call(id, "spawn_agent", &format!(r#"{{"name": "{task}", "task": "count {task}"}}"#))
}

async fn deliver_results(language: WireProtocol) -> Test {
    let mut turns = Turns::default();
    let server = Server::start(move |asked| {
        let purpose = purpose(asked);
        let home = ["a", "b"].iter().all(|one| asked.text.contains(&format!("{one} is done")));
        match (purpose.as_str(), turns.next(&purpose)) {
            ("lead", 1) => language.reply(&[
                ReplyPart::thought("two of them"),
                ReplyPart::text("Sending both."),
                spawn("call_1", "a"),
                spawn("call_2", "b"),
            ]),
            ("lead", _) if home => language.reply(&[ReplyPart::text("both are home")]),
            ("lead", _) => language.reply(&[ReplyPart::thought("hm"), ReplyPart::text("waiting")]),
            (child, 1) if child.starts_with("count") => language.reply(&[
                ReplyPart::thought("a look first"),
                ReplyPart::call("call_1", "list_tasks", "{}"),
            ]),
            (child, _) => {
                let name = child.rsplit(' ').next().unwrap_or_default();
                language.reply(&[ReplyPart::text(&format!("{name} is done"))])
            }
        }
    })
    .await?;
    let world = World::at(&server, language).await;
    let lead = world.agent("lead").await;
    let answer: String = lead.wait().await?.decode()?;
    assert_eq!(answer, "both are home", "{language:?}");
    Ok(())
}

#[tokio::test]
async fn s4_4_results_are_delivered_in_every_protocol() -> Test {
    for language in ALL {
        deliver_results(language).await?;
    }
    Ok(())
}

/// The model is cut in the middle of an answer, receives a message and goes on; then it calls
/// two tools at once, one of which does not exist.
async fn cut_and_steered(language: WireProtocol) -> Test {
    let mut turns = Turns::default();
    let server = Server::start(move |asked| match turns.next(&purpose(asked)) {
        1 => language
            .reply(&[ReplyPart::thought("first"), ReplyPart::call("call_1", "list_tasks", "{}")]),
        2 => language.reply(&[ReplyPart::text("a long story")]).only(2).then_hang(),
        3 => language.reply(&[
            ReplyPart::thought("other way"),
            // Some models repeat their ids from answer to answer.
            ReplyPart::call("call_1", "list_tasks", "{}"),
            ReplyPart::call("call_2", "fly", r#"{"to": "the moon"}"#),
        ]),
        _ => language.reply(&[ReplyPart::text("turned around")]),
    })
    .await?;
    let world = World::at(&server, language).await;
    let agent = world.agent("walk").await;
    server.was_asked(2).await;
    agent.send("turn around").mode(DeliveryMode::Interrupt).await?;
    server.hung_up(1).await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "turned around", "{language:?}");
    let last = server.asked().pop().map(|asked| asked.text).unwrap_or_default();
    assert!(last.contains("turn around") && last.contains("There is no tool"), "{last}");
    Ok(())
}

#[tokio::test]
async fn s5_2_an_interrupt_keeps_the_conversation_whole() -> Test {
    for language in ALL {
        cut_and_steered(language).await?;
    }
    Ok(())
}

fn fork(id: &str, task: &str) -> ReplyPart {
    let name = task.trim_start_matches("do ");
    let errand = json!({"task": task, "name": name, "context": "fork"});
    ReplyPart::call(id, "spawn_agent", &errand.to_string())
}

/// A fork of a fork knows the conversations of all its ancestors. So does a fork that continues
/// after its owner has ended.
async fn forks_of_forks(language: WireProtocol) -> Test {
    let server = Server::start(move |asked| {
        let told = |words: &str| asked.text.contains(words);
        match () {
            () if told("and again") => language.reply(&[ReplyPart::text("gone on")]),
            () if told("outer is it") => language.reply(&[ReplyPart::text("lead is it")]),
            () if told("inner is it") => language.reply(&[ReplyPart::text("outer is it")]),
            () if told("do inner") => language.reply(&[ReplyPart::text("inner is it")]),
            () if told("do outer") => {
                language.reply(&[ReplyPart::thought("on"), fork("b", "do inner")])
            }
            () => language.reply(&[ReplyPart::thought("off"), fork("a", "do outer")]),
        }
    })
    .await?;
    let world = World::at(&server, language).await;
    let lead = world.agent("the word is fern").await;
    assert_eq!(lead.wait().await?.decode::<String>()?, "lead is it", "{language:?}");
    // The caller is the person who watches: the task belongs to the lead.
    let outer = world.runtime.tasks().name("outer").await?.items.pop().ok_or("no outer")?;
    let outer = world.runtime.task(&outer.id().to_string()).await?;
    let receipt = outer.send("and again").await?.first().ok_or("no receipt")?;
    let sequel = world.runtime.task(&receipt.task.to_string()).await?;
    assert_eq!(sequel.wait().await?.decode::<String>()?, "gone on", "{language:?}");
    for asked in server.asked() {
        assert!(asked.text.contains("the word is fern"), "{language:?}: {}", asked.text);
    }
    Ok(())
}

#[tokio::test]
async fn s11_1_a_fork_of_a_fork_knows_all_of_it() -> Test {
    for language in ALL {
        forks_of_forks(language).await?;
    }
    Ok(())
}
