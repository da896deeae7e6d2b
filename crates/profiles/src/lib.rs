//! Profiles of agents as files.
//!
//! A profile is Markdown: what an agent shall do, after front matter that says
//! what it may do. [`Profiles`] finds those of a project, of the person, and what
//! is built in. What a project folder brings only narrows until a person trusts
//! that folder, which [`Trust`] keeps. [`Instructions`] are what a project says to
//! all agents.

mod built_in;
mod claude;
mod draft;
mod error;
mod files;
mod front;
mod instructions;
mod own;
mod profiles;
mod project;
mod trust;
mod yaml;

pub use error::BadProfile;
pub use instructions::{Instruction, Instructions};
pub use profiles::Profiles;
pub use project::Project;
pub use trust::{Holds, Trust, TrustError, Trusted};
