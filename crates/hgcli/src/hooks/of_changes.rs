//! Arguments of the hooks around commits and updates.

use crate::ui::short_hex;
use varve_repo::Node;
use varve_repo::hooks::HookArgs;

/// The second parent is empty where there is none.
pub(crate) fn of_parents([p1, p2]: &[Node; 2]) -> HookArgs {
    let hex = |node: &Node| node.to_hex().to_vec();
    let second = if p2.is_null() { Vec::new() } else { hex(p2) };
    HookArgs::from([("parent1", hex(p1)), ("parent2", second)])
}

/// The same with twelve digits.
pub(crate) fn of_short_parents([p1, p2]: &[Node; 2]) -> HookArgs {
    let short = |node: &Node| short_hex(node).into_bytes();
    let second = if p2.is_null() { Vec::new() } else { short(p2) };
    HookArgs::from([("parent1", short(p1)), ("parent2", second)])
}
