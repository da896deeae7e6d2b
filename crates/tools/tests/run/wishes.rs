//! The access that a call requests.

use offshoot_agent::{Effect, Output, Span, Tool, ToolContext, ToolError};
use offshoot_models::{ToolSpec, Turn};
use offshoot_runtime::BoxFuture;
use offshoot_sandbox::Support;
use offshoot_tools::Runs;
use serde_json::{Value, json};

use crate::support::{Confined, TestDirs, World, answers, results};

/// A tool that returns the access of another one, without calling it.
#[derive(Debug)]
struct Says<T>(T);

impl<T: Tool> Tool for Says<T> {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn span(&self) -> Span {
        Span::Short
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let wish = self.0.wish(&cx, &arguments);
        Box::pin(async move {
            let wish = wish?;
            let lasting = wish.lasting.map(|rule| rule.to_string());
            Ok(Output::text(format!("{:?} {:?} {lasting:?}", wish.action, wish.guarded)))
        })
    }
}

/// Returns the access that a call with these arguments requests.
async fn wish(arguments: Value, say: impl Fn(Runs, &TestDirs) -> Runs) -> String {
    let place = TestDirs::new();
    let world = World::open(&place, Confined::No, move |call| match answers(call) {
        0 => Turn::call([("run_command", arguments.clone())]),
        _ => Turn::say("over"),
    })
    .await;
    let runs = say(Runs::new(world.commands.clone()), &place);
    let agents = offshoot_agent::Agents::with_model(world.model.clone());
    let agents = agents.tool(Says(runs.run_command()));
    let request = world.agents.request(&world.brief()).unwrap();
    let request = request.executed_by(std::sync::Arc::new(agents.backend()));
    world.session.spawn(request).await.unwrap().wait().await.unwrap();
    results(&world.model.asked()[1]).remove(0).text
}

#[tokio::test(flavor = "multi_thread")]
async fn the_access_of_a_call_is_guarded_without_a_sandbox() {
    let line = json!({"command": "cargo test && rm x"});
    let clear = r#"Run(Launching { commands: [["cargo", "test"], ["rm", "x"]], launchers: [["cargo", "test"]] })"#;
    let open = wish(line.clone(), |runs, _| runs).await;
    assert_eq!(open, format!("{clear} Some(\"commands are not confined on this system\") None"));
    let confined = wish(line.clone(), |runs, _| runs.confining(Support::Whole)).await;
    assert_eq!(confined, format!("{clear} None None"));
    let around =
        wish(line, |runs, place| runs.confining(Support::Whole).hiding([place.at("work/.keys")]));
    let around = around.await;
    assert!(around.contains("cannot be confined to the folder it works in"), "{around}");
    let lasting =
        wish(json!({"command": "cargo test -q"}), |runs, _| runs.confining(Support::Whole));
    assert!(lasting.await.ends_with("None Some(\"run_command(cargo test)\")"));
    let unclear = wish(json!({"command": "$x"}), |runs, _| runs.confining(Support::Whole)).await;
    assert_eq!(unclear, "Run(Unclear) None None");
    let wrong = wish(json!({"command": 1}), |runs, _| runs).await;
    assert!(wrong.contains("do not fit"), "a call that cannot run asks for no approval: {wrong}");
}
