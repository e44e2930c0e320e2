//! Queries and their answers, beside those of the real program.
#![allow(clippy::unwrap_used, reason = "a test that cannot do its work fails")]

mod answers;
