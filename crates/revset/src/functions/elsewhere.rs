//! Changesets that files beside the history name: lists of nodes, the state of a merge, bundles, `.hgsubstate`.

use super::arguments;
use crate::bitset::BitSet;
use crate::set::Predicate;
use crate::text::TextMatcher;
use crate::tree::Expr;
use crate::{ChosenDestination, Engine, Member, PeerError, RevsetError, Set};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use varve_repo::{Node, Rev};

/// Bytes of a list of nodes that are read.
const LONGEST_LIST: u64 = 1 << 30;
/// The file with the state of each subrepository.
const SUBSTATE: &[u8] = b".hgsubstate";
/// The file that names them.
const SUBREPOS: &[u8] = b".hgsub";

/// `nodefromfile(path)`: a node in each line of the file. Lines that name no changeset are passed over.
pub(super) fn node_from_file(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let name = arguments::string(arguments, "nodefromfile require a file path")?;
    let path = engine.context().cwd.join(OsStr::from_bytes(name));
    let refused = |error: std::io::Error| {
        let name = String::from_utf8_lossy(name).into_owned();
        let reason = system_words(&error);
        RevsetError::NodesFile { name, reason }
    };
    // A device says nothing of its length.
    let file = std::fs::File::open(&path).map_err(refused)?;
    let mut list = Vec::new();
    let read = file.take(LONGEST_LIST + 1).read_to_end(&mut list);
    if read.map_err(refused)? as u64 > LONGEST_LIST {
        return Err(refused(std::io::ErrorKind::FileTooLarge.into()));
    }
    let mut found = BitSet::default();
    for line in list.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        let Some(node) = Node::from_hex(line) else {
            continue;
        };
        if node.is_null() {
            found.insert(None);
        } else if let Some(rev) = engine.changelog().rev(&node) {
            found.insert(Some(rev));
        }
    }
    Ok(engine.shown(found))
}

/// The system's words without the number behind them.
fn system_words(error: &std::io::Error) -> String {
    let words = error.to_string();
    words
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// `conflictlocal()` and `conflictother()`: the sides of a merge that is not committed, and has or had conflicts.
pub(super) fn conflict_side(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let Some(working) = &engine.context().working else {
        return Ok(Set::empty());
    };
    let side = working.conflict_sides()?.map(|[local, other]| match name {
        "conflictlocal" => local,
        _ => other,
    });
    let rev = side.and_then(|side| engine.changelog().rev(&side));
    let mut found = BitSet::default();
    if let Some(rev) = rev {
        found.insert(Some(rev));
    }
    Ok(engine.shown(found))
}

/// `_destmerge([set])`: the changeset that `merge` takes by itself, as if the working copy were at the set.
pub(super) fn merge_destination(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    chosen_destination(engine, ChosenDestination::Merge, name, arguments)
}

/// `_destrebase([set])`: the same for `rebase`.
pub(super) fn rebase_destination(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    chosen_destination(engine, ChosenDestination::Rebase, name, arguments)
}

fn chosen_destination(
    engine: &Engine<'_>,
    of: ChosenDestination,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::at_most_one(name, arguments)?;
    let working = &engine.context().working;
    let working = working.as_ref().ok_or(RevsetError::WorkingCopy)?;
    let sources = match arguments.first() {
        None => None,
        Some(sources) => {
            let sources = engine.evaluate(sources)?;
            let revs = sources
                .members(engine)
                .collect::<Result<Vec<Member>, _>>()?;
            if revs.is_empty() {
                return Err(RevsetError::Peer(PeerError("source set is empty".into())));
            }
            // The null revision is no head.
            Some(revs.into_iter().flatten().collect::<Vec<Rev>>())
        }
    };
    let found = working.destination(of, sources.as_deref())?;
    Ok(Set::list(vec![Some(found)]))
}

/// `bundle()`: the changesets of the bundle that is read as a repository.
pub(super) fn bundle(engine: &Engine<'_>, _: &str, _: &[Expr]) -> Result<Set, RevsetError> {
    let first = engine.context().bundled_from;
    let first = first.ok_or(RevsetError::NoBundle)?;
    let mut found = BitSet::default();
    for rev in engine.changelog().revs().filter(|rev| *rev >= first) {
        found.insert(Some(rev));
    }
    Ok(engine.shown(found))
}

/// `subrepo([pattern])`: changesets that added, changed or removed a subrepository.
pub(super) fn subrepo(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::at_most_one(name, arguments)?;
    let pattern = arguments.first();
    let pattern = pattern.map(|one| arguments::word(one, "subrepo requires a pattern"));
    let wanted = pattern
        .transpose()?
        .map(|one| TextMatcher::new(one, true))
        .transpose()?;
    let test = move |engine: &Engine<'_>, rev: Rev| {
        let touches = engine.with_changeset(rev, |changeset| {
            changeset
                .files()
                .any(|file| file == SUBSTATE || file == SUBREPOS)
        })?;
        if !touches {
            return Ok(false);
        }
        let Some(wanted) = &wanted else {
            return Ok(true);
        };
        let [parent, _] = engine.changelog().parents(rev);
        let (before, after) = (states(engine, parent)?, states(engine, Some(rev))?);
        let paths = before.keys().chain(after.keys());
        let mut changed = paths.filter(|path| before.get(*path) != after.get(*path));
        Ok(changed.any(|path| wanted.is_match(path)))
    };
    Ok(engine.everything().filter(Predicate::Rev(Box::new(test))))
}

/// States by path.
fn states(engine: &Engine<'_>, rev: Member) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, RevsetError> {
    let view = engine.view();
    let text = view.manifest_text(rev)?;
    let Some(entry) = view.find_in_manifest(&text, SUBSTATE)? else {
        return Ok(BTreeMap::new());
    };
    let content = view.file_content(SUBSTATE, &entry.node)?;
    let lines = content.split(|byte| *byte == b'\n');
    let pair = |line: &[u8]| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        Some((line[space + 1..].to_vec(), line[..space].to_vec()))
    };
    Ok(lines.filter_map(pair).collect())
}
