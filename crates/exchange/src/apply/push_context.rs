//! Context of a bundle that a client pushes: hooks, output for the client, replies to its parts.

use super::PushOutput;
use crate::format::part::PartHeader;
use crate::format::part::reply::Reply;
use varve_repo::hooks::Hooks;

/// Context of a bundle that a client pushes.
#[derive(Debug)]
pub struct PushContext<'a> {
    /// Hooks that get the variables of the bundle; `None` keeps these from them.
    pub hooks: Option<&'a dyn Hooks>,
    /// Whether pushed changesets become public here.
    pub publishing: bool,
    /// Text for the client.
    pub output: &'a PushOutput,
    /// Replies to the parts.
    pub replies: &'a mut ReplyParts,
}

/// Replies to the parts of a pushed bundle, in the order of these.
#[derive(Debug, Default)]
pub struct ReplyParts {
    wanted: bool,
    replies: Vec<(u32, Reply)>,
}

impl ReplyParts {
    /// The client reads replies.
    pub(super) fn enable(&mut self) {
        self.wanted = true;
    }

    pub(super) fn add(&mut self, part: &PartHeader, reply: Reply) {
        self.replies.push((part.id, reply));
    }

    /// Whether the client reads replies.
    pub(crate) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Summaries of the parts that the replies would be, as `--debug` shows them.
    pub fn debug_summaries(&self) -> impl Iterator<Item = String> + '_ {
        let parts = self.iter().map(|(part, reply)| reply.encode(part));
        parts.map(|header| header.debug_summary())
    }

    /// The replies, each with the number of the part that it is about.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Reply)> + '_ {
        self.replies.iter().copied()
    }
}
