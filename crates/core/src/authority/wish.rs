//! What a call wants to do, before it is made.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::layer::Rule;
use super::line::Line;

/// What a call wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The tool that is called.
    pub tool: Arc<str>,
    /// What it would do.
    pub deed: Deed,
    /// Why somebody must be asked whatever is allowed, if so.
    pub guarded: Option<Arc<str>>,
    /// What leave for ever would be given for, if that can be given: a rule that
    /// the wish itself fits.
    pub lasting: Option<Rule>,
    /// The paths that it names, if a standing grant covers it only inside a directory.
    pub paths: Option<NamedPaths>,
    /// Facts for the person who is asked, each a clause.
    pub notes: Vec<Arc<str>>,
}

/// The paths that a call names or may name. A standing grant covers the call only if
/// none of them leads outside the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPaths {
    /// The directory, by its real path.
    pub directory: PathBuf,
    /// The paths as seen from the directory.
    pub paths: Vec<String>,
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// It looks.
    Look,
    /// It sends tasks off, speaks to them or stops them: its own, which have no
    /// more leave than itself.
    Manage,
    /// It changes something.
    Change,
    /// It runs this.
    Run(Line),
    /// It asks somebody on the network.
    Reach,
}

impl Deed {
    /// Whether it goes beyond looking and what the runtime holds in check anyway.
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Look | Self::Manage)
    }
}

impl Wish {
    /// A tool that would do this.
    pub fn new(tool: &str, deed: Deed) -> Self {
        Self {
            tool: tool.into(),
            deed,
            guarded: None,
            lasting: None,
            paths: None,
            notes: Vec::new(),
        }
    }

    /// Of which somebody must be asked, because of this.
    #[must_use]
    pub fn guarded(mut self, why: &str) -> Self {
        self.guarded = Some(why.into());
        self
    }

    /// For which leave can be given for ever, as this rule.
    #[must_use]
    pub fn lasting(mut self, rule: Rule) -> Self {
        self.lasting = Some(rule);
        self
    }

    /// The paths that it names. See [`NamedPaths`].
    #[must_use]
    pub fn naming(mut self, paths: NamedPaths) -> Self {
        self.paths = Some(paths);
        self
    }

    /// With one more fact for the person who is asked.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        self.notes.push(note.into());
        self
    }
}
