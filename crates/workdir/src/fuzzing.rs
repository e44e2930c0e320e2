//! Bodies of the fuzz targets; also run by plain tests.

pub use crate::dirstate::fuzzing::{dirstate_v1, dirstate_v2};
pub use crate::graft::fuzzing::graft_state;
pub use crate::histedit::fuzzing::histedit_state;
pub use crate::rebase::fuzzing::rebase_state;
pub use crate::shelve::fuzzing::unshelve_state;

/// Never panics on any text of an ignore file.
pub fn ignore_file(data: &[u8]) {
    crate::ignore::fuzz(data);
}
