//! A worker: documents in, sorted rows out.

use super::BuildContext;
use super::order::compare_json;
use super::rows::{Mapped, Mapping, Span};
use crate::ViewError;
use crate::design::compilation;
use crate::find::{JsonMap, Named};
use crate::group::{ChangesFilter, ViewGroup};
use crate::row::{prefix_of, push_number, push_value, push_varint, push_whole_id};
use crate::selector::Selector;
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_base::{Interrupt, Interrupted};
use varve_docdb::{
    Change, DocdbError, DocumentText, Leaf, Rev, Snapshot, Stored, split_id, write_attachment_stubs,
};
use varve_js::{Emission, JsError, MapFunctions};
use varve_json::collate::Order;
use varve_json::{Value, collate, parse};

/// Documents between two calls of [`BuildContext::throttle`].
const PIECE: usize = 20;

/// Maker of rows from documents.
pub(super) enum Engine {
    /// Functions.
    Script(Box<MapFunctions>),
    /// Json indexes.
    Fields(Vec<JsonMap>, Named),
    /// A filter of changes.
    Selector(Arc<Selector>),
}

/// A revision as map functions see it.
pub(super) struct MapInput<'a> {
    pub(super) id: &'a str,
    pub(super) rev: &'a Rev,
    pub(super) stored: &'a Stored,
    pub(super) seq: u64,
    /// Other leaves, preferred ones first.
    pub(super) others: Vec<&'a Leaf>,
}

impl<'a> MapInput<'a> {
    fn of(change: &'a Change) -> Self {
        MapInput {
            id: &change.id,
            rev: &change.rev,
            stored: &change.stored,
            seq: change.seq,
            others: change.others.iter().collect(),
        }
    }
}

/// One worker's engine and buffers.
pub(super) struct Mapper<'a> {
    pub(super) group: &'a ViewGroup,
    pub(super) documents: &'a Snapshot,
    pub(super) context: &'a BuildContext<'a>,
    /// Raised when the build has ended without this worker.
    pub(super) ended: &'a Interrupt,
    pub(super) engine: Engine,
    pub(super) body: Vec<u8>,
    pub(super) json: Vec<u8>,
    emitted: Vec<Emitted>,
    bytes: Vec<u8>,
    /// Begins the sort keys of the document at hand.
    prefix: Vec<u8>,
}

/// A row of the document at hand: positions in the worker's bytes.
#[derive(Clone, Copy, Debug)]
struct Emitted {
    map: usize,
    /// Sort key, key and value stand one behind the other.
    sort_key: usize,
    key: usize,
    value: usize,
    end: usize,
}

impl<'a> Mapper<'a> {
    pub(super) fn new(
        group: &'a ViewGroup,
        documents: &'a Snapshot,
        context: &'a BuildContext<'a>,
        ended: &'a Interrupt,
    ) -> Result<Self, ViewError> {
        let engine = match (group.filter(), group.json_maps()) {
            (Some(ChangesFilter::Selector(selector)), _) => Engine::Selector(Arc::clone(selector)),
            (_, Some(maps)) => {
                let named = named(&maps);
                Engine::Fields(maps, named)
            }
            _ => Engine::Script(Box::new(compile(group, context, ended)?)),
        };
        Ok(Mapper {
            group,
            documents,
            context,
            ended,
            engine,
            body: Vec::new(),
            json: Vec::new(),
            emitted: Vec::new(),
            bytes: Vec::new(),
            prefix: Vec::new(),
        })
    }

    /// Maps a batch, or the rest of it; `false` if it stopped before the end because `is_starved`, which is asked
    /// before each document, said so.
    pub(super) fn map(
        &mut self,
        mapping: &mut Mapping,
        is_starved: &mut dyn FnMut() -> bool,
    ) -> Result<bool, ViewError> {
        while !mapping.changes.as_slice().is_empty() {
            self.context.interrupt.check()?;
            self.ended.check()?;
            if is_starved() {
                return Ok(false);
            }
            if mapping.mapped.ids.len().is_multiple_of(PIECE) {
                (self.context.throttle)();
            }
            let Some(change) = mapping.changes.next() else {
                break;
            };
            let id = &change.id;
            mapping.mapped.ids.push(id.to_owned());
            if self.group.filter().is_some() {
                self.judge(&change)?;
                self.enter(id, &mut mapping.mapped);
            } else if !change.is_deleted() && self.group.takes(id) {
                self.run(&MapInput::of(&change))?;
                let rows = self.enter(id, &mut mapping.mapped);
                if self.group.has_access() {
                    self.share(&change, rows, &mut mapping.mapped)?;
                }
            }
        }
        Ok(true)
    }

    /// Forgets the document before.
    pub(super) fn clear(&mut self) {
        self.json.clear();
        self.emitted.clear();
        self.bytes.clear();
    }

    /// Adds a row of the first map, without an emitted key.
    pub(super) fn push_row(
        &mut self,
        sort_key: impl FnOnce(&mut Vec<u8>),
        value: impl FnOnce(&mut Vec<u8>),
    ) {
        let begin = self.bytes.len();
        sort_key(&mut self.bytes);
        let key = self.bytes.len();
        value(&mut self.bytes);
        self.emitted.push(Emitted {
            map: 0,
            sort_key: begin,
            key,
            value: key,
            end: self.bytes.len(),
        });
    }

    /// Runs the functions over one document; its rows are then in `emitted`.
    pub(super) fn run(&mut self, input: &MapInput<'_>) -> Result<(), ViewError> {
        let id = input.id;
        self.clear();
        if self.group.is_partitioned() {
            self.prefix = split_id(id).map_or_else(Vec::new, |(partition, _)| prefix_of(partition));
        }
        self.read(input).map_err(|source| ViewError::Document {
            id: id.to_owned(),
            rev: input.rev.clone(),
            source: Box::new(source),
        })?;
        self.emit(input)?;
        let bytes = &self.bytes;
        self.emitted.sort_by(|a, b| {
            (a.map, &bytes[a.sort_key..a.key])
                .cmp(&(b.map, &bytes[b.sort_key..b.key]))
                .then_with(|| compare_json(&bytes[a.value..a.end], &bytes[b.value..b.end]))
        });
        Ok(())
    }

    /// Asks the functions, or the indexes, for the rows of the text at hand.
    fn emit(&mut self, input: &MapInput<'_>) -> Result<(), ViewError> {
        let id = input.id;
        let engine = match &mut self.engine {
            Engine::Script(engine) => engine,
            Engine::Fields(maps, named) => {
                // The database has parsed its texts when they were written.
                let document = named.read(&self.json);
                for (map, of_map) in maps.iter().enumerate() {
                    let key = of_map.key(&document);
                    let row = key.map(|key| enter_key((&mut self.bytes, &self.prefix), map, &key));
                    self.emitted.extend(row);
                }
                return Ok(());
            }
            // Its changes are judged, not mapped.
            Engine::Selector(_) => return Ok(()),
        };
        let emissions = match engine.map(&self.json) {
            Ok(emissions) => emissions,
            Err(JsError::Interrupted) => return Err(ViewError::Interrupted(Interrupted)),
            Err(limit) if !self.context.skips_failed => {
                return Err(ViewError::Function {
                    id: id.to_owned(),
                    seq: input.seq,
                    source: Box::new(limit),
                });
            }
            Err(limit) => {
                self.context.log.failure(id, None, &limit.to_string());
                // State that the document has left in the old engine may fail the next document.
                **engine = compile(self.group, self.context, self.ended)?;
                return Ok(());
            }
        };
        for emission in emissions {
            match emission {
                Emission::Row {
                    function,
                    key,
                    value,
                } => {
                    let map = (function, self.group.order_of_map(function));
                    let row = take((&mut self.bytes, &self.prefix), map, (key, value));
                    self.emitted.push(row);
                }
                Emission::Failed { function, reason } => {
                    let view = self.group.name_of_map(function);
                    self.context.log.failure(id, Some(view), reason);
                }
                Emission::Logged(text) => self.context.log.message(id, text),
            }
        }
        Ok(())
    }

    /// Writes the revision's JSON text, with attachment stubs.
    fn read(&mut self, input: &MapInput<'_>) -> Result<(), DocdbError> {
        self.body.clear();
        self.documents.body(input.stored, &mut self.body)?;
        let (rev, body) = (input.rev, &self.body);
        let mut text = DocumentText::begin(input.id, rev, false, body, &mut self.json);
        for (name, deleted) in [("_conflicts", false), ("_deleted_conflicts", true)] {
            let leaves = input.others.iter().filter(|leaf| leaf.deleted == deleted);
            text.revs(name, leaves.map(|leaf| &leaf.rev));
        }
        let attachments = self.documents.attachments(input.stored)?;
        if !attachments.is_empty() {
            text.member("_attachments", |out| {
                write_attachment_stubs(&attachments, false, out);
            });
        }
        if self.group.shows_local_seq() {
            text.member("_local_seq", |out| {
                out.extend_from_slice(input.seq.to_string().as_bytes());
            });
        }
        text.end();
        Ok(())
    }

    /// Moves the rows of one document to the batch, and tells where they are.
    fn enter(&mut self, id: &str, mapped: &mut Mapped) -> Vec<(usize, Span)> {
        if self.emitted.is_empty() {
            return Vec::new();
        }
        mapped.documents.push(|entry| {
            entry.extend_from_slice(id.as_bytes());
            let value = entry.len();
            self.push_entry(entry);
            value
        });
        self.push_rows(id, |map, fill| mapped.rows[map].push(fill))
    }

    /// Appends which rows the document has, as the tree by document tells it.
    pub(super) fn push_entry(&self, entry: &mut Vec<u8>) {
        let (bytes, emitted) = (&self.bytes, &self.emitted);
        for rows in emitted.chunk_by(|a, b| a.map == b.map) {
            push_varint(rows[0].map, entry);
            push_varint(rows.len(), entry);
            for (number, row) in numbered(rows, bytes) {
                let sort_key = &bytes[row.sort_key..row.key];
                push_varint(sort_key.len(), entry);
                entry.extend_from_slice(sort_key);
                push_number(number, entry);
            }
        }
    }

    /// Has `push` store each row of the document under its map function.
    pub(super) fn push_rows(
        &self,
        id: &str,
        mut push: impl FnMut(usize, &mut dyn FnMut(&mut Vec<u8>) -> usize) -> Span,
    ) -> Vec<(usize, Span)> {
        let (bytes, emitted) = (&self.bytes, &self.emitted);
        let mut spans = Vec::new();
        for rows in emitted.chunk_by(|a, b| a.map == b.map) {
            for (number, row) in numbered(rows, bytes) {
                let mut fill = |out: &mut Vec<u8>| {
                    let sort_key = &bytes[row.sort_key..row.key];
                    out.extend_from_slice(sort_key);
                    push_whole_id(id, out);
                    push_number(number, out);
                    let value = out.len();
                    let (key, json) = (&bytes[row.key..row.value], &bytes[row.value..row.end]);
                    push_value(sort_key.len(), key, json, out);
                    value
                };
                spans.push((row.map, push(row.map, &mut fill)));
            }
        }
        spans
    }
}

/// The fields that json indexes look at.
fn named(maps: &[JsonMap]) -> Named {
    let filters = maps.iter().filter_map(|map| map.filter.as_ref());
    let paths = maps.iter().flat_map(|map| &map.sorting);
    Named::of(
        filters.map(Selector::node),
        paths.map(|sorting| &sorting.field),
    )
}

pub(super) fn compile(
    group: &ViewGroup,
    context: &BuildContext<'_>,
    ended: &Interrupt,
) -> Result<MapFunctions, ViewError> {
    let sources: Vec<&str> = group.maps().iter().map(|map| &*map.source).collect();
    let library = group.library();
    let engine = MapFunctions::compile(&sources, library, context.limits, context.compilation);
    let mut engine = engine.map_err(|error| {
        let view = match error {
            JsError::Compile { index, .. } => group.name_of_map(index),
            _ => "",
        };
        compilation(&error, "map", view)
    })?;
    let throttle = Arc::clone(context.throttle);
    let interrupts = [context.interrupt.clone(), ended.clone()];
    engine.set_checkpoint(Arc::new(move || {
        throttle();
        match interrupts.iter().any(Interrupt::is_raised) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }));
    Ok(engine)
}

/// Sorted rows of one function, each with its number among those that sort equal.
fn numbered<'r>(rows: &'r [Emitted], bytes: &'r [u8]) -> impl Iterator<Item = (u32, &'r Emitted)> {
    let equals = |a: &Emitted, b: &Emitted| bytes[a.sort_key..a.key] == bytes[b.sort_key..b.key];
    rows.chunk_by(equals).flat_map(|equal| (0u32..).zip(equal))
}

/// Writes the row of a json index behind `bytes`; its value is `null`.
fn enter_key((bytes, prefix): (&mut Vec<u8>, &[u8]), map: usize, key: &Value) -> Emitted {
    let sort_key = bytes.len();
    bytes.extend_from_slice(prefix);
    collate::sort_key(key, bytes);
    let key_at = bytes.len();
    varve_json::write(key, bytes);
    let value = bytes.len();
    bytes.extend_from_slice(b"null");
    Emitted {
        map,
        sort_key,
        key: key_at,
        value,
        end: bytes.len(),
    }
}

/// Copies an emitted row behind `bytes`.
fn take(
    (bytes, prefix): (&mut Vec<u8>, &[u8]),
    (map, order): (usize, Order),
    (key, value): (&str, &str),
) -> Emitted {
    let sort_key = bytes.len();
    bytes.extend_from_slice(prefix);
    let parsed = normal(key);
    order.sort_key(&parsed, bytes);
    let key_at = bytes.len();
    match key.contains('\\') {
        // As this program writes escapes, not as the engine does.
        true => varve_json::write(&parsed, bytes),
        false => bytes.extend_from_slice(key.as_bytes()),
    }
    let value_at = bytes.len();
    match value.contains('\\') {
        true => varve_json::write(&normal(value), bytes),
        false => bytes.extend_from_slice(value.as_bytes()),
    }
    Emitted {
        map,
        sort_key,
        key: key_at,
        value: value_at,
        end: bytes.len(),
    }
}

/// Reads the engine's JSON. Its only form that JSON of Unicode text does not have is half of a surrogate pair, which
/// becomes U+FFFD.
fn normal(json: &str) -> Value {
    parse(json.as_bytes()).unwrap_or_else(|_| {
        let repaired = without_lone_surrogates(json);
        parse(repaired.as_bytes()).unwrap_or_default()
    })
}

/// The engine escapes surrogates only where they stand alone, always in small letters.
fn without_lone_surrogates(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let is_surrogate = escape.get(1..3) == Some("ud")
            && escape.as_bytes().get(3).is_some_and(|digit| *digit >= b'8');
        let len = if escape[1..].starts_with('u') { 6 } else { 2 };
        out.push_str(if is_surrogate {
            "\\ufffd"
        } else {
            &escape[..len]
        });
        rest = &escape[len..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        let repaired = without_lone_surrogates(r#"["\\ud800","\ud800x\udfff","\n","\u0001"]"#);
        assert_eq!(repaired, r#"["\\ud800","\ufffdx\ufffd","\n","\u0001"]"#);
        assert_eq!(normal(r#""\ud800""#), Value::from("\u{fffd}"));
    }
}
