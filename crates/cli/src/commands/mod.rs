//! One file per command: arguments, one library call, printing.

pub(crate) mod bench;
pub(crate) mod serve;
