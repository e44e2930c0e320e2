//! Setting keys: a namespace, a name, the value that it had and the one that it gets.
//!
//! ```text
//! bookmarks   name   node or nothing        node or nothing
//! phases      node   number of a phase      of a lower one
//! ```

use crate::ExchangeError;
use varve_repo::hooks::KeyMove;
use varve_repo::{Node, Phase, Receiver};

/// Sets a key in a transaction; `false` if it is not, because it has another value by now, or
/// because there is nothing of that name.
///
/// # Errors
/// What the storage answers.
pub fn set_key(receiver: &mut Receiver, key: &KeyMove) -> Result<bool, ExchangeError> {
    match &key.namespace[..] {
        b"bookmarks" => Ok(set_bookmark(receiver, key)),
        b"phases" => Ok(set_phase(receiver, key)),
        _ => Ok(false),
    }
}

fn set_bookmark(receiver: &mut Receiver, key: &KeyMove) -> bool {
    let found = receiver.bookmark(&key.key);
    let found = found.map(|node| node.to_hex().to_vec()).unwrap_or_default();
    if found != key.old && found != key.new {
        return false;
    }
    if key.key.contains(&b'\n') {
        return false;
    }
    let node = match &key.new[..] {
        b"" => Node::NULL,
        hex => match Node::from_hex(hex) {
            Some(node) if receiver.phase(&node).is_some() => node,
            _ => return false,
        },
    };
    receiver.bookmarks(&[(key.key.clone(), node)]);
    true
}

fn set_phase(receiver: &mut Receiver, key: &KeyMove) -> bool {
    let node = Node::from_hex(&key.key);
    let found = node.and_then(|node| Some((node, receiver.phase(&node)?)));
    let (Some((node, found)), Some(old), Some(new)) = (found, phase(&key.old), phase(&key.new))
    else {
        return false;
    };
    if found == old && new < old {
        receiver.lower_phases(new, &[node]);
        return true;
    }
    found == new
}

fn phase(number: &[u8]) -> Option<Phase> {
    let all = [Phase::Public, Phase::Draft, Phase::Secret];
    all.into_iter()
        .find(|phase| phase.number().to_string().as_bytes() == number)
}
