//! Answer of `_explain` for a query.

use super::index::{JsonIndex, all_docs_to_json};
use super::options::FindOptions;
use super::plan::{Candidate, Plan, is_range};
use super::ranges::{KeyRange, Space};
use crate::selector::{FieldPath, Node, Test};
use std::collections::HashSet;
use varve_docdb::Partition;
use varve_json::{Object, Value};

/// Stands for a key above all others.
const MAX: &str = "<MAX>";

/// The answer of `_explain` for a query of the database of that name.
pub fn explain(database: &str, plan: &Plan<'_>, options: &FindOptions) -> Object {
    let by_partition = plan.index.is_some_and(JsonIndex::is_partitioned);
    let index = (index_to_json(plan.index), by_partition);
    let mut out = begun(database, index, &plan.candidates, options);
    out.insert("mrargs", query(plan, options));
    out.insert("covering", plan.covering);
    out
}

/// The answer for a query that no index can answer ([`super::FindError::NoSort`] and its relatives).
pub fn explain_unusable(database: &str, indexes: &[JsonIndex], options: &FindOptions) -> Object {
    let candidates = Plan::unusable(indexes, options);
    begun(database, (Value::Null, false), &candidates, options)
}

fn begun(
    database: &str,
    (index, by_partition): (Value, bool),
    candidates: &[Candidate<'_>],
    options: &FindOptions,
) -> Object {
    let mut out = Object::new();
    out.insert("dbname", database);
    out.insert("index", index);
    out.insert("partitioned", by_partition);
    out.insert("selector", options.selector.to_json());
    out.insert("opts", options.to_json());
    out.insert("limit", options.limit);
    out.insert("skip", options.skip);
    out.insert("fields", options.fields_to_json());
    let candidates = candidates.iter().zip(1u64..);
    let candidates = candidates.map(|(candidate, rank)| candidate_to_json(candidate, rank));
    out.insert("index_candidates", candidates.collect::<Vec<_>>());
    out.insert("selector_hints", vec![hints(options.selector.node())]);
    out
}

fn index_to_json(index: Option<&JsonIndex>) -> Value {
    index.map_or_else(all_docs_to_json, JsonIndex::to_json)
}

fn candidate_to_json(candidate: &Candidate<'_>, rank: u64) -> Value {
    let reasons = candidate.analysis.reasons.iter().map(|reason| {
        let mut out = Object::new();
        out.insert("name", reason.name());
        Value::Object(out)
    });
    let mut analysis = Object::new();
    analysis.insert("usable", candidate.analysis.usable);
    analysis.insert("reasons", reasons.collect::<Vec<_>>());
    analysis.insert("ranking", rank);
    let covering = candidate.analysis.covering;
    analysis.insert("covering", covering.map_or(Value::Null, Value::Bool));
    let mut out = Object::new();
    out.insert("index", index_to_json(candidate.index));
    out.insert("analysis", analysis);
    Value::Object(out)
}

/// Which fields an index could help with.
fn hints(node: &Node) -> Value {
    let limited = limited(node);
    let mut seen = HashSet::new();
    let (mut indexable, mut others) = (Vec::new(), Vec::new());
    node.each(&mut |field, _| {
        if seen.insert(field) {
            let helps = limited.contains(field);
            let list = if helps { &mut indexable } else { &mut others };
            list.push(Value::from(field.name()));
        }
    });
    let mut out = Object::new();
    out.insert("type", "json");
    out.insert("indexable_fields", indexable);
    out.insert("unindexable_fields", others);
    Value::Object(out)
}

/// The fields of whose values the selector says which ranges they are in.
fn limited(node: &Node) -> HashSet<&FieldPath> {
    match node {
        Node::All(nodes) => nodes.iter().flat_map(limited).collect(),
        Node::Any(nodes) => {
            let each = nodes.iter().map(limited);
            let common = each.reduce(|mut all, next| {
                all.retain(|field| next.contains(field));
                all
            });
            common.unwrap_or_default()
        }
        Node::Field(field, condition) => {
            let is_limit = Space::Keys.knows(condition);
            is_limit.then_some(&**field).into_iter().collect()
        }
    }
}

/// The query of the index, as CouchDB would send it.
fn query(plan: &Plan<'_>, options: &FindOptions) -> Value {
    let (stable, update) = options.flags();
    let (mut start, mut end) = edges(plan, options.selector.node());
    if plan.descending {
        std::mem::swap(&mut start, &mut end);
    }
    let mut out = Object::new();
    out.insert("include_docs", !plan.covering);
    out.insert("view_type", "map");
    out.insert("reduce", false);
    let partition = options.partition.as_ref().map(Partition::name);
    out.insert("partition", partition.map_or(Value::Null, Value::from));
    out.insert("start_key", start);
    out.insert("end_key", end);
    out.insert("direction", if plan.descending { "rev" } else { "fwd" });
    out.insert("stable", stable);
    out.insert("update", update);
    match options.conflicts {
        true => out.insert("conflicts", true),
        false => out.insert("conflicts", "undefined"),
    }
    Value::Object(out)
}

/// The first and the last key, where arguments of the selector stand there.
fn edges(plan: &Plan<'_>, node: &Node) -> (Value, Value) {
    let Some(index) = plan.index else {
        let id = FieldPath::new("_id");
        let arguments = arguments_of(node, &id);
        let start = edge(&arguments, plan.ranges.first().map(|range| &range.low));
        let end = edge(&arguments, plan.ranges.last().map(|range| &range.high));
        return (start.unwrap_or_default(), end.unwrap_or_else(|| MAX.into()));
    };
    let (mut start, mut end) = (Vec::new(), Vec::new());
    for field in index.fields() {
        let Some(ranges) = Space::Keys.of_field(node, field) else {
            break;
        };
        let arguments = arguments_of(node, field);
        let first = edge(&arguments, ranges.first().map(|range| &range.low));
        let last = edge(&arguments, ranges.last().map(|range| &range.high));
        let is_one = first.is_some() && first == last;
        start.extend(first);
        end.extend(last);
        if !is_one {
            break;
        }
    }
    end.push(MAX.into());
    (Value::Array(start), Value::Array(end))
}

/// The arguments about a field, each with the edges around it.
fn arguments_of(node: &Node, field: &FieldPath) -> Vec<(KeyRange, Value)> {
    let space = match field.name() {
        "_id" => Space::Ids,
        _ => Space::Keys,
    };
    let mut out = Vec::new();
    node.each(&mut |path, condition| {
        if path != field {
            return;
        }
        match &condition.test {
            Test::Compare(_, argument) if is_range(condition) => {
                out.push((space.around(&argument.value), argument.value.clone()));
            }
            Test::BeginsWith(prefix) if condition.wanted => {
                let KeyRange { low, high } = space.of_prefix(prefix);
                let at = |edge: Vec<u8>| KeyRange {
                    low: edge.clone(),
                    high: edge,
                };
                out.push((at(low), Value::from(prefix.as_str())));
                out.push((at(high), Value::from(format!("{prefix}\u{ffff}"))));
            }
            Test::In(arguments) if condition.wanted => {
                let values = arguments.values.iter();
                out.extend(values.map(|value| (space.around(value), value.clone())));
            }
            _ => {}
        }
    });
    out
}

fn edge(arguments: &[(KeyRange, Value)], edge: Option<&Vec<u8>>) -> Option<Value> {
    let edge = edge?;
    let mut arguments = arguments.iter();
    let found = arguments.find(|(range, _)| range.low == *edge || range.high == *edge);
    found.map(|(_, value)| value.clone())
}
