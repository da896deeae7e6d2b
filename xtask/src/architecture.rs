//! The check of the repository's architecture: the order of modules and crates, names and words.
//!
//! [`SourceTree`] is the repository, read and parsed once. A rule is one file that ends in a constant
//! `RULE`, and its line in [`RULES`]; its check is a function from the tree to violations, so each
//! rule is tested on small trees that a test plants in a directory of its own.
//!
//! | data | files |
//! |---|---|
//! | the tree and its parts | `tree`, `member`, `rust_file`, `text_file`, `module`, `item` |
//! | the rules | `cycles`, `crate_order`, `type_names`, `old_names`, `prose`, `file_length` |
//! | the lists that the rules apply | `shared_names`, `old_words`, `banned_phrases` |
//! | the results | `violation`, `findings`, `figures`, `allowance` |

mod allowance;
mod banned_phrases;
mod crate_order;
mod cycles;
mod declared_name;
mod digraph;
mod figures;
mod file_length;
mod findings;
mod item;
mod member;
mod module;
mod module_graph;
mod old_names;
mod old_words;
#[cfg(test)]
mod planted;
mod prose;
mod reference;
mod root_names;
mod rust_file;
mod shared_names;
mod text_file;
mod token;
mod tree;
mod type_names;
mod violation;

pub(crate) use allowance::{FigureMismatch, ViolationAllowance};
pub(crate) use figures::TreeFigures;
pub(crate) use findings::RuleFindings;
#[cfg(test)]
pub(crate) use planted::PlantedWorkspace;
pub(crate) use tree::SourceTree;

use violation::RuleViolation;

/// Every rule, in the order in which they are printed.
const RULES: &[Rule] = &[
    cycles::RULE,
    crate_order::RULE,
    type_names::RULE,
    old_names::RULE,
    prose::RULE,
    file_length::RULE,
];

/// One rule of the architecture.
#[derive(Debug)]
struct Rule {
    /// The name under which its violations are grouped.
    name: &'static str,
    /// The condition that holds when it finds nothing.
    about: &'static str,
    /// Lists the violations in a tree.
    check: fn(&SourceTree) -> Vec<RuleViolation>,
}
