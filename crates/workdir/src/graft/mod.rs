//! Grafting: the choice of the changesets, the extras that name their sources, and the state of a graft that is under
//! way.

mod cbor;
mod choice;
pub(crate) mod fuzzing;
mod state;

pub use choice::{
    GraftChoice, GraftOptions, GraftSkip, GraftSkipReason, choose_grafts, graft_extras,
};
pub use state::GraftState;
