//! Subagents: the tool `task` carries out tasks in sessions of their own.
//!
//! A child is a [`Session`](crate::Session) like any other, made from the agent of its parent with other tools, another
//! model and other instructions. The task of the tool call drives it, so whoever drives the parent need not know of it:
//! cancelling the call aborts its children, dropping it ends them with everything they started. What happens in them
//! reaches the parent as reports of the call.
//!
//! | file | what it holds |
//! |---|---|
//! | `tool.rs` | the definition that models see |
//! | `listing.rs` | what the system prompt says about the user's own agents |
//! | `names.rs` | the ids of subagents |
//! | `orders.rs` | the arguments of a call |
//! | `plan.rs` | which agent, tools and model a task gets |
//! | `call.rs` | a call: its children, at most some at a time, and its progress |
//! | `child.rs` | one child: its session and the loop that drives it |
//! | `observer.rs` | what a child is doing and has used |
//! | `output_schema.rs` | answers that have to be JSON of a given form |
//! | `results.rs` | the result of a call |
//! | `roster.rs` | what a session knows of its subagents |
//! | `inherited.rs` | the extensions of the parent, as its children have them |

mod call;
mod child;
mod inherited;
mod listing;
mod names;
mod observer;
mod orders;
mod output_schema;
mod plan;
mod results;
mod roster;
mod settings;
mod tool;

pub(crate) use call::Delegation;
pub(crate) use child::Place;
pub(crate) use listing::listing;
pub(crate) use roster::Roster;
pub use settings::SubagentSettings;
pub(crate) use tool::is_task_tool;
pub use tool::{TASK_TOOL, TaskTool};
