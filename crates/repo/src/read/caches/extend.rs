//! Bringing the caches of branches up to date after one more changeset, without looking at all the
//! others: the usual case of a commit.

use super::branch_names::BranchNames;
use super::directory::CacheDirectory;
use super::{CacheFilter, Key, branch_heads};
use crate::format::lock::LockKind;
use varve_revlog::{Node, Rev};

/// A file of more bytes is not looked at.
const MOST: usize = 16 << 20;

/// A changeset with one parent that others may see, the newest one.
#[derive(Debug)]
pub(crate) struct AppendedChangeset {
    pub rev: Rev,
    pub node: Node,
    pub parent: (Rev, Node),
    pub branch: Vec<u8>,
    pub closes: bool,
    /// Node of the one before.
    pub before: Node,
}

/// Adds a changeset to caches that cover all changesets before it, none of them hidden; `false`
/// if they do not, or if it does not continue the branch of its parent.
pub(crate) fn extend(directory: CacheDirectory<'_>, new: &AppendedChangeset) -> bool {
    let file = CacheFilter::Served.file(branch_heads::CACHE);
    let Some(old) = Key::parse(&directory.read(&file, super::key::LONGEST)) else {
        return false;
    };
    let expected = Key {
        last: Rev(new.rev.0.saturating_sub(1)),
        node: new.before,
        hidden: None,
    };
    if old != expected {
        return false;
    }
    let Some(record) = BranchNames::record_of_child(directory, new) else {
        return false;
    };
    let heads = directory.read(&file, MOST);
    let Some(heads) = with_head(&heads[old.encode().len().min(heads.len())..], new) else {
        return false;
    };
    let key = Key {
        last: new.rev,
        node: new.node,
        hidden: None,
    };
    directory.replace(&file, &[key.encode(), heads].concat());
    if let Some(_guard) = directory.guard(LockKind::WorkingCopy) {
        BranchNames::append(directory, new.rev, &record);
    }
    true
}

/// The lines of heads with a new one, which takes the place of its parent.
fn with_head(lines: &[u8], new: &AppendedChangeset) -> Option<Vec<u8>> {
    let state = if new.closes { " c " } else { " o " };
    let line = [&new.node.to_hex(), state.as_bytes(), &new.branch, b"\n"].concat();
    let parent = new.parent.1.to_hex();
    let mut out = Vec::with_capacity(lines.len() + line.len());
    // Behind the last head of the branch.
    let mut place = None;
    for old in lines.split_inclusive(|byte| *byte == b'\n') {
        let (node, rest) = old.split_first_chunk::<{ 2 * Node::LEN }>()?;
        let name = rest.get(3..)?.strip_suffix(b"\n")?;
        let is_of_branch = name == new.branch;
        if !is_of_branch || *node != parent {
            out.extend_from_slice(old);
        }
        if is_of_branch {
            place = Some(out.len());
        }
    }
    let place = place?;
    out.splice(place..place, line);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(parent: u8, branch: &[u8], closes: bool) -> AppendedChangeset {
        AppendedChangeset {
            rev: Rev(9),
            node: Node([0xff; 20]),
            parent: (Rev(1), Node([parent; 20])),
            branch: branch.to_vec(),
            closes,
            before: Node([8; 20]),
        }
    }

    #[test]
    fn a_new_head_stands_behind_the_others_of_its_branch() {
        let line = |node: u8, rest: &str| format!("{} {rest}\n", Node([node; 20]));
        let old = line(1, "o a") + &line(2, "o b") + &line(3, "c b") + &line(4, "o c d");
        let with = |new: AppendedChangeset| {
            let found = with_head(old.as_bytes(), &new)?;
            Some(String::from_utf8(found).unwrap())
        };
        let expected = line(1, "o a") + &line(3, "c b") + &line(0xff, "o b") + &line(4, "o c d");
        assert_eq!(with(new(2, b"b", false)), Some(expected));
        let expected = line(1, "o a")
            + &line(2, "o b")
            + &line(3, "c b")
            + &line(4, "o c d")
            + &line(0xff, "c c d");
        assert_eq!(with(new(5, b"c d", true)), Some(expected));
        assert_eq!(with(new(1, b"no", false)), None);
        assert_eq!(with_head(b"short\n", &new(1, b"a", false)), None);
        assert_eq!(with_head(&old.as_bytes()[..80], &new(1, b"a", false)), None);
    }
}
