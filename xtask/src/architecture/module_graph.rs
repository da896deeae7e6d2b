//! The top-level modules of a crate, and the places where one names another.

use std::collections::BTreeMap;

use super::digraph::Digraph;
use super::module::Module;
use super::reference::references_of;
use super::root_names::RootNames;

/// Which top-level modules of a crate name which, and where.
///
/// The root of the crate is not a node: it names every module.
pub(crate) struct ModuleGraph {
    mentions: BTreeMap<(String, String), Vec<Mention>>,
}

/// A place where a module names another.
pub(crate) struct Mention {
    /// The file, relative to the root of the tree.
    pub(crate) file: String,
    /// The line, counted from one.
    pub(crate) line: usize,
    /// The path as it is from the root of the crate.
    pub(crate) path: String,
}

impl ModuleGraph {
    /// The graph of the crate that has these modules.
    pub(crate) fn of(modules: &[Module<'_>]) -> Self {
        let names = RootNames::of(modules);
        let mut graph = Self { mentions: BTreeMap::new() };
        for module in modules {
            let Some(from) = module.path.first() else { continue };
            for reference in references_of(module) {
                for to in names.resolve(&reference.segments) {
                    if to != *from {
                        let file = module.file.path.clone();
                        let path = format!("crate::{}", reference.segments.join("::"));
                        let mention = Mention { file, line: reference.line, path };
                        graph.mentions.entry((from.clone(), to)).or_default().push(mention);
                    }
                }
            }
        }
        graph
    }

    /// The places where one module names the other.
    pub(crate) fn mentions(&self, from: &str, to: &str) -> &[Mention] {
        let edge = (from.to_owned(), to.to_owned());
        self.mentions.get(&edge).map_or(&[], Vec::as_slice)
    }

    /// The modules as nodes; the weight of an edge is the number of its mentions.
    pub(crate) fn digraph(&self) -> Digraph {
        let mut digraph = Digraph::default();
        for ((from, to), mentions) in &self.mentions {
            digraph.add(from, to, mentions.len());
        }
        digraph
    }
}
