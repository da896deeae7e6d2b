//! Agent profiles in files.
//!
//! A profile is a Markdown file: front matter with permissions and settings, then the
//! instructions of the agent. [`Profiles`] finds the profiles of a project
//! (`.offshoot/agents/*.md`, and `.claude/agents/*.md` in the format of Claude Code), of
//! the user, and the built-in ones. [`Instructions`] are the texts of a project for all
//! agents.
//!
//! ```md
//! ---
//! name: reviewer               # default: the name of the file
//! description: Reviews changes # read by the agent that chooses
//! extends: explore             # its fields are defaults, and its rules apply too
//! model: openai/gpt-5          # default: the model of the spawning agent
//! tools: read, search, run_command
//! mode: ask                    # plan, ask, auto
//! allow: run_command(git diff)
//! ask: write
//! deny: run_command(git push)
//! asks: person                 # owner, person, nobody
//! budget: 2usd
//! isolation: worktree          # none, worktree
//! agents: [explore]            # the profiles that it may spawn
//! config: {type: object, properties: {branch: {type: string}}}
//! dialect: claude_code         # the tool set of the agent
//! ---
//! You review changes.
//! ```
//!
//! The profiles of a project directory can only narrow permissions until the user trusts
//! the directory; [`Trust`] keeps the list. Until then a profile has neither a model nor
//! an approver of its own. A profile with the name of a built-in one, or of one of the
//! user, narrows that one.

mod built_in;
mod claude;
mod error;
mod fields;
mod files;
mod front;
mod gathered;
mod instructions;
mod own;
mod profiles;
mod project;
mod trust;
mod user_dirs;
mod yaml;

pub use error::BadProfile;
pub use instructions::{Instruction, Instructions};
pub use profiles::Profiles;
pub use project::Project;
pub use trust::{Trust, TrustError, TrustState, Trusted};
