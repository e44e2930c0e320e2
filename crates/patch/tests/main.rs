//! Patches that a naive differ prints, read and applied again.

mod drawn;
mod git_form;
mod laws;
mod line_ends;
mod messages;
mod places;
mod store;
