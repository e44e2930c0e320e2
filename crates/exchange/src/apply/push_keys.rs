//! Setting keys: a namespace, a name, the value that it had and the one that it gets.
//!
//! ```text
//! bookmarks   name   node or nothing        node or nothing
//! phases      node   number of a phase      of a lower one
//! obsolete    dump…  nothing                markers, see `marker_keys`
//! ```

use crate::ExchangeError;
use crate::format::marker_keys::is_name;
use varve_base::base85;
use varve_repo::hooks::PushKey;
use varve_repo::{Node, Phase, Receiver, RepoError, python_repr};

/// Why a key cannot be set, whatever the repository has, in Mercurial's words.
pub fn objection_to(key: &PushKey) -> Option<String> {
    if key.namespace != b"obsolete" {
        return None;
    }
    // Mercurial's own words have it in this form.
    let shown = format!("b{}", python_repr(&key.key));
    if !is_name(&key.key) {
        return Some(format!("unknown key: {shown}"));
    }
    (!key.old.is_empty()).then(|| format!("unexpected old value for {shown}"))
}

/// Sets a key in a transaction; `false` if it has another value than `old` by now, or if there is no such
/// key.
///
/// # Errors
/// Damaged markers, or [`ExchangeError::MarkersNotEnabled`]; errors of the storage.
pub fn set_key(
    receiver: &mut Receiver,
    key: &PushKey,
    takes_markers: bool,
) -> Result<bool, ExchangeError> {
    match &key.namespace[..] {
        b"bookmarks" => Ok(set_bookmark(receiver, key)),
        b"phases" => Ok(set_phase(receiver, key)),
        b"obsolete" if !takes_markers => Err(ExchangeError::MarkersNotEnabled),
        b"obsolete" => {
            let bytes = base85::decode(&key.new).filter(|bytes| !bytes.is_empty());
            let reason = || "the value is no text of 85 characters".to_owned();
            let bytes = bytes.ok_or_else(|| RepoError::BadMarker { reason: reason() })?;
            receiver.markers(&bytes)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn set_bookmark(receiver: &mut Receiver, key: &PushKey) -> bool {
    let found = receiver.bookmark(&key.key);
    let found = found.map(|node| node.to_hex().to_vec()).unwrap_or_default();
    if found != key.old && found != key.new {
        return false;
    }
    if key.key.contains(&b'\n') {
        return false;
    }
    let node = match &key.new[..] {
        b"" => None,
        hex => match Node::from_hex(hex) {
            Some(node) if receiver.takes_bookmark_at(&node) => Some(node),
            _ => return false,
        },
    };
    receiver.bookmarks(&[(key.key.clone(), node)]);
    true
}

fn set_phase(receiver: &mut Receiver, key: &PushKey) -> bool {
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
