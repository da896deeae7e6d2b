//! The tool sets of other systems, as tools of Offshoot's agents.
//!
//! A model that was taught the tools of another system calls them by the names
//! and with the arguments that it knows. A [`Dialect`] gives an agent such a tool
//! set. Each tool of a dialect is an alias for a built-in tool: it translates the
//! arguments, performs the same [operations](offshoot_agent::operations), and
//! translates the result. Delivery, permissions and limits are therefore the same
//! in every dialect. Permission rules name built-in tools only, and apply to their
//! aliases.
//!
//! ```
//! use offshoot_agent::{Agents, Brief};
//! use offshoot_dialects::Dialect;
//! use offshoot_models::{Scripted, Turn};
//!
//! let model = Scripted::new(|_| Turn::say("done"));
//! let agents = Agents::with_model(model).dialects(Dialect::tool_maps());
//! let brief = Brief::new("scripted/model".parse()?, "Look around.").dialect(Dialect::Codex);
//! let request = agents.request(&brief)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapt;
mod alias;
mod awaken;
mod claude_code;
mod codex;
mod codex_v2;
mod defect;
mod dialect;
mod everruns;
mod koda;
mod operations;
mod task_ids;
mod task_status;

pub use dialect::Dialect;
