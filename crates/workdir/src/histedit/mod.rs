//! Editing a line of history by a plan: the rules, what they replace, and the state between two calls.

pub(crate) mod fuzzing;
mod plan;
mod replacements;
mod state;

pub use plan::{HisteditAction, HisteditPlanError, HisteditRule, PlanCheck, parse_plan};
pub use replacements::HisteditResult;
pub use state::HisteditState;
