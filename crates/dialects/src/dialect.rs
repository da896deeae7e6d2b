//! The list of dialects, and the choice of tools that each makes.

use std::sync::Arc;

use offshoot_agent::{DialectName, FinishAlias, OfferedTools, Tool, ToolMap};
use offshoot_core::Task;
use serde::{Deserialize, Serialize};

use crate::adapt::{COMMAND_OUTPUT, RUN_COMMAND};
use crate::alias::{self, ToolAlias, ToolNames};
use crate::{awaken, claude_code, codex, codex_v2, defect, everruns, koda};

/// A tool set that agents can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The built-in tools under their own names.
    #[default]
    Offshoot,
    /// The tools of everruns.
    Everruns,
    /// The tools of koda.
    Koda,
    /// The tools of defect.
    Defect,
    /// The tools of awaken.
    Awaken,
    /// The first set of tools of Codex, which its models have by default.
    Codex,
    /// The second set of tools of Codex.
    CodexV2,
    /// The tools of Claude Code.
    ClaudeCode,
}

/// The tools of one dialect.
struct AliasTable {
    /// The names of built-in tools in the dialect, for texts that mention them.
    names: ToolNames,
    /// Built-in tools that the dialect keeps because it has no equivalent.
    kept: &'static [&'static str],
    aliases: Vec<ToolAlias>,
}

/// Built-in tools that an agent keeps in every dialect that has no alias for them.
const ALWAYS_KEPT: [&str; 4] = ["read_output", "answer_request", "report_progress", "ask"];

impl Dialect {
    /// Every dialect with its name in profiles and briefs.
    pub const ALL: [(&'static str, Self); 8] = [
        ("offshoot", Self::Offshoot),
        ("everruns", Self::Everruns),
        ("koda", Self::Koda),
        ("defect", Self::Defect),
        ("awaken", Self::Awaken),
        ("codex", Self::Codex),
        ("codex_v2", Self::CodexV2),
        ("claude_code", Self::ClaudeCode),
    ];

    /// The tool maps of all dialects, to be registered with
    /// [`Agents::dialects`](offshoot_agent::Agents::dialects).
    pub fn tool_maps() -> impl Iterator<Item = Arc<dyn ToolMap>> {
        let foreign = Self::ALL.into_iter().filter(|(_, dialect)| *dialect != Self::Offshoot);
        foreign.map(|(_, dialect)| Arc::new(dialect) as Arc<dyn ToolMap>)
    }

    /// Its name in profiles and briefs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Offshoot => "offshoot",
            Self::Everruns => "everruns",
            Self::Koda => "koda",
            Self::Defect => "defect",
            Self::Awaken => "awaken",
            Self::Codex => "codex",
            Self::CodexV2 => "codex_v2",
            Self::ClaudeCode => "claude_code",
        }
    }

    /// The names of built-in tools in the dialect.
    fn tool_names(self) -> ToolNames {
        match self {
            Self::Offshoot => &[],
            Self::Everruns => everruns::NAMES,
            Self::Koda => koda::NAMES,
            Self::Defect => defect::NAMES,
            Self::Awaken => awaken::NAMES,
            Self::Codex => codex::NAMES,
            Self::CodexV2 => codex_v2::NAMES,
            Self::ClaudeCode => claude_code::NAMES,
        }
    }

    fn table(self, offered: &OfferedTools) -> Option<AliasTable> {
        let (kept, aliases): (&[&str], _) = match self {
            Self::Offshoot => return None,
            Self::Everruns => (everruns::KEPT_TOOLS, everruns::aliases(offered)),
            Self::Koda => (koda::KEPT_TOOLS, koda::aliases(offered)),
            Self::Defect => (defect::KEPT_TOOLS, defect::aliases()),
            Self::Awaken => (awaken::KEPT_TOOLS, awaken::aliases(offered)),
            Self::Codex => (codex::KEPT_TOOLS, codex::aliases(offered)),
            Self::CodexV2 => (codex_v2::KEPT_TOOLS, codex_v2::aliases(offered)),
            Self::ClaudeCode => (claude_code::KEPT_TOOLS, claude_code::aliases(offered)),
        };
        Some(AliasTable { names: self.tool_names(), kept, aliases })
    }
}

impl From<Dialect> for DialectName {
    fn from(dialect: Dialect) -> Self {
        Self::from_static(dialect.as_str())
    }
}

impl ToolMap for Dialect {
    fn name(&self) -> DialectName {
        (*self).into()
    }

    fn tools(&self, offered: OfferedTools) -> Vec<Arc<dyn Tool>> {
        match self.table(&offered) {
            Some(table) => table.tools(offered),
            None => offered.provided.into_iter().chain(offered.built_in).collect(),
        }
    }

    fn reword(&self, text: &str) -> String {
        alias::reword(text, self.tool_names())
    }

    fn task_id(&self, task: &Task) -> Option<String> {
        Some(match self {
            // The notice has this id anyway.
            Self::Offshoot | Self::Codex => return None,
            Self::Everruns => everruns::id(task),
            Self::Koda => koda::id(task),
            Self::Defect => defect::id(task),
            Self::Awaken => awaken::id(task),
            Self::CodexV2 => codex_v2::id(task),
            Self::ClaudeCode => claude_code::id(task),
        })
    }

    fn finish_alias(&self) -> Option<&'static FinishAlias> {
        match self {
            Self::Defect => Some(&defect::FINISH_ALIAS),
            Self::Codex | Self::CodexV2 => Some(&codex::FINISH_ALIAS),
            _ => None,
        }
    }

    fn lists_profiles(&self) -> bool {
        *self == Self::Awaken
    }
}

impl AliasTable {
    /// The tools of the agent: provided tools first, then aliases, then built-in
    /// tools that stay.
    ///
    /// A provided tool keeps its name. An alias of the same name is left out, and
    /// the built-in tool stays instead.
    fn tools(self, offered: OfferedTools) -> Vec<Arc<dyn Tool>> {
        let Self { names, kept, mut aliases } = self;
        let OfferedTools { provided, built_in, .. } = offered;
        let has = |tools: &[Arc<dyn Tool>], name: &str| {
            tools.iter().any(|tool| &*tool.spec().name == name)
        };
        // Aliases of provided tools exist only where the provided tool does.
        let is_offered = |name: &str| match name {
            RUN_COMMAND | COMMAND_OUTPUT => true,
            name => has(&built_in, name),
        };
        let hidden = aliases.iter().filter(|alias| has(&provided, alias.name()));
        let hidden: Vec<_> = hidden.map(ToolAlias::built_in).collect();
        aliases.retain(|alias| is_offered(alias.built_in()) && !has(&provided, alias.name()));
        let has_alias = |name: &str| aliases.iter().any(|alias| alias.built_in() == name);
        let keeps = |name: &str| kept.contains(&name) || hidden.contains(&name);
        let stays = |name: &str| {
            let stays = ALWAYS_KEPT.contains(&name) || kept.contains(&name);
            stays && !has_alias(name) || hidden.contains(&name)
        };
        let shown = |name: &str| name != RUN_COMMAND || !has_alias(name) || keeps(name);
        let provided = provided.iter().filter(|tool| shown(&tool.spec().name));
        let mut tools: Vec<_> = provided.cloned().collect();
        let built_in = built_in.into_iter().filter(|tool| stays(&tool.spec().name));
        let built_in: Vec<_> = built_in.collect();
        let aliases = aliases.into_iter().map(|alias| alias.with_names(names));
        tools.extend(aliases.map(|alias| Arc::new(alias) as Arc<dyn Tool>));
        tools.extend(built_in);
        tools
    }
}

#[cfg(test)]
mod tests {
    use offshoot_agent::built_in_tools;

    use super::*;

    #[test]
    fn s11_7_a_dialect_is_written_as_it_is_listed() {
        for (name, dialect) in Dialect::ALL {
            assert_eq!(serde_json::to_value(dialect).unwrap(), name);
            assert_eq!(dialect.as_str(), name);
        }
    }

    #[test]
    fn aliases_and_kept_tools_are_built_in_tools() {
        let is_built_in = |name: &str| built_in_tools::find(name).is_some();
        assert!(ALWAYS_KEPT.into_iter().all(is_built_in));
        for (name, dialect) in Dialect::ALL {
            let Some(table) = dialect.table(&OfferedTools::default()) else { continue };
            assert!(table.kept.iter().all(|tool| is_built_in(tool)), "{name}");
            assert!(table.aliases.iter().all(|alias| is_built_in(alias.built_in())), "{name}");
        }
    }
}
