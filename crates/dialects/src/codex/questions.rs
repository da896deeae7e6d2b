//! `request_user_input` of Codex: asks the owner up to three questions in turn.
//!
//! The arguments follow the source of Codex. The tool exists wherever `ask` does.

use std::sync::Arc;

use offshoot_agent::{OfferedTools, Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};

use crate::adapt::find_tool;
use crate::alias::{ToolAlias, managing};

/// The built-in tool that asks.
const ASK: &str = "ask";

/// The largest number of questions in a call.
const MOST: usize = 3;

pub(super) fn alias(offered: &OfferedTools) -> Option<ToolAlias> {
    let ask = find_tool(&offered.built_in, ASK)?;
    let told = "Asks the user or agent you work for one to three questions, one after the other, and \
                waits until each is answered.";
    let request = move |cx, asked| request(cx, asked, ask.clone());
    Some(managing(ASK, ("request_user_input", told), request))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// One to three questions.
    #[schemars(length(min = 1, max = 3))]
    questions: Vec<Question>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// What the answer is called.
    id: String,
    /// A few words for it.
    header: Option<String>,
    /// What you must know to go on.
    question: String,
    /// What may be answered; anything else may be, too.
    #[serde(default)]
    options: Vec<Choice>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Choice {
    /// The answer.
    label: String,
    /// What comes of it.
    description: Option<String>,
}

impl Question {
    fn text(&self) -> String {
        let header = self.header.as_deref().filter(|header| !header.trim().is_empty());
        let header = header.map(|header| format!("{header}: ")).unwrap_or_default();
        let choices = self.options.iter().map(|Choice { label, description }| match description {
            Some(description) => format!("\n- {label}: {description}"),
            None => format!("\n- {label}"),
        });
        format!("{header}{}{}", self.question, choices.collect::<String>())
    }
}

async fn request(cx: ToolContext, asked: Request, ask: Arc<dyn Tool>) -> Result<Output, ToolError> {
    let questions = asked.questions;
    if questions.is_empty() || questions.len() > MOST {
        return Err(ToolError::new(format!("Nothing was asked: put 1 to {MOST} questions.")));
    }
    let is_twice = |(at, question): &(usize, &Question)| {
        questions.iter().take(*at).any(|other| other.id == question.id)
    };
    if let Some((_, Question { id, .. })) = questions.iter().enumerate().find(is_twice) {
        return Err(ToolError::new(format!(
            "Nothing was asked: two questions have the id {id:?}."
        )));
    }
    let mut answers = Map::new();
    for (at, question) in questions.iter().enumerate() {
        // Each question has a key of its own, so that a repeated call finds it.
        let cx = cx.clone().keyed(&format!("{} {at}", cx.key()));
        let put = json!({"question": question.text()}).to_string();
        let answer = ask.call(cx, put).await?.text;
        answers.insert(question.id.clone(), json!({"answers": [answer]}));
    }
    Output::json(&json!({"answers": answers}))
}
