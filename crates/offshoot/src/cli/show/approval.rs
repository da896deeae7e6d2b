//! An approval request as a person reads it before deciding.

use jiff::Timestamp;
use offshoot_client::wire::{ApprovalEnd, ApprovalRequest, Decision};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::colour::{Colour, Part};
use super::exact::{self, Exact};
use super::{text, time};
use crate::cli::context::CommandContext;

/// The most telling arguments of a call, in this order.
const FIRST: [&str; 8] = ["command", "program", "args", "path", "file", "url", "old", "new"];

/// The number of characters shown of a long argument, from its start and its end.
pub(crate) const SOME: (usize, usize) = (2_400, 800);

/// The number of arguments that are shown separately.
const FIELDS: usize = 32;

/// How a request is formatted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApprovalView<'a> {
    /// The number of columns, if known.
    pub(crate) width: Option<usize>,
    /// Whether colours are used.
    pub(crate) colour: Colour,
    /// The number of characters shown from the start and the end of an argument.
    pub(crate) most: Option<(usize, usize)>,
    /// The command that shows the full request.
    pub(crate) whole: &'a str,
}

/// Formats a request: the agent, the call with all its arguments, and the reason.
pub(crate) fn asked(approval: &ApprovalRequest, look: ApprovalView<'_>) -> String {
    let ApprovalView { colour, .. } = look;
    let agent = colour.paint(Part::Name, exact::on_one_line(&approval.agent));
    let wants = exact::on_one_line(&approval.wants());
    let mut shown = format!("{agent} {wants}\n");
    let (arguments, unseen) = arguments(&approval.arguments, look);
    shown.push_str(&arguments);
    if let Some(worktree) = &approval.worktree {
        let worktree = exact::on_one_line(worktree);
        shown.push_str(&format!("  {}: {worktree}\n", colour.paint(Part::Head, "in its worktree")));
    }
    if let Some(why) = &approval.why {
        let why = exact::on_one_line(why);
        shown.push_str(&format!("  {}: {why}\n", colour.paint(Part::Head, "why")));
    }
    if let many @ 1.. = unseen {
        let said = match many {
            1 => "1 invisible character is written as an escape".to_owned(),
            many => format!("{many} invisible characters are written as escapes"),
        };
        shown.push_str(&format!("  {}\n", colour.paint(Part::Bad, said)));
    }
    shown
}

/// Formats the arguments, the most telling first, and counts escaped characters.
fn arguments(written: &str, look: ApprovalView<'_>) -> (String, usize) {
    let exact = Exact { indent: "    ", width: look.width, colour: look.colour, most: look.most };
    let Some(mut entries) = Entries::read(written) else {
        return (exact.show(written, look.whole), exact::unseen(written));
    };
    let whole = entries.is_all_of(written) && entries.0.len() <= FIELDS;
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    entries.0.sort_by_key(|(name, _)| rank(name));
    let (mut shown, mut unseen) = (String::new(), 0);
    for (name, value) in entries.0.iter().take(FIELDS) {
        let name = look.colour.paint(Part::Head, exact::on_one_line(name));
        let said = match value {
            Value::String(said) => said.clone(),
            other => other.to_string(),
        };
        unseen += exact::unseen(&said);
        shown.push_str(&format!("  {name}\n{}", exact.show(&said, look.whole)));
    }
    if !whole {
        // The text differs from its normal form: show both.
        let label = look.colour.paint(Part::Head, "the arguments as written");
        shown.push_str(&format!("  {label}\n{}", exact.show(written, look.whole)));
    }
    (shown, unseen)
}

/// The entries of a JSON object in order, with duplicates.
#[derive(Debug)]
struct Entries(Vec<(String, Value)>);

impl Entries {
    fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether the text has nothing but these entries in their normal form.
    fn is_all_of(&self, text: &str) -> bool {
        let entries: Option<Vec<String>> = self
            .0
            .iter()
            .map(|(name, value)| {
                let name = serde_json::to_string(name).ok()?;
                Some(format!("{name}:{value}"))
            })
            .collect();
        entries.is_some_and(|entries| format!("{{{}}}", entries.join(",")) == compact(text))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(Object)
    }
}

/// Removes the white space between the parts of a JSON text.
fn compact(json: &str) -> String {
    let (mut shown, mut within, mut escaped) = (String::with_capacity(json.len()), false, false);
    for c in json.chars() {
        if within || !matches!(c, ' ' | '\n' | '\r' | '\t') {
            shown.push(c);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if within => escaped = true,
            '"' => within = !within,
            _ => {}
        }
    }
    shown
}

/// The arguments on one line, the most telling first.
pub(crate) fn in_short(approval: &ApprovalRequest) -> String {
    shortest(&approval.arguments)
}

/// The most telling argument on one line, or all arguments.
pub(crate) fn shortest(arguments: &str) -> String {
    let told = Entries::read(arguments).and_then(|entries| {
        let first = FIRST.iter().find_map(|name| {
            entries.0.iter().find(|(entry, _)| entry == name).map(|(_, value)| value.clone())
        })?;
        match first {
            Value::String(said) => Some(said),
            other => Some(other.to_string()),
        }
    });
    exact::on_one_line(told.as_deref().unwrap_or(arguments))
}

/// The calls that a standing grant would cover.
pub(crate) fn covers(approval: &ApprovalRequest) -> Option<String> {
    let rule = exact::on_one_line(approval.always.as_ref()?);
    // A rule about commands covers none that names a path elsewhere.
    let within = if rule.contains('(') { "on paths inside" } else { "in" };
    Some(match &approval.folder {
        Some(folder) => format!("{rule}, {within} {}", exact::on_one_line(folder)),
        None => rule,
    })
}

/// Describes the end of a request in a few words.
pub(crate) fn closed(closing: &ApprovalEnd) -> String {
    let by = closing.by.as_deref().map(|by| format!(" by {}", text::line(by))).unwrap_or_default();
    match &closing.decision {
        Some(verdict) => format!("{}{by}", said(verdict)),
        None if closing.by.is_some() => format!("answered{by}"),
        None => "withdrawn".to_owned(),
    }
}

/// Describes a decision in a few words.
pub(crate) fn said(verdict: &Decision) -> String {
    match verdict {
        Decision::Once => "allowed once".to_owned(),
        Decision::Always => "allowed always".to_owned(),
        Decision::Denied { reason: None } => "denied".to_owned(),
        Decision::Denied { reason: Some(reason) } => {
            format!("denied ({})", text::cut(&text::line(reason), 200))
        }
    }
}

/// The commands that decide a request.
pub(crate) fn answer_hint(cx: &CommandContext, id: &str) -> String {
    let [approve, deny] = ["approve", "deny"].map(|word| cx.command_anywhere(word, &[id]));
    let show = cx.command_anywhere("approvals show", &[id]);
    format!("to answer: {approve}, or {deny}; all of it: {show}")
}

/// The age of a request.
pub(crate) fn since(approval: &ApprovalRequest, now: Timestamp) -> String {
    time::ago(&approval.since, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(arguments: &str) -> ApprovalRequest {
        ApprovalRequest {
            id: "9f3c1a-1".into(),
            session: "s".into(),
            task: "id".into(),
            agent: "lead/ants".into(),
            root: "id-of-lead".into(),
            number: 1,
            tool: "run_command".into(),
            arguments: arguments.into(),
            why: None,
            always: Some("run_command(cargo test)".into()),
            folder: Some("/work".into()),
            worktree: None,
            since: "2026-01-02T03:04:05Z".into(),
            closed: None,
        }
    }

    fn shown(arguments: &str) -> String {
        let look = ApprovalView {
            width: Some(80),
            colour: Colour::Plain,
            most: Some((20, 5)),
            whole: "w",
        };
        asked(&approval(arguments), look)
    }

    #[test]
    fn the_command_is_first_and_every_character_is_visible() {
        let written = r#"{"background": true, "command": "echo \u001b[2J"}"#;
        let seen = shown(written);
        assert_eq!(
            seen,
            "lead/ants wants to run a command\n  command\n    │ echo \\x1b[2J\n  background\n    \
             │ true\n  1 invisible character is written as an escape\n"
        );
    }

    #[test]
    fn where_a_child_in_a_worktree_would_act_is_shown() {
        let approval =
            ApprovalRequest { worktree: Some("/trees/a\u{1b}".into()), ..approval("{}") };
        let look = ApprovalView { width: None, colour: Colour::Plain, most: None, whole: "w" };
        let seen = asked(&approval, look);
        assert!(seen.contains("\n  in its worktree: /trees/a\\x1b\n"), "{seen}");
    }

    #[test]
    fn arguments_in_an_unusual_form_are_also_shown_as_written() {
        for odd in [r#"{"path": "\u0061"}"#, r#"{"a": {"z": 1, "z": 2}}"#] {
            assert!(shown(odd).contains("the arguments as written"), "{odd}");
        }
        assert!(!shown(r#"{ "path" : "a b" , "deep": [1, 2] }"#).contains("arguments as written"));
        let twice = shown(r#"{"path": "a", "path": "b"}"#);
        assert!(twice.contains("    │ a\n") && twice.contains("    │ b\n"), "{twice}");
        for strange in ["not json", "[1]", ""] {
            assert!(shown(strange).contains(&format!("    │ {strange}\n")), "{strange}");
        }
    }

    #[test]
    fn a_long_argument_is_shown_with_its_end() {
        let seen = shown(&format!(r#"{{"command": "{} | sh"}}"#, "x".repeat(100)));
        assert!(seen.contains("80 more characters are left out here; w"), "{seen}");
        assert!(seen.contains("    │  | sh\n"), "{seen}");
    }

    #[test]
    fn the_short_form_is_the_command() {
        let asked = approval(r#"{"background": true, "command": "cargo test\n; rm x"}"#);
        assert_eq!(in_short(&asked), r"cargo test\n; rm x");
        assert_eq!(covers(&asked).unwrap(), "run_command(cargo test), on paths inside /work");
    }
}
