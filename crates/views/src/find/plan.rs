//! Which index answers a query.
//!
//! As CouchDB documents it: indexes of which the query does not name all fields are of no use, nor
//! those that sort otherwise, nor partial ones unless the client asks for them. Json indexes go
//! before the index of all documents. Of them the one is taken of whose keys the selector says
//! most, then the one with the fewest fields, then the first by name. Where CouchDB sees no
//! difference, a selector that names several values of a field says more than one that names none.

use super::FindError;
use super::covered::covers;
use super::index::JsonIndex;
use super::options::FindOptions;
use super::ranges::{KeyRange, Space, few, of_columns};
use super::rows::Position;
use super::sort::Sorting;
use crate::row::prefix_of;
use crate::selector::{Condition, FieldPath, Node, Relation, Test};
use std::cmp::Reverse;
use varve_docdb::Partition;

/// Why an index is not used, in CouchDB's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The query does not name all of its fields.
    FieldMismatch,
    /// The index is kept by partition and all partitions are searched, or the other way round.
    ScopeMismatch,
    /// The index sorts otherwise.
    SortOrderMismatch,
    /// The index is partial, and was not named in `use_index`.
    IsPartial,
    /// The client asked for another one.
    ExcludedByUser,
    /// There are json indexes.
    UnfavoredType,
    /// The selector says more of the keys of another one.
    LessOverlap,
    /// Another one does with fewer fields.
    TooManyFields,
    /// Another one comes first by name.
    AlphabeticallyComesAfter,
}

impl Reason {
    /// CouchDB's word.
    pub fn name(self) -> &'static str {
        match self {
            Reason::FieldMismatch => "field_mismatch",
            Reason::ScopeMismatch => "scope_mismatch",
            Reason::SortOrderMismatch => "sort_order_mismatch",
            Reason::IsPartial => "is_partial",
            Reason::ExcludedByUser => "excluded_by_user",
            Reason::UnfavoredType => "unfavored_type",
            Reason::LessOverlap => "less_overlap",
            Reason::TooManyFields => "too_many_fields",
            Reason::AlphabeticallyComesAfter => "alphabetically_comes_after",
        }
    }
}

/// Why an index is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// Whether it could have been used.
    pub usable: bool,
    /// Why it is not.
    pub reasons: Vec<Reason>,
    /// Whether it would answer without documents; that is unknown of the index of all documents.
    pub covering: Option<bool>,
}

/// An index that is not used; `None` is that of all documents.
#[derive(Clone, Debug)]
pub struct Candidate<'i> {
    /// The index.
    pub index: Option<&'i JsonIndex>,
    /// Why it is not used.
    pub analysis: Analysis,
}

/// How a query is answered.
#[derive(Clone, Debug)]
pub struct Plan<'i> {
    /// The index; `None` if all documents are read by id.
    pub index: Option<&'i JsonIndex>,
    /// The ranges of its keys, or of ids, in ascending order.
    pub ranges: Vec<KeyRange>,
    /// Whether they are read from the last to the first.
    pub descending: bool,
    /// Whether rows are all that is needed.
    pub covering: bool,
    /// The indexes that are not used, the best first.
    pub candidates: Vec<Candidate<'i>>,
    /// Warnings that the client gets.
    pub warnings: Vec<String>,
}

/// A json index among others.
struct Rated<'i> {
    index: &'i JsonIndex,
    /// Fields that CouchDB would look up.
    overlap: usize,
    /// Fields that are looked up here.
    used: usize,
    ranges: Vec<KeyRange>,
}

impl<'i> Plan<'i> {
    /// Chooses among the json indexes of a database.
    ///
    /// # Errors
    /// [`FindError::NoSort`] and its relatives, [`FindError::NoIndex`].
    pub fn new(indexes: &'i [JsonIndex], options: &FindOptions) -> Result<Plan<'i>, FindError> {
        let query = SelectorQuery::new(options);
        let mut unused = Vec::new();
        let mut usable = Vec::new();
        for index in indexes.iter().map(Some).chain([None]) {
            match query.reasons(index) {
                reasons if reasons.is_empty() => usable.push(index),
                reasons => unused.push(query.candidate(index, false, reasons)),
            }
        }
        if usable.is_empty() {
            return Err(match (options.is_partitioned, &options.partition) {
                (false, _) => FindError::NoSort,
                (true, Some(_)) => FindError::NoSortInPartition,
                (true, None) => FindError::NoGlobalSort,
            });
        }
        let mut warnings = Vec::new();
        let mut candidates = Vec::new();
        if !options.use_index.is_empty() {
            let (named, others): (Vec<_>, Vec<_>) =
                usable.iter().partition(|index| query.names(**index));
            if named.is_empty() {
                warnings.push(not_used(&options.use_index));
                if !options.allow_fallback {
                    return Err(FindError::NoIndex);
                }
            } else {
                usable = named;
                for index in others {
                    candidates.push(query.candidate(index, true, vec![Reason::ExcludedByUser]));
                }
            }
        }
        let json: Vec<_> = usable.iter().copied().flatten().collect();
        if json.is_empty() && !options.allow_fallback {
            return Err(FindError::NoIndex);
        }
        let mut ranked = Vec::new();
        let best = query.best(json, &mut ranked);
        if best.is_some() && usable.contains_all_docs() {
            ranked.push(query.candidate(None, true, vec![Reason::UnfavoredType]));
        }
        if best.is_none() {
            warnings.push(NO_INDEX.to_owned());
        }
        ranked.extend(candidates);
        ranked.extend(unused);
        let (index, ranges) = match best {
            Some(best) => (Some(best.index), best.ranges),
            None => (None, query.ids()),
        };
        Ok(Plan {
            index,
            ranges,
            descending: options.is_descending(),
            covering: query.covering(index) == Some(true),
            candidates: ranked,
            warnings,
        })
    }

    /// Why each index cannot be used, where none can ([`FindError::NoSort`]).
    pub fn unusable(indexes: &'i [JsonIndex], options: &FindOptions) -> Vec<Candidate<'i>> {
        let query = SelectorQuery::new(options);
        let all = indexes.iter().map(Some).chain([None]);
        all.map(|index| query.candidate(index, false, query.reasons(index)))
            .collect()
    }

    /// The ranges behind the client's bookmark, within the partition that is searched.
    ///
    /// # Errors
    /// [`FindError::Value`] if the bookmark is that of another index.
    pub fn ranges_left(&self, options: &FindOptions) -> Result<Vec<KeyRange>, FindError> {
        let ranges = self.ranges_behind(options)?;
        Ok(match (&options.partition, self.index) {
            (None, _) => ranges,
            (Some(partition), Some(_)) => under(&prefix_of(partition.name()), ranges),
            (Some(partition), None) => cut(partition, ranges),
        })
    }

    fn ranges_behind(&self, options: &FindOptions) -> Result<Vec<KeyRange>, FindError> {
        let Some(bookmark) = &options.bookmark else {
            return Ok(self.ranges.clone());
        };
        let position = match (&bookmark.key, self.index) {
            (Some(key), Some(_)) => Position::of_row(key, &bookmark.id),
            (None, None) => Position::of_id(&bookmark.id),
            _ => {
                return Err(FindError::Value {
                    word: "invalid_bookmark",
                    reason: "The bookmark is that of another index.".to_owned(),
                });
            }
        };
        Ok(position.rest(self.ranges.clone(), self.descending))
    }
}

/// The ranges of keys as they stand in an index by partition.
fn under(prefix: &[u8], mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    for range in &mut ranges {
        range.low.splice(..0, prefix.iter().copied());
        range.high.splice(..0, prefix.iter().copied());
    }
    ranges
}

/// The intersection of ranges of ids with a partition.
fn cut(partition: &Partition, mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    let (low, high) = (partition.low().as_bytes(), partition.high().as_bytes());
    for range in &mut ranges {
        if range.low.as_slice() < low {
            range.low = low.to_vec();
        }
        if range.high.as_slice() > high {
            range.high = high.to_vec();
        }
    }
    ranges.retain(|range| range.low < range.high);
    ranges
}

const NO_INDEX: &str = "No matching index found, create an index to optimize query time.";

fn not_used(use_index: &[String]) -> String {
    match use_index {
        [design, view] => format!(
            "_design/{}, {view} was not used because it is not a valid index for this query.",
            bare(design)
        ),
        names => format!(
            "_design/{} was not used because it does not contain a valid index for this query.",
            bare(names.first().map_or("", String::as_str))
        ),
    }
}

fn bare(design: &str) -> &str {
    design.strip_prefix("_design/").unwrap_or(design)
}

/// Indexes among which one stands for all documents.
trait Usable {
    fn contains_all_docs(&self) -> bool;
}

impl Usable for Vec<Option<&JsonIndex>> {
    fn contains_all_docs(&self) -> bool {
        self.iter().any(Option::is_none)
    }
}

/// The query.
struct SelectorQuery<'o> {
    options: &'o FindOptions,
    node: &'o Node,
    id: FieldPath,
}

impl<'o> SelectorQuery<'o> {
    fn new(options: &'o FindOptions) -> Self {
        SelectorQuery {
            options,
            node: options.selector.node(),
            id: FieldPath::new("_id"),
        }
    }

    /// Why an index cannot be used; nothing if it can.
    fn reasons(&self, index: Option<&JsonIndex>) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let by_id = [&self.id];
        let fields: Vec<&FieldPath> = match index {
            Some(index) => index.fields().collect(),
            None => by_id.to_vec(),
        };
        if index.is_some_and(|index| index.is_partial() && !self.names(Some(index))) {
            reasons.push(Reason::IsPartial);
        }
        let is_of_partition = self.options.partition.is_some();
        if index.is_some_and(|index| index.is_partitioned() != is_of_partition) {
            reasons.push(Reason::ScopeMismatch);
        }
        // All documents have these.
        let is_given = |field: &FieldPath| ["_id", "_rev"].contains(&field.name());
        let is_sorted = |field: &FieldPath| self.options.sort.iter().any(|s| s.field == *field);
        let needed = |field: &FieldPath| !is_given(field) && !is_sorted(field);
        let mut needed = fields.iter().filter(|field| needed(field));
        if !needed.all(|field| self.node.requires(field)) {
            reasons.push(Reason::FieldMismatch);
        }
        if !self.sorts(&fields) {
            reasons.push(Reason::SortOrderMismatch);
        }
        reasons
    }

    /// Whether keys of these fields are in the order that is asked for: fields that have one
    /// value only may stand in front.
    fn sorts(&self, fields: &[&FieldPath]) -> bool {
        let sort = &self.options.sort;
        let Some(Sorting { field: first, .. }) = sort.first() else {
            return true;
        };
        let in_front = |field: &&&FieldPath| ***field != *first && is_constant(self.node, field);
        let fields = &fields[fields.iter().take_while(in_front).count()..];
        let pairs = fields.iter().zip(sort);
        fields.len() >= sort.len()
            && pairs
                .into_iter()
                .all(|(field, sorting)| **field == sorting.field)
    }

    /// Whether the client wishes for the index.
    fn names(&self, index: Option<&JsonIndex>) -> bool {
        let (Some(index), Some((design, view))) = (index, self.options.use_index.split_first())
        else {
            return false;
        };
        bare(index.design()) == bare(design) && view.first().is_none_or(|view| index.name() == view)
    }

    fn covering(&self, index: Option<&JsonIndex>) -> Option<bool> {
        index.map(|index| covers(index, self.node, &self.options.fields))
    }

    fn candidate<'i>(
        &self,
        index: Option<&'i JsonIndex>,
        usable: bool,
        reasons: Vec<Reason>,
    ) -> Candidate<'i> {
        let analysis = Analysis {
            usable,
            reasons,
            covering: self.covering(index),
        };
        Candidate { index, analysis }
    }

    /// The best of several json indexes; the others become candidates.
    fn best<'i>(
        &self,
        indexes: Vec<&'i JsonIndex>,
        others: &mut Vec<Candidate<'i>>,
    ) -> Option<Rated<'i>> {
        let mut rated: Vec<_> = indexes.into_iter().map(|index| self.rate(index)).collect();
        rated.sort_by_cached_key(|rated| {
            let name = (
                rated.index.design().to_owned(),
                rated.index.name().to_owned(),
            );
            let known = (Reverse(rated.overlap), Reverse(rated.used));
            (known, rated.index.fields().len(), name)
        });
        let mut rated = rated.into_iter();
        let best = rated.next()?;
        for other in rated {
            let reason = if (other.overlap, other.used) < (best.overlap, best.used) {
                Reason::LessOverlap
            } else if other.index.fields().len() > best.index.fields().len() {
                Reason::TooManyFields
            } else {
                Reason::AlphabeticallyComesAfter
            };
            others.push(self.candidate(Some(other.index), true, vec![reason]));
        }
        Some(best)
    }

    fn rate<'i>(&self, index: &'i JsonIndex) -> Rated<'i> {
        let columns = of_columns(self.node, index.fields());
        let mut overlap = 0;
        for field in index.fields() {
            overlap += usize::from(is_limited(self.node, field));
            if !is_constant(self.node, field) {
                break;
            }
        }
        Rated {
            index,
            overlap,
            used: columns.used,
            ranges: columns.ranges,
        }
    }

    /// The ranges of ids.
    fn ids(&self) -> Vec<KeyRange> {
        few(Space::Ids
            .of_field(self.node, &self.id)
            .unwrap_or_else(Space::whole))
    }
}

/// Whether only one value of a field passes.
fn is_constant(node: &Node, field: &FieldPath) -> bool {
    holds(node, field, &|condition| {
        let equal = matches!(condition.test, Test::Compare(Relation::Equal, _));
        equal && condition.wanted
    })
}

/// Whether a field is limited in a way that CouchDB looks up in an index.
fn is_limited(node: &Node, field: &FieldPath) -> bool {
    holds(node, field, &is_range)
}

/// Whether a condition is one that CouchDB looks up in an index.
pub(super) fn is_range(condition: &Condition) -> bool {
    condition.wanted
        && match &condition.test {
            Test::Compare(relation, _) => *relation != Relation::NotEqual,
            Test::BeginsWith(_) => true,
            _ => false,
        }
}

/// Whether all documents that pass also pass such a condition on the field.
fn holds(node: &Node, field: &FieldPath, which: &impl Fn(&Condition) -> bool) -> bool {
    match node {
        Node::All(nodes) => nodes.iter().any(|node| holds(node, field, which)),
        Node::Any(_) => false,
        Node::Field(path, condition) => **path == *field && which(condition),
    }
}
