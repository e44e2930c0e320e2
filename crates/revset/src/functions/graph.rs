//! Lines of descent.

use super::arguments;
use crate::bitset::{self, BitSet};
use crate::set::Predicate;
use crate::tree::Expr;
use crate::{Engine, Member, RevsetError, Set, WORKING_COPY};
use varve_repo::Rev;

/// Limits of the number of steps: from where, and up to where.
fn steps(
    name: &str,
    start: Option<&Expr>,
    depth: Option<&Expr>,
) -> Result<Option<(u32, u32)>, RevsetError> {
    let read = |argument: Option<&Expr>, key: &str, default: u32| {
        let Some(argument) = argument else {
            return Ok(default);
        };
        let number = arguments::number(argument, &format!("{name} expects an integer {key}"))?;
        let wrong = || match key {
            "depth" => RevsetError::parse("negative depth"),
            _ => RevsetError::parse("negative startdepth"),
        };
        u32::try_from(number).map_err(|_| wrong())
    };
    if start.is_none() && depth.is_none() {
        return Ok(None);
    }
    let start = read(start, "startdepth", 0)?;
    Ok(Some((start, read(depth, "depth", u32::MAX - 1)?)))
}

pub(super) fn ancestors(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let [set, start, depth] =
        arguments::keyed(name, ["set", "startdepth", "depth"], &swap(arguments))
            .map(|found| found.map(|argument| argument.cloned()))?;
    let set = set.ok_or_else(|| RevsetError::parse("ancestors takes at least 1 argument"))?;
    let set = engine.evaluate(&set)?;
    let Some(steps) = steps(name, start.as_ref(), depth.as_ref())? else {
        return engine.ancestors_of(&set);
    };
    let next = |member: Member| {
        let parents = member.map_or([None; 2], |rev| engine.parents(rev));
        parents.into_iter().flatten().map(Some).collect()
    };
    Ok(Set::bits(bitset::within(
        &*set.to_bits(engine)?,
        steps,
        next,
    )))
}

/// Arguments without a key are the set, the depth, and the depth to begin at.
fn swap(arguments: &[Expr]) -> Vec<Expr> {
    let typed = arguments;
    let mut arguments = typed.to_vec();
    let is_key = |argument: &Expr| matches!(argument, Expr::KeyValue(..));
    for (at, key) in [(1, "depth"), (2, "startdepth")] {
        if !typed.iter().take(at).any(is_key)
            && let Some(argument) = arguments.get_mut(at)
            && !is_key(argument)
        {
            let value = std::mem::replace(argument, Expr::Empty);
            let key = Expr::Symbol(key.as_bytes().to_vec());
            *argument = Expr::KeyValue(Box::new(key), Box::new(value));
        }
    }
    arguments
}

pub(super) fn descendants(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let arguments = swap(arguments);
    let [set, start, depth] = arguments::keyed(name, ["set", "startdepth", "depth"], &arguments)?;
    let set = set.ok_or_else(|| RevsetError::parse("descendants takes at least 1 argument"))?;
    let set = engine.evaluate(set)?;
    let Some(steps) = steps(name, start, depth)? else {
        return engine.descendants(&set);
    };
    let of = set.to_bits(engine)?;
    let first = match of.contains(None) {
        true => Some(Rev(0)),
        false => of.first(),
    };
    let Some(first) = first else {
        return Ok(Set::empty());
    };
    let changelog = engine.changelog();
    let children = bitset::children_from(changelog, first);
    let next = |member: Member| -> Vec<Member> {
        let Some(rev) = member else {
            let roots = changelog.revs();
            let roots = roots.filter(|rev| changelog.parents(*rev) == [None, None]);
            return roots.map(Some).collect();
        };
        let at = rev.index().checked_sub(first.index());
        let children = at.and_then(|at| children.get(at));
        children.into_iter().flatten().copied().map(Some).collect()
    };
    Ok(engine.shown(bitset::within(&of, steps, next)))
}

pub(super) fn children(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let of = arguments::set(engine, arguments)?.to_bits(engine)?;
    let changelog = engine.changelog();
    let orphans = of.contains(None);
    let first = if orphans { Some(Rev(0)) } else { of.first() };
    let is_child = |rev: &Rev| {
        let parents = changelog.parents(*rev);
        let of_null = orphans && parents == [None, None];
        of_null
            || parents
                .into_iter()
                .flatten()
                .any(|parent| of.contains(Some(parent)))
    };
    let revs = changelog.revs().skip(first.map_or(usize::MAX, Rev::index));
    Ok(engine.shown(BitSet::of(revs.filter(is_child).map(Some))))
}

/// Parents, by `parents_of`, of the function's set, or else of the working copy.
fn parents_of(
    engine: &Engine<'_>,
    arguments: &[Expr],
    which: std::ops::Range<usize>,
) -> Result<Set, RevsetError> {
    if arguments.is_empty() {
        let parents = &engine.context().parents;
        let wanted = parents.iter().take(which.end).skip(which.start);
        if which.len() == 1 && wanted.len() == 0 {
            return Ok(Set::empty());
        }
        return Ok(Set::bits(BitSet::of(wanted.map(|rev| Some(*rev)))));
    }
    let set = arguments::set(engine, arguments)?;
    let mut found = BitSet::default();
    for member in set.all_members(engine) {
        if let Some(rev) = member? {
            let parents = engine.parents(rev);
            let wanted = parents[which.clone()].iter().flatten();
            wanted.for_each(|parent| found.insert(Some(*parent)));
        }
    }
    Ok(Set::bits(found))
}

pub(super) fn parents(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    parents_of(engine, arguments, 0..2)
}

pub(super) fn first_parents(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    parents_of(engine, arguments, 0..1)
}

pub(super) fn second_parents(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    parents_of(engine, arguments, 1..2)
}

pub(super) fn heads(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let mut found = BitSet::clone(&*arguments::set(engine, arguments)?.to_bits(engine)?);
    found.forget_null();
    let members: Vec<Rev> = found.revs().collect();
    for rev in members {
        bitset::parents(engine.changelog(), rev).for_each(|parent| found.remove(parent));
    }
    if found.contains(Some(WORKING_COPY)) {
        let parents = engine.context().parents.iter();
        parents.for_each(|parent| found.remove(*parent));
    }
    Ok(Set::bits(found))
}

pub(super) fn roots(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let set = arguments::set(engine, arguments)?.to_bits(engine)?;
    let mut found = BitSet::clone(&*set);
    let changelog = engine.changelog();
    found.retain(|rev| !bitset::parents(changelog, rev).any(|parent| set.contains(Some(parent))));
    let mut parents = engine.context().parents.iter();
    if parents.any(|parent| set.contains(Some(*parent))) {
        found.remove(WORKING_COPY);
    }
    Ok(Set::bits(found))
}

pub(super) fn merge(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let is_merge = |engine: &Engine<'_>, rev: Rev| Ok(engine.parents(rev)[1].is_some());
    let test = Predicate::RevOrWorking(Box::new(is_merge));
    Ok(engine.everything().filter(test))
}

pub(super) fn branchpoint(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let children = bitset::children_from(engine.changelog(), Rev(0));
    let shown = |rev: &&Rev| engine.view().is_visible(**rev);
    let several = |rev: &Rev| children[rev.index()].iter().filter(shown).count() > 1;
    let found = BitSet::of(engine.changelog().revs().filter(several).map(Some));
    Ok(engine.shown(found))
}

pub(super) fn only(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    match arguments {
        [set] => engine.only(&engine.evaluate(set)?, None),
        [set, without] => {
            let set = engine.evaluate(set)?;
            engine.only(&set, Some(&engine.evaluate(without)?))
        }
        _ => Err(RevsetError::parse("only takes one or two arguments")),
    }
}

/// The greatest common ancestor of all members of all arguments.
pub(super) fn ancestor(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let mut common: Option<Member> = None;
    for argument in arguments {
        let set = engine.evaluate(argument)?;
        for member in set.all_members(engine) {
            let member = member?;
            common = Some(match common {
                None => member,
                Some(other) => common_ancestor(engine, member, other),
            });
        }
    }
    let found = common.into_iter().filter(Option::is_some);
    Ok(Set::list(found.collect()))
}

/// Of several greatest common ancestors the one with the least node, as in Mercurial.
fn common_ancestor(engine: &Engine<'_>, a: Member, b: Member) -> Member {
    let changelog = engine.changelog();
    if a == b {
        return a;
    }
    // Of a merge that is not committed Mercurial looks at the first parent only.
    let stored = |member: Member| match member {
        Some(WORKING_COPY) => engine.context().parents.first().copied(),
        stored => stored,
    };
    let mut common = bitset::ancestors(changelog, BitSet::of([Some(stored(a)?)]));
    let other = bitset::ancestors(changelog, BitSet::of([Some(stored(b)?)]));
    common.retain(|rev| other.contains(Some(rev)));
    let mut heads = common.clone();
    for rev in common.revs() {
        bitset::parents(changelog, rev).for_each(|parent| heads.remove(parent));
    }
    heads.revs().min_by_key(|rev| changelog.node(*rev).0)
}
