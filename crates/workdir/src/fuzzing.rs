//! Bodies of the fuzz targets; also run by plain tests.

pub use crate::dirstate::fuzzing::{dirstate_v1, dirstate_v2};
