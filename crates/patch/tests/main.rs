//! Patches that a naive differ prints, read and applied again.
#![allow(clippy::unwrap_used, reason = "a test that cannot do its work fails")]

mod drawn;
mod git_form;
mod laws;
mod line_ends;
mod messages;
mod places;
mod selected;
mod store;
