//! Profiles of agents as files.
//!
//! A profile is Markdown: what an agent shall do, after front matter that says
//! what it may do. [`Profiles`] finds those of a project (`.offshoot/agents/*.md`,
//! and `.claude/agents/*.md` as Claude Code writes them), of the person, and what is
//! built in. [`Instructions`] are what a project says to all agents.
//!
//! ```md
//! ---
//! name: reviewer               # that of the file if it does not say
//! description: Reviews changes # for the agent that chooses
//! extends: explore             # says what is not said here, and narrows as well
//! model: openai/gpt-5          # that of the spawning agent if it is absent
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
//! dialect: claude_code         # how tools are called to it
//! ---
//! You review changes.
//! ```
//!
//! What a project folder brings only narrows until a person trusts that folder,
//! which [`Trust`] keeps. Until then its profiles have no model of their own and
//! ask whom their owner asks, and one that is called as another, which is built in
//! or the person's, only narrows that one.

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
