//! Hooks around commits and updates.

use crate::context::Session;
use crate::context::working::short_hex;
use crate::ui::Abort;
use varve_repo::Node;
use varve_repo::hooks::{HookArgs, Hooks};

impl Session {
    /// Asks whether a changeset of these parents may be made.
    pub fn before_commit(&mut self, parents: &[Node; 2]) -> Result<(), Abort> {
        self.ask_hooks("precommit", &of_parents(parents))
    }

    /// Tells of a new changeset when all locks are gone.
    pub fn after_commit(&mut self, node: &Node, parents: &[Node; 2]) {
        let mut facts = of_parents(parents);
        facts.insert("node", node.to_hex().to_vec());
        self.hooks.run_later("commit", facts);
    }

    /// Asks whether the working folder may get these parents.
    pub fn before_update(&mut self, parents: &[Node; 2]) -> Result<(), Abort> {
        self.ask_hooks("preupdate", &of_short_parents(parents))
    }

    /// Tells of the new parents of the working folder, and how many files are left unresolved.
    pub fn after_update(&mut self, parents: &[Node; 2], unresolved: usize) -> Result<(), Abort> {
        let mut facts = of_short_parents(parents);
        facts.insert("error", unresolved.to_string().into_bytes());
        self.tell_hooks("update", &facts)
    }

    /// Whether any hook wants to know before the working folder changes.
    pub fn asks_before_update(&self) -> bool {
        self.hooks.has_hook("preupdate")
    }
}

/// The second parent is empty where there is none.
fn of_parents([p1, p2]: &[Node; 2]) -> HookArgs {
    let hex = |node: &Node| node.to_hex().to_vec();
    let second = if p2.is_null() { Vec::new() } else { hex(p2) };
    HookArgs::from([("parent1", hex(p1)), ("parent2", second)])
}

fn of_short_parents([p1, p2]: &[Node; 2]) -> HookArgs {
    let short = |node: &Node| short_hex(node).into_bytes();
    let second = if p2.is_null() { Vec::new() } else { short(p2) };
    HookArgs::from([("parent1", short(p1)), ("parent2", second)])
}
