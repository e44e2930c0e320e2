//! Query options as clients send them, in a query string or a JSON body.
//!
//! Names, kinds and the words of every refusal are CouchDB's. `_all_docs` and its relatives take
//! the same options.

use varve_docdb::{Direction, Partition, PartitionError};
use varve_json::collate::Order;
use varve_json::{Object, Value, parse};

/// Options that cannot be used. `Display` is the reason that the client is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A value of the wrong kind, or options that exclude each other (`query_parse_error`).
    #[error("{reason}")]
    Query {
        /// CouchDB's words.
        reason: String,
    },
    /// Text that is not JSON, or JSON of the wrong shape (`bad_request`).
    #[error("{reason}")]
    Request {
        /// CouchDB's words.
        reason: String,
    },
    /// A name that no partition has.
    #[error(transparent)]
    Partition(#[from] PartitionError),
}

impl OptionError {
    /// A refusal with error name `query_parse_error`.
    pub(crate) fn query(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        OptionError::Query { reason }
    }

    fn request(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        OptionError::Request { reason }
    }

    /// CouchDB's name of the error.
    pub fn name(&self) -> &'static str {
        match self {
            OptionError::Query { .. } => "query_parse_error",
            OptionError::Request { .. } => "bad_request",
            OptionError::Partition(_) => "illegal_partition",
        }
    }
}

/// How rows are grouped before they are reduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// All rows are one group.
    #[default]
    None,
    /// By the first items of keys that are arrays, and by other keys whole. Never 0.
    Level(u64),
    /// Each whole key is a group.
    Exact,
}

/// When an index is brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// Before the query is answered.
    #[default]
    Before,
    /// Not for this query.
    No,
    /// After it is answered.
    After,
}

/// Options of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryOptions {
    /// Only rows with these keys, in this order.
    pub keys: Option<Vec<Value>>,
    /// First key, in the direction of reading.
    pub start_key: Option<Value>,
    /// Among rows with the first key, the first document.
    pub start_doc: Option<String>,
    /// Last key, in the direction of reading.
    pub end_key: Option<Value>,
    /// Among rows with the last key, the last document.
    pub end_doc: Option<String>,
    /// Whether rows with the last key belong to the answer.
    pub inclusive_end: bool,
    /// Whether rows are read from the last to the first.
    pub descending: bool,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// So many rows are left out first.
    pub skip: u64,
    /// Whether to reduce; unless given, a view that can is reduced.
    pub reduce: Option<bool>,
    /// Grouping that `group` and `group_level` set.
    pub grouping: Grouping,
    /// Whether to group by whole keys.
    pub group: Option<bool>,
    /// By how many items of keys to group; goes before `group`.
    pub group_level: Option<u64>,
    /// Whether rows come with their documents.
    pub include_docs: bool,
    /// Whether those documents name their conflicts; `None` if nothing was said of it.
    pub conflicts: Option<bool>,
    /// Whether those documents hold their attachments' content.
    pub attachments: bool,
    /// Whether attachments are described as they are stored.
    pub att_encoding_info: bool,
    /// Whether the answer says which state of the database it is about.
    pub update_seq: bool,
    /// Whether rows must come in order; recorded: without order nothing is skipped.
    pub sorted: bool,
    /// When the index is brought up to date.
    pub update: Update,
    /// Only rows of documents of this partition.
    pub partition: Option<Partition>,
}

impl Default for QueryOptions {
    fn default() -> Self {
        QueryOptions {
            keys: None,
            start_key: None,
            start_doc: None,
            end_key: None,
            end_doc: None,
            inclusive_end: true,
            descending: false,
            limit: None,
            skip: 0,
            reduce: None,
            grouping: Grouping::None,
            group: None,
            group_level: None,
            include_docs: false,
            conflicts: None,
            attachments: false,
            att_encoding_info: false,
            update_seq: false,
            sorted: true,
            update: Update::Before,
            partition: None,
        }
    }
}

impl QueryOptions {
    /// In which rows are read.
    pub(crate) fn direction(&self) -> Direction {
        match self.descending {
            true => Direction::Backward,
            false => Direction::Forward,
        }
    }

    /// Reads the decoded names and values of a query string. Unknown names are left alone.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, OptionError> {
        let mut options = QueryOptions::default();
        options.set_query(pairs)?;
        Ok(options)
    }

    /// Takes the decoded names and values of a query string, which override options set before.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn set_query<'a>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), OptionError> {
        pairs
            .into_iter()
            .try_for_each(|(name, text)| self.set_text(name, text))
    }

    /// Takes the members of a JSON body, which override options set before.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn set_body(&mut self, body: &Object) -> Result<(), OptionError> {
        for (name, value) in body.iter() {
            match value {
                _ if takes_json(name) => self.set_json(name, value.clone(), "member")?,
                Value::String(text) => self.set_text(name, text)?,
                other => self.set_text(name, &varve_json::to_string(other))?,
            }
        }
        Ok(())
    }

    fn set_text(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        match name {
            _ if takes_json(name) => {
                let value = parse(text.as_bytes());
                let value = value.map_err(|_| OptionError::request("invalid UTF-8 JSON"))?;
                self.set_json(name, value, "parameter")?;
            }
            "startkey_docid" | "start_key_doc_id" => self.start_doc = Some(text.to_owned()),
            "endkey_docid" | "end_key_doc_id" => self.end_doc = Some(text.to_owned()),
            "limit" => self.limit = Some(count(text)?),
            "skip" => self.skip = count(text)?,
            "group_level" => {
                self.group_level = Some(count(text)?);
                self.settle_grouping();
            }
            "group" => {
                self.group = Some(truth(text)?);
                self.settle_grouping();
            }
            "conflicts" => self.conflicts = Some(truth(text)?),
            "stale" => self.update = stale(text)?,
            "update" => self.update = update(text)?,
            "stable" => check_stable(text)?,
            "reduce" => self.reduce = Some(truth(text)?),
            "partition" => self.partition = Some(Partition::new(text)?),
            _ => self.set_flag(name, text)?,
        }
        Ok(())
    }

    fn settle_grouping(&mut self) {
        self.grouping = match (self.group_level, self.group) {
            (Some(0), _) | (None, None | Some(false)) => Grouping::None,
            (Some(level), _) => Grouping::Level(level),
            (None, Some(true)) => Grouping::Exact,
        }
    }

    fn set_flag(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        let flag = match name {
            "inclusive_end" => &mut self.inclusive_end,
            "descending" => &mut self.descending,
            "include_docs" => &mut self.include_docs,
            "attachments" => &mut self.attachments,
            "att_encoding_info" => &mut self.att_encoding_info,
            "update_seq" => &mut self.update_seq,
            "sorted" => &mut self.sorted,
            _ => return Ok(()),
        };
        *flag = truth(text)?;
        Ok(())
    }

    fn set_json(&mut self, name: &str, value: Value, place: &str) -> Result<(), OptionError> {
        match name {
            "key" => {
                self.start_key = Some(value.clone());
                self.end_key = Some(value);
            }
            "startkey" | "start_key" => self.start_key = Some(value),
            "endkey" | "end_key" => self.end_key = Some(value),
            _ => match value {
                Value::Array(keys) => self.keys = Some(keys),
                _ => {
                    let reason = format!("`keys` {place} must be an array.");
                    return Err(OptionError::request(reason));
                }
            },
        }
        Ok(())
    }

    /// Refuses options that exclude each other in a query of a view; of several, in CouchDB's order.
    ///
    /// # Errors
    /// [`OptionError::Query`] in the words of CouchDB.
    pub fn check_for_view(&self, can_reduce: bool, order: Order) -> Result<(), OptionError> {
        let reduces = can_reduce && self.reduce != Some(false);
        let groups = self.grouping != Grouping::None;
        let not_exact = self.grouping != Grouping::Exact;
        let refusals = [
            (
                self.group == Some(false) && groups,
                "Can't specify group=false and group_level>0 at the same time",
            ),
            (
                !can_reduce && self.reduce == Some(true),
                "Reduce is invalid for map-only views.",
            ),
            (
                reduces && self.keys.is_some() && not_exact,
                "Multi-key fetches for reduce views must use `group=true`",
            ),
            (self.keys_exclude_range(), KEYS_AND_RANGE),
            (!reduces && groups, "Invalid use of grouping on a map view."),
            (
                reduces && self.include_docs,
                "`include_docs` is invalid for reduce",
            ),
            (
                reduces && self.conflicts.is_some(),
                "`conflicts` is invalid for reduce views.",
            ),
        ];
        match refusals.iter().find(|(is_so, _)| *is_so) {
            Some((_, reason)) => Err(OptionError::query(*reason)),
            None => self.check_range(order),
        }
    }

    fn keys_exclude_range(&self) -> bool {
        let is_ranged = self.start_key.is_some() || self.end_key.is_some();
        is_ranged && self.keys.as_ref().is_some_and(|keys| !keys.is_empty())
    }

    /// Refuses keys beside a range.
    ///
    /// # Errors
    /// [`OptionError::Query`] in the words of CouchDB.
    pub fn check_keys(&self) -> Result<(), OptionError> {
        match self.keys_exclude_range() {
            true => Err(OptionError::query(KEYS_AND_RANGE)),
            false => Ok(()),
        }
    }

    /// Refuses a query of a partition where rows are not kept by partition, and of no partition where they are.
    ///
    /// # Errors
    /// [`OptionError::Query`] in the words of CouchDB.
    pub fn check_partition(&self, is_partitioned: bool) -> Result<(), OptionError> {
        match (is_partitioned, &self.partition) {
            (true, None) => Err(OptionError::query(
                "`partition` parameter is mandatory for queries to this view.",
            )),
            (false, Some(_)) => Err(OptionError::query(
                "`partition` parameter is not supported in this design doc",
            )),
            (true, Some(_)) | (false, None) => Ok(()),
        }
    }

    /// Refuses a range that ends before it starts.
    fn check_range(&self, order: Order) -> Result<(), OptionError> {
        let (Some(start), Some(end)) = (&self.start_key, &self.end_key) else {
            return Ok(());
        };
        let (mut first, mut last) = (Vec::new(), Vec::new());
        order.sort_key(start, &mut first);
        order.sort_key(end, &mut last);
        if self.descending {
            std::mem::swap(&mut first, &mut last);
        }
        if first <= last {
            return Ok(());
        }
        Err(OptionError::query(format!(
            "No rows can match your key range, reverse your start_key and end_key \
             or set descending={}",
            !self.descending
        )))
    }
}

const KEYS_AND_RANGE: &str = "`keys` is incompatible with `key`, `start_key` and `end_key`";

/// Options whose value is JSON text.
fn takes_json(name: &str) -> bool {
    matches!(
        name,
        "key" | "startkey" | "start_key" | "endkey" | "end_key" | "keys"
    )
}

fn truth(text: &str) -> Result<bool, OptionError> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(OptionError::query(format!(
            "Invalid boolean parameter: {text:?}"
        ))),
    }
}

fn count(text: &str) -> Result<u64, OptionError> {
    if let Ok(count) = text.parse() {
        return Ok(count);
    }
    let kind = match text.parse::<i64>() {
        Ok(_) => "positive integer",
        Err(_) => "integer",
    };
    Err(OptionError::query(format!(
        "Invalid value for {kind}: {text:?}"
    )))
}

fn stale(text: &str) -> Result<Update, OptionError> {
    match text {
        "ok" => Ok(Update::No),
        "update_after" => Ok(Update::After),
        _ => Err(OptionError::query("Invalid value for `stale`.")),
    }
}

/// There is one copy of each index, so every query is stable.
fn check_stable(text: &str) -> Result<(), OptionError> {
    match text {
        "true" | "false" => Ok(()),
        _ => Err(OptionError::query("Invalid value for `stable`.")),
    }
}

fn update(text: &str) -> Result<Update, OptionError> {
    match text {
        "true" => Ok(Update::Before),
        "false" => Ok(Update::No),
        "lazy" => Ok(Update::After),
        _ => Err(OptionError::query("Invalid value for `update`.")),
    }
}

#[cfg(test)]
mod tests;
