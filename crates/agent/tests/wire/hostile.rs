//! Oversized answers: the model receives the error and goes on.

use offshoot_agent::Budget;
use offshoot_wiretest::{ReplyPart, Server, Tokens};

use crate::support::{ALL, Test, World};

/// Arguments with this depth of nesting.
fn deep(levels: usize) -> String {
    format!("{{\"task\":{}{}}}", "[".repeat(levels), "]".repeat(levels))
}

#[tokio::test]
async fn a_model_that_nests_arguments_too_deep_hears_so_and_goes_on() -> Test {
    for language in ALL {
        let says = [
            ReplyPart::thought("deep"),
            ReplyPart::call("call_1", "list_tasks", &deep(10_000)),
            ReplyPart::call("call_2", "list_tasks", "{}"),
        ];
        let replies = [language.reply(&says), language.reply(&[ReplyPart::text("done")])];
        let server = Server::of(replies).await?;
        let world = World::at(&server, language).await;
        let answer: String = world.agent("lead").await.wait().await?.decode()?;
        assert_eq!(answer, "done", "{language:?}");
        let told = &server.asked()[1].text;
        let words = "The call was not made: its arguments nest deeper than 64 levels";
        assert_eq!(told.matches(words).count(), 1, "{language:?}: {told}");
        assert!(told.len() < 100_000, "{language:?}: {} bytes", told.len());
    }
    Ok(())
}

#[tokio::test]
async fn a_model_that_makes_thousands_of_calls_hears_the_dropped_number() -> Test {
    for language in ALL {
        let says: Vec<_> = (0..2_000)
            .map(|number| ReplyPart::call(&format!("call_{number}"), "list_tasks", "{}"))
            .collect();
        let replies = [language.reply(&says), language.reply(&[ReplyPart::text("done")])];
        // The provider would require all of them in the next request.
        let server = Server::of(replies).await?.with_any_answers();
        let world = World::at(&server, language).await;
        let answer: String = world.agent("lead").await.wait().await?.decode()?;
        assert_eq!(answer, "done", "{language:?}");
        let told = &server.asked()[1].text;
        let words = "at most 128 calls; this one and 1871 more were dropped";
        assert_eq!(told.matches(words).count(), 1, "{language:?}: {told}");
        assert_eq!(told.matches("The call was not made").count(), 65, "{language:?}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn s8_2_the_floor_of_what_a_call_reads_counts_the_system_text_and_the_tools() -> Test {
    for language in ALL {
        let little = Tokens { input: 1, cached: 0, output: 1, thought: 0 };
        let server = Server::of([language.reply_of(&[ReplyPart::text("done")], little)]).await?;
        let world = World::at(&server, language).await;
        let budget = Budget { tokens: Some(1_000_000), ..Budget::default() };
        let lead = world.agent_within("lead", budget).await;
        lead.wait().await?;
        let spent = world.agents.spent(&lead).await?.unwrap_or_default();
        // The tools alone have more letters than that.
        let tools = server.asked()[0].body["tools"].to_string().len() as u64;
        assert!(tools > 1_000, "{language:?}: {tools}");
        assert!(spent.tokens > tools / 32, "{language:?}: {} of {tools}", spent.tokens);
    }
    Ok(())
}
