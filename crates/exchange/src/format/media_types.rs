//! Content types of answers.

/// Content type of plain answers and of streams for old clients.
pub const TYPE_01: &str = "application/mercurial-0.1";
/// Content type of streams that name their compression.
pub const TYPE_02: &str = "application/mercurial-0.2";
/// Content type of a text that the client shows before it stops.
pub const TYPE_ERROR: &str = "application/hg-error";
