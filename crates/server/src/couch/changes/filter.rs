//! Which changes a feed shows.

use std::collections::HashSet;
use std::sync::Arc;

use varve_docdb::{Change, DESIGN_PREFIX, Rev, Snapshot, Stored};
use varve_js::Compilation;
use varve_json::Value;
use varve_views::ViewGroup;
use varve_views::selector::Selector;

use crate::Failure;
use crate::couch::call::Call;
use crate::couch::changes::options::FilterName;
use crate::couch::document::text::{design_text, text_of};
use crate::couch::failures;
use crate::couch::functions::request_object::request_object;
use crate::couch::functions::scripts;
use crate::couch::functions::scripts::Script;

/// A filter, ready to be asked.
pub enum Filter {
    /// All pass.
    None,
    /// These documents.
    Documents(HashSet<String>),
    /// Design documents.
    Design,
    /// Documents that match.
    Selector(Arc<Selector>),
    /// Documents for which a map function emits.
    View(Script, Compilation),
    /// Documents for which a filter function says so.
    Function {
        /// The function.
        script: Script,
        /// The request that it is given, as JSON.
        request: Vec<u8>,
    },
}

/// Which leaves of a document passed.
pub enum Passed {
    /// All that are shown.
    All,
    /// These.
    Some(Vec<Rev>),
}

impl Passed {
    /// Those at these positions: 0 is the winner.
    pub fn of_leaves(change: &Change, leaves: &[usize]) -> Passed {
        let rev = |leaf: &usize| match leaf.checked_sub(1) {
            None => Some(change.rev.clone()),
            Some(other) => change.others.get(other).map(|leaf| leaf.rev.clone()),
        };
        Passed::Some(leaves.iter().filter_map(rev).collect())
    }

    /// Whether a leaf is among them.
    pub fn includes(&self, rev: &Rev) -> bool {
        match self {
            Passed::All => true,
            Passed::Some(revs) => revs.contains(rev),
        }
    }
}

impl Filter {
    /// Prepares the filter that a request names.
    ///
    /// # Errors
    /// 404 if its design document or function is not there; 400 if a parameter that it needs is missing.
    pub fn load(call: &Call, name: &FilterName) -> Result<Filter, Failure> {
        Ok(match name {
            FilterName::None => Filter::None,
            FilterName::Design => Filter::Design,
            FilterName::DocumentIds => Filter::Documents(document_ids(call)?),
            FilterName::Selector => {
                if call.request.is_read() {
                    let reason = "Selector must be specified in POST payload";
                    return Err(Failure::bad_request(reason));
                }
                let body = call.json_body()?;
                let selector = body.get("selector").ok_or_else(|| {
                    Failure::bad_request("Filter _selector needs a `selector` in the body")
                })?;
                Filter::Selector(Arc::new(Selector::compile(selector)?))
            }
            FilterName::View(design, view) => {
                let document = design_document(&call.designs(), design)?;
                let view = member(member(&document, "views")?, view)?;
                let source = source_of(view, "map")?;
                let design = document.as_object().ok_or_else(failures::missing)?;
                let script = Script::of_view(source, design, call.app.limits());
                let how = call.app.compilation();
                scripts::check_map(&script, how)?;
                Filter::View(script, how)
            }
            FilterName::Function(design, filter) => {
                let document = design_document(&call.designs(), design)?;
                let source = source_of(member(&document, "filters")?, filter)?;
                let text = varve_json::to_string(&document);
                let script = Script::new(source, text.as_bytes(), call.app.limits());
                scripts::check_filter(&script)?;
                Filter::Function {
                    script,
                    request: request_object(call, None)?,
                }
            }
        })
    }

    /// Group of an index of the changes that pass; `None` if the verdict depends on more than the document: a
    /// filter function sees the request.
    pub fn group(&self) -> Option<ViewGroup> {
        match self {
            Filter::Selector(selector) => Some(ViewGroup::of_selector(Arc::clone(selector))),
            Filter::View(script, _) => Some(script.map_filter()),
            Filter::None | Filter::Documents(_) | Filter::Design | Filter::Function { .. } => None,
        }
    }

    /// Whether the client named the documents.
    pub fn is_by_id(&self) -> bool {
        matches!(self, Filter::Documents(_))
    }

    /// Whether a function is asked, which may fail.
    pub fn is_script(&self) -> bool {
        matches!(self, Filter::View(..) | Filter::Function { .. })
    }

    /// Which leaves pass; `None` if none does. Without `all_leaves` only the winner is asked for.
    ///
    /// # Errors
    /// 500 if the file cannot be read; 400 if a function fails.
    pub fn passes(
        &self,
        snapshot: &Snapshot,
        change: &Change,
        all_leaves: bool,
    ) -> Result<Option<Passed>, Failure> {
        let all = |passes: bool| Ok(passes.then_some(Passed::All));
        match self {
            Filter::None => return all(true),
            Filter::Documents(ids) => return all(ids.contains(&change.id)),
            Filter::Design => return all(change.id.starts_with(DESIGN_PREFIX)),
            Filter::Selector(_) | Filter::View(..) | Filter::Function { .. } => {}
        }
        let mut passed = Vec::new();
        if self.accepts(snapshot, &change.id, &change.rev, &change.stored)? {
            passed.push(change.rev.clone());
        }
        if all_leaves && !change.others.is_empty() {
            let document = snapshot
                .document(&change.id)?
                .ok_or_else(failures::missing)?;
            for leaf in &change.others {
                if let Some((rev, stored)) = document.revision(&leaf.rev)
                    && self.accepts(snapshot, &change.id, rev, stored)?
                {
                    passed.push(rev.clone());
                }
            }
        }
        Ok((!passed.is_empty()).then_some(Passed::Some(passed)))
    }

    fn accepts(
        &self,
        snapshot: &Snapshot,
        id: &str,
        rev: &Rev,
        stored: &Stored,
    ) -> Result<bool, Failure> {
        let text = text_of(snapshot, id, rev, stored)?;
        match self {
            Filter::Selector(selector) => Ok(selector.matches(&varve_json::parse(&text)?)),
            Filter::View(script, how) => scripts::emits(script, &text, *how),
            Filter::Function { script, request } => scripts::filter(script, &text, request),
            Filter::None | Filter::Documents(_) | Filter::Design => Ok(true),
        }
    }
}

/// From the body of a POST, or from the query.
fn document_ids(call: &Call) -> Result<HashSet<String>, Failure> {
    let invalid = || Failure::bad_request("`doc_ids` filter parameter is not a list.");
    let given = match call.request.query("doc_ids") {
        Some(text) => varve_json::parse(text.as_bytes())?,
        None if call.request.is_read() => Value::Null,
        None => call
            .json_body()?
            .get("doc_ids")
            .cloned()
            .unwrap_or_default(),
    };
    let ids = given.as_array().ok_or_else(invalid)?.iter();
    let ids = ids.map(|id| id.as_str().map(str::to_owned));
    ids.collect::<Option<_>>().ok_or_else(invalid)
}

fn design_document(snapshot: &Snapshot, name: &str) -> Result<Value, Failure> {
    Ok(varve_json::parse(&design_text(snapshot, name)?)?)
}

fn member<'v>(value: &'v Value, name: &str) -> Result<&'v Value, Failure> {
    let found = value.get(name);
    found.ok_or_else(|| Failure::not_found(format!("missing json key: {name}")))
}

fn source_of<'v>(value: &'v Value, name: &str) -> Result<&'v str, Failure> {
    let source = member(value, name)?.as_str();
    source.ok_or_else(|| Failure::bad_request(format!("{name} is no function")))
}
