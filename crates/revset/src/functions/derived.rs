//! Sets that follow from others: by what changesets have in common, where they were taken from, and
//! how many they are.

use super::arguments;
use crate::bitset::BitSet;
use crate::set::Predicate;
use crate::tree::{Expr, Infix, Postfix, Prefix, RangeKind};
use crate::{Engine, Member, RevsetError, Set};
use std::collections::HashMap;
use varve_repo::{BisectSet, BisectSets, Node, Rev};

/// Ancestors of every member, the members included.
pub(super) fn common_ancestors(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let of = arguments::set(engine, arguments)?;
    let mut members = of.all_members(engine);
    let Some(first) = members.next().transpose()? else {
        return Ok(Set::empty());
    };
    let mut common = engine.ancestors_of(&Set::list(vec![first]))?;
    for member in members {
        common = common.and(engine.ancestors_of(&Set::list(vec![member?]))?);
    }
    common.ascending(engine)
}

/// Changesets by their state in the bisection that is under way.
pub(super) fn bisect(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let name = arguments::string(arguments, "bisect requires a string")?;
    let set = BisectSet::named(&name.to_ascii_lowercase());
    let set = set.ok_or_else(|| RevsetError::parse("invalid bisect state"))?;
    let sets = BisectSets::of(engine.view())?;
    let mut found = BitSet::default();
    for rev in engine.changelog().revs().filter(|rev| sets.has(set, *rev)) {
        found.insert(Some(rev));
    }
    Ok(engine.shown(found))
}

/// `revset(x)`: x itself, where a name of a changeset is not looked for elsewhere.
pub(super) fn itself(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    arguments::set(engine, arguments)
}

/// The extra that names the changeset which one was taken from, as grafts and rebases write it.
fn source_of(engine: &Engine<'_>, rev: Rev) -> Result<Member, RevsetError> {
    let node = engine.with_changeset(rev, |changeset| {
        let extras: HashMap<_, _> = changeset.extras().collect();
        let keys = [&b"source"[..], b"transplant_source", b"rebase_source"];
        let found = keys.into_iter().find_map(|key| extras.get(key));
        found.and_then(|value| match value.len() {
            Node::LEN => value.as_ref().try_into().ok().map(Node),
            _ => Node::from_hex(value),
        })
    })?;
    let known = node.and_then(|node| engine.changelog().rev(&node));
    Ok(known.filter(|rev| engine.view().is_visible(*rev)))
}

/// The members of an optional set, or all changesets.
fn optional(engine: &Engine<'_>, arguments: &[Expr]) -> Result<Set, RevsetError> {
    match arguments {
        [] => Ok(engine.all()),
        some => arguments::set(engine, some),
    }
}

/// The changesets that the members were first taken from.
pub(super) fn origin(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let mut found = BitSet::default();
    for member in optional(engine, arguments)?.all_members(engine) {
        let Some(rev) = member? else { continue };
        let mut first = None;
        let mut next = source_of(engine, rev)?;
        // A source is older than what was taken from it; the numbers fall.
        let mut above = rev;
        while let Some(source) = next.filter(|source| *source != above) {
            first = Some(source);
            if source > above {
                break;
            }
            above = source;
            next = source_of(engine, source)?;
        }
        if first.is_some() {
            found.insert(first);
        }
    }
    Ok(Set::bits(found))
}

/// The changesets that were taken from the members, or from others that were.
pub(super) fn destination(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let mut sources = optional(engine, arguments)?
        .to_bits(engine)?
        .as_ref()
        .clone();
    let mut found = BitSet::default();
    for member in engine.all().all_members(engine) {
        let Some(rev) = member? else { continue };
        let source = source_of(engine, rev)?;
        if source.is_some() && sources.contains(source) {
            found.insert(Some(rev));
            sources.insert(Some(rev));
        }
    }
    Ok(Set::bits(found))
}

/// Changesets that the extension `convert` made, of the revision with this name or of any.
pub(super) fn converted(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let wanted = match arguments {
        [] => Vec::new(),
        [one] => arguments::word(one, "converted requires a revision")?.to_vec(),
        _ => {
            let message = "converted takes one or no arguments";
            return Err(RevsetError::parse(message));
        }
    };
    Ok(engine.where_text(move |_, changeset| {
        let mut extras = changeset.extras();
        let source = extras.find(|(key, _)| key.as_ref() == b"convert_revision");
        source.is_some_and(|(_, source)| source.starts_with(&wanted))
    }))
}

/// A set, if it has as many members as the second argument says.
pub(super) fn expect_size(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let [Some(set), Some(size)] = arguments::keyed(name, ["set", "size"], arguments)? else {
        return Err(RevsetError::parse("invalid set of arguments"));
    };
    let (least, most) = bounds(size)?;
    let set = engine.evaluate(set)?;
    if least.is_some_and(|least| least < 0) || most.is_some_and(|most| most < 0) {
        return Err(RevsetError::parse("negative size"));
    }
    let mut count = 0;
    for member in set.all_members(engine) {
        member?;
        count += 1;
    }
    let most_possible = engine.changelog().len() as i64 + 1;
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(most_possible));
    if (least..=most).contains(&count) {
        return Ok(set);
    }
    let expected = match least == most {
        true => least.to_string(),
        false => format!("between {least} and {most}"),
    };
    Err(RevsetError::Missing(format!(
        "revset size mismatch. expected {expected}, got {count}"
    )))
}

/// A number, or a range of numbers with or without ends.
fn bounds(size: &Expr) -> Result<(Option<i64>, Option<i64>), RevsetError> {
    let bound = |end: &Expr| arguments::number(end, "size range bounds must be integers").map(Some);
    let exact = "expectsize requires a size range or a positive integer";
    Ok(match size {
        Expr::Whole(RangeKind::Numbers) => (None, None),
        Expr::Prefix(Prefix::Upto(RangeKind::Numbers), most) => (None, bound(most)?),
        Expr::Postfix(Postfix::From(RangeKind::Numbers), least) => (bound(least)?, None),
        Expr::Infix(Infix::Between(RangeKind::Numbers), least, most) => {
            (bound(least)?, bound(most)?)
        }
        number => {
            let number = arguments::number(number, exact)?;
            (Some(number), Some(number))
        }
    })
}

/// A field of changesets that `matching()` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    User,
    Branch,
    Date,
    Description,
    Files,
    Parents,
    Phase,
    Summary,
}

impl Field {
    /// The fields that a word stands for.
    fn of_name(name: &str) -> Option<&'static [Field]> {
        Some(match name {
            "author" | "user" => &[Field::User],
            "branch" => &[Field::Branch],
            "date" => &[Field::Date],
            "description" => &[Field::Description],
            "files" => &[Field::Files],
            "parents" => &[Field::Parents],
            "phase" => &[Field::Phase],
            "summary" => &[Field::Summary],
            "metadata" => &[Field::Description, Field::User, Field::Date],
            _ => return None,
        })
    }

    /// The value of a changeset, as bytes that are the same for equal values alone.
    fn value(self, engine: &Engine<'_>, rev: Rev) -> Result<Vec<u8>, RevsetError> {
        match self {
            Field::Parents => {
                let parents = engine.parents(rev);
                return Ok(format!("{parents:?}").into_bytes());
            }
            Field::Phase => {
                return Ok(format!("{:?}", engine.phase(rev)).into_bytes());
            }
            _ => {}
        }
        engine.with_changeset(rev, |changeset| match self {
            Field::User => changeset.user.to_vec(),
            Field::Branch => changeset.branch().into_owned(),
            Field::Date => format!("{} {}", changeset.time, changeset.zone).into_bytes(),
            Field::Files => changeset.files().collect::<Vec<_>>().join(&b'\0'),
            Field::Summary => {
                let mut lines = changeset.description.split(|byte| *byte == b'\n');
                lines.next().unwrap_or_default().to_vec()
            }
            _ => changeset.description.to_vec(),
        })
    }
}

/// Changesets that have the named fields in common with a member of the set.
pub(super) fn matching(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let (set, names) = match arguments {
        [set] => (set, &b"metadata"[..]),
        [set, names] => {
            let wrong = "matching requires a string as its second argument";
            (set, arguments::word(names, wrong)?)
        }
        _ => {
            let message = "matching takes 1 or 2 arguments";
            return Err(RevsetError::parse(message));
        }
    };
    let mut fields = Vec::new();
    for name in String::from_utf8_lossy(names).split_whitespace() {
        if ["diff", "substate"].contains(&name) {
            let message = format!("the field {name} is not supported by matching");
            return Err(RevsetError::Missing(message));
        }
        let found = Field::of_name(name).ok_or_else(|| {
            RevsetError::parse(format!("unexpected field name passed to matching: {name}"))
        })?;
        fields.extend_from_slice(found);
    }
    let values = |engine: &Engine<'_>, rev: Rev, fields: &[Field]| {
        let values = fields.iter().map(|field| field.value(engine, rev));
        values.collect::<Result<Vec<_>, _>>()
    };
    let mut wanted = Vec::new();
    for member in engine.evaluate(set)?.all_members(engine) {
        if let Some(rev) = member? {
            wanted.push(values(engine, rev, &fields)?);
        }
    }
    let is_same =
        move |engine: &Engine<'_>, rev: Rev| Ok(wanted.contains(&values(engine, rev, &fields)?));
    Ok(engine
        .everything()
        .filter(Predicate::Rev(Box::new(is_same))))
}
