//! Order and number: `reverse`, `sort`, `first`, `last`, `min`, `max`, `all`, `present`.

use super::{arguments, topo};
use crate::tree::{Expr, Prefix};
use crate::{Engine, Member, RevsetError, Set, WORKING_COPY};
use varve_repo::Node;

pub(super) fn all(engine: &Engine<'_>, name: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    Ok(engine.all())
}

pub(super) fn reverse(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::set(engine, arguments)?.reversed(engine)
}

/// A set whose names mean nothing is empty.
pub(super) fn present(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    match arguments::set(engine, arguments) {
        Err(error) if error.is_missing() => Ok(Set::empty()),
        other => other,
    }
}

pub(super) fn min(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let set = arguments::set(engine, arguments)?.ascending(engine)?;
    Ok(Set::list(set.first(engine)?.into_iter().collect()))
}

pub(super) fn max(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let set = arguments::set(engine, arguments)?.ascending(engine)?;
    Ok(Set::list(set.last(engine)?.into_iter().collect()))
}

/// How many members are wanted.
fn count(argument: Option<&Expr>, default: i64, name: &str) -> Result<usize, RevsetError> {
    let wrong = format!("{name} expects a number");
    let count = match argument {
        Some(argument) => arguments::number(argument, &wrong)?,
        None => default,
    };
    usize::try_from(count).map_err(|_| RevsetError::parse("negative number to select"))
}

/// How many members are left out before those that are wanted.
fn offset(argument: Option<&Expr>) -> Result<usize, RevsetError> {
    let wrong = "limit expects a number";
    let offset = argument.map(|argument| arguments::number(argument, wrong));
    let offset = offset.transpose()?.unwrap_or(0);
    usize::try_from(offset).map_err(|_| RevsetError::parse("negative offset"))
}

pub(super) fn limit(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let [set, wanted, skipped] = arguments::keyed("limit", ["set", "n", "offset"], arguments)?;
    let Some(set) = set else {
        return Err(RevsetError::parse("limit requires one to three arguments"));
    };
    let wanted = count(wanted, 1, "limit")?;
    let skipped = offset(skipped)?;
    let set = engine.evaluate(set)?;
    take(&set, engine, skipped, wanted)
}

fn take(set: &Set, engine: &Engine<'_>, skipped: usize, wanted: usize) -> Result<Set, RevsetError> {
    let members = set.all_members(engine).skip(skipped).take(wanted);
    let members = members.collect::<Result<Vec<Member>, _>>()?;
    Ok(match set.is_topological() {
        true => Set::topological(members),
        false => Set::list(members),
    })
}

pub(super) fn last(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let (set, wanted) = match arguments {
        [set] => (set, None),
        [set, wanted] => (set, Some(wanted)),
        _ => return Err(RevsetError::parse("last requires one or two arguments")),
    };
    let wanted = count(wanted, 1, "last")?;
    let reversed = engine.evaluate(set)?.reversed(engine)?;
    take(&reversed, engine, 0, wanted)?.reversed(engine)
}

/// A key that changesets are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortKey {
    Rev,
    Branch,
    Description,
    User,
    Date,
    Node,
    Topology,
}

fn keys(spec: &[u8]) -> Result<Vec<(SortKey, bool)>, RevsetError> {
    let words = spec.split(u8::is_ascii_whitespace);
    let words = words.filter(|word| !word.is_empty());
    let key = |word: &[u8]| {
        let (name, reverse) = match word.strip_prefix(b"-") {
            Some(name) => (name, true),
            None => (word, false),
        };
        let key = match name {
            b"rev" => SortKey::Rev,
            b"branch" => SortKey::Branch,
            b"desc" => SortKey::Description,
            b"user" | b"author" => SortKey::User,
            b"date" => SortKey::Date,
            b"node" => SortKey::Node,
            b"topo" => SortKey::Topology,
            _ => {
                let word = String::from_utf8_lossy(word);
                return Err(RevsetError::parse(format!("unknown sort key '{word}'")));
            }
        };
        Ok((key, reverse))
    };
    words.map(key).collect()
}

pub(super) fn sort(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let names = ["set", "keys", "topo.firstbranch"];
    let [set, spec, first_branch] = arguments::keyed(name, names, arguments)?;
    let set = set.ok_or_else(|| RevsetError::parse("sort requires one or two arguments"))?;
    let wrong = "sort spec must be a string";
    let spec = match spec {
        // A key without quotation marks may have a hyphen before it.
        Some(Expr::Prefix(Prefix::Minus, key)) => [b"-", arguments::word(key, wrong)?].concat(),
        Some(spec) => arguments::word(spec, wrong)?.to_vec(),
        None => b"rev".to_vec(),
    };
    let keys = keys(&spec)?;
    let is_by_topology = keys.iter().any(|(key, _)| *key == SortKey::Topology);
    if is_by_topology && keys.len() > 1 {
        let message = "topo sort order cannot be combined with other sort keys";
        return Err(RevsetError::parse(message));
    }
    if first_branch.is_some() && !is_by_topology {
        let message = "topo.firstbranch can only be used when using the topo sort key";
        return Err(RevsetError::parse(message));
    }
    let set = engine.evaluate(set)?;
    match keys[..] {
        [] => Ok(set),
        [(SortKey::Rev, false)] => set.ascending(engine),
        [(SortKey::Rev, true)] => set.ascending(engine)?.reversed(engine),
        [(SortKey::Topology, reverse)] => {
            let first_branch = first_branch
                .map(|first| engine.evaluate(first))
                .transpose()?;
            let first_branch = first_branch.unwrap_or_else(Set::empty);
            let mut members = topo::sorted(engine, &set, &first_branch)?;
            if !reverse {
                return Ok(Set::topological(members));
            }
            members.reverse();
            Ok(Set::list(members))
        }
        _ => by_keys(engine, &set, &keys),
    }
}

/// One value of each sort key; numbers are kept as bytes that sort alike.
fn by_keys(engine: &Engine<'_>, set: &Set, keys: &[(SortKey, bool)]) -> Result<Set, RevsetError> {
    let mut rows: Vec<(Vec<Vec<u8>>, Member)> = Vec::new();
    for member in set.all_members(engine) {
        let member = member?;
        let row: Result<Vec<_>, _> = keys
            .iter()
            .map(|(key, _)| value(engine, *key, member))
            .collect();
        rows.push((row?, member));
    }
    rows.sort_by(|(a, _), (b, _)| {
        let pairs = a.iter().zip(b).zip(keys);
        let mut orders = pairs.map(
            |((a, b), (_, reverse))| {
                if *reverse { b.cmp(a) } else { a.cmp(b) }
            },
        );
        let first = orders.find(|order| order.is_ne());
        first.unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(Set::list(
        rows.into_iter().map(|(_, member)| member).collect(),
    ))
}

fn value(engine: &Engine<'_>, key: SortKey, member: Member) -> Result<Vec<u8>, RevsetError> {
    let sortable = |number: i64| (number ^ i64::MIN).to_be_bytes().to_vec();
    let Some(rev) = member else {
        return Ok(match key {
            SortKey::Rev | SortKey::Topology => sortable(-1),
            SortKey::Branch => b"default".to_vec(),
            SortKey::Date => sortable(0),
            SortKey::Node => vec![0; 20],
            SortKey::Description | SortKey::User => Vec::new(),
        });
    };
    match key {
        SortKey::Rev | SortKey::Topology => Ok(sortable(i64::from(rev.0))),
        SortKey::Node if rev == WORKING_COPY => Ok(vec![0xff; Node::LEN]),
        SortKey::Node => Ok(engine.changelog().node(rev).0.to_vec()),
        _ => engine.with_changeset(rev, |changeset| match key {
            SortKey::Branch => changeset.branch().into_owned(),
            SortKey::Description => changeset.description.to_vec(),
            SortKey::Date => sortable(changeset.time),
            _ => changeset.user.to_vec(),
        }),
    }
}
/// Nothing.
pub(super) fn none(_: &Engine<'_>, name: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    Ok(Set::empty())
}
