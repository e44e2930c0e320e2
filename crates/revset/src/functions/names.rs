//! Names that changesets have: branches, bookmarks, tags, phases, nodes, numbers.

use super::arguments;
use crate::bitset::BitSet;
use crate::engine::is_working_prefix;
use crate::optimize::SEPARATOR;
use crate::set::Predicate;
use crate::text::TextMatcher;
use crate::tree::Expr;
use crate::{Engine, Member, RevsetError, Set, WORKING_COPY};
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Node, Phase, PrefixMatch, Rev, prefix_digits};

pub(super) fn phase(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let wanted = match name {
        "public" => Phase::Public,
        "draft" => Phase::Draft,
        _ => Phase::Secret,
    };
    let has_phase = move |engine: &Engine<'_>, rev: Rev| Ok(engine.phase(rev) == wanted);
    let test = Predicate::RevOrWorking(Box::new(has_phase));
    Ok(engine.everything().filter(test))
}

/// `_notpublic()`: drafts and secrets.
pub(super) fn not_public(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let test = |engine: &Engine<'_>, rev: Rev| Ok(engine.phase(rev) != Phase::Public);
    let test = Predicate::RevOrWorking(Box::new(test));
    Ok(engine.everything().filter(test))
}

/// `_list(names)`: the changesets of these names, between which zero bytes stand.
pub(super) fn list(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let names = arguments::string(arguments, "internal error")?;
    let names = names.split(|byte| *byte == SEPARATOR);
    let members = names.map(|name| engine.named(name));
    Ok(Set::list(members.collect::<Result<_, _>>()?))
}

pub(super) fn head(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let branches = engine.view().branchmap()?.values();
    let heads = branches.flat_map(|branch| branch.heads.iter());
    Ok(Set::bits(BitSet::of(heads.map(|rev| Some(*rev)))))
}

/// Changesets of branches that have the name, or that a set's members are on.
pub(super) fn branch(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let names: BTreeSet<Vec<u8>> = match arguments {
        [Expr::Symbol(pattern) | Expr::Text(pattern)] => {
            let matcher = TextMatcher::new(pattern, true)?;
            let branches = engine.view().branchmap()?.keys();
            let found = branches.filter(|name| matcher.is_match(name));
            let found: BTreeSet<Vec<u8>> = found.cloned().collect();
            match matcher.literal() {
                Some(name) if found.is_empty() && pattern.starts_with(b"literal:") => {
                    let name = String::from_utf8_lossy(name);
                    let message = format!("branch '{name}' does not exist");
                    return Err(RevsetError::Missing(message));
                }
                Some(_) if found.is_empty() => branches_of(engine, arguments)?,
                _ => found,
            }
        }
        _ => branches_of(engine, arguments)?,
    };
    let test = move |_: Rev, changeset: &varve_repo::Changeset<'_>| {
        Ok(names.contains(changeset.branch().as_ref()))
    };
    Ok(engine.everything().filter(Predicate::Text(Box::new(test))))
}

fn branches_of(engine: &Engine<'_>, arguments: &[Expr]) -> Result<BTreeSet<Vec<u8>>, RevsetError> {
    let set = arguments::set(engine, arguments)?;
    let mut names = BTreeSet::new();
    for member in set.all_members(engine) {
        names.insert(match member? {
            Some(rev) => engine.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
            None => varve_repo::DEFAULT_BRANCH.to_vec(),
        });
    }
    Ok(names)
}

/// Those names that an argument means.
fn matching(
    engine: &Engine<'_>,
    kind: &str,
    names: &BTreeMap<Vec<u8>, Node>,
    pattern: &[u8],
) -> Result<Set, RevsetError> {
    let matcher = TextMatcher::new(pattern, true)?;
    if let Some(name) = matcher.literal() {
        let Some(node) = names.get(name) else {
            let name = String::from_utf8_lossy(name);
            let message = format!("{kind} '{name}' does not exist");
            return Err(RevsetError::Missing(message));
        };
        return Ok(set_of(engine, [node]));
    }
    let found = names.iter().filter(|(name, _)| matcher.is_match(name));
    Ok(set_of(engine, found.map(|(_, node)| node)))
}

fn all_of(engine: &Engine<'_>, names: &BTreeMap<Vec<u8>, Node>) -> Set {
    set_of(engine, names.values())
}

/// The changesets of names; the null revision is no member, though a bookmark may be there.
fn set_of<'n>(engine: &Engine<'_>, nodes: impl IntoIterator<Item = &'n Node>) -> Set {
    let members = nodes.into_iter().map(|node| engine.member_of(node));
    Set::bits(BitSet::of(members.filter(Option::is_some)))
}

pub(super) fn bookmark(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let names = engine.view().bookmarks();
    match arguments {
        [] => Ok(all_of(engine, names)),
        [name] => {
            let wrong = "the argument to bookmark must be a string";
            let name = arguments::word(name, wrong)?;
            if name != b"." {
                return matching(engine, "bookmark", names, name);
            }
            let active = engine.active_bookmark()?;
            let node = active.and_then(|active| names.get(&active));
            let missing = || RevsetError::Missing("no active bookmark".to_owned());
            Ok(set_of(engine, [node.ok_or_else(missing)?]))
        }
        _ => Err(RevsetError::parse("bookmark takes one or no arguments")),
    }
}

pub(super) fn tag(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    match arguments {
        [] => Ok(all_of(engine, &engine.view().tags()?)),
        [name] => {
            let name = arguments::word(name, "the argument to tag must be a string")?;
            let mut names = engine.view().tags()?;
            if let Some(tip) = engine.view().tip() {
                names.insert(b"tip".to_vec(), engine.changelog().node(tip));
            }
            matching(engine, "tag", &names, name)
        }
        _ => Err(RevsetError::parse("tag takes one or no arguments")),
    }
}

/// All changesets that have a name of one kind.
pub(super) fn named(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let [argument] = arguments else {
        return Err(RevsetError::parse("named requires a namespace argument"));
    };
    let wrong = "the argument to named must be a string";
    let pattern = arguments::word(argument, wrong)?;
    let matcher = TextMatcher::new(pattern, true)?;
    let is_asked = |namespace: &str| matcher.is_match(namespace.as_bytes());
    let mut sets = Vec::new();
    if is_asked("bookmarks") {
        sets.push(all_of(engine, engine.view().bookmarks()));
    }
    if is_asked("tags") {
        sets.push(all_of(engine, &engine.view().tags()?));
    }
    if is_asked("branches") {
        let branches = engine.view().branchmap()?.values();
        let tips = branches.filter_map(varve_repo::BranchHeads::tip).map(Some);
        sets.push(Set::bits(BitSet::of(tips)));
    }
    if sets.is_empty() && matcher.literal().is_some() {
        let pattern = String::from_utf8_lossy(pattern);
        let message = format!("namespace '{pattern}' does not exist");
        return Err(RevsetError::Missing(message));
    }
    Set::chain(sets).ascending(engine)
}

/// The changeset whose node is this, or begins with it; nothing, if there is none.
pub(super) fn id(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let [argument] = arguments else {
        return Err(RevsetError::parse("id requires one argument"));
    };
    let prefix = prefix_digits(arguments::word(argument, "id requires a string")?);
    let found: Option<Member> = match Node::from_hex(prefix) {
        Some(node) if node.is_null() => Some(None),
        Some(node) => engine.member_of(&node).map(Some),
        None => match engine.changelog().rev_by_prefix(prefix) {
            PrefixMatch::None if Node::null_begins_with(prefix) => Some(None),
            PrefixMatch::One(_) if is_working_prefix(prefix) => return Ok(Set::empty()),
            PrefixMatch::One(rev) if !Node::null_begins_with(prefix) => Some(Some(rev)),
            PrefixMatch::Ambiguous => engine.preferred_with(prefix).map(Some),
            PrefixMatch::One(_) | PrefixMatch::None => None,
        },
    };
    // Every node of a changeset that begins so makes the beginning ambiguous.
    let is_working = found.is_none() && is_working_prefix(prefix);
    let found = found.or(is_working.then_some(Some(WORKING_COPY)));
    let is_shown = |member: &Member| {
        let shown = |rev| rev == WORKING_COPY || engine.view().is_visible(rev);
        member.is_none_or(shown)
    };
    Ok(Set::list(found.into_iter().filter(is_shown).collect()))
}

/// `wdir()`: the working copy.
pub(super) fn working_copy(
    _: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    Ok(Set::list(vec![Some(WORKING_COPY)]))
}

/// The changeset with this number; nothing, if there is none.
pub(super) fn rev(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let [argument] = arguments else {
        return Err(RevsetError::parse("rev requires one argument"));
    };
    let number = arguments::number(argument, "rev expects a number")?;
    Ok(Set::list(engine.member(number).into_iter().collect()))
}
