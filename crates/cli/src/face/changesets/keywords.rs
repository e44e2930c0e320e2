//! What the keywords of a template mean for a changeset.

use super::text::phase_name;
use super::touched::{Touched, copies};
use super::{Printer, Subject};
use crate::face::Abort;
use crate::face::formatter::Value;
use crate::face::template::Keywords;
use varve_repo::{DEFAULT_BRANCH, Rev};

/// One changeset as a template sees it.
pub(super) struct OfChangeset<'a> {
    pub(super) printer: &'a Printer,
    pub(super) subject: &'a Subject<'a>,
}

fn text(bytes: &[u8]) -> Value {
    Value::Text(bytes.to_vec())
}

fn list<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Value {
    Value::List(texts.into_iter().map(|one| text(one.as_ref())).collect())
}

impl OfChangeset<'_> {
    fn parent(&self, which: usize) -> Option<Rev> {
        self.subject.parents(&self.printer.view)[which]
    }

    fn node(&self, rev: Option<Rev>) -> Value {
        Value::from(self.printer.view.changelog().node_or_null(rev))
    }

    /// Parents as they are shown without a template: none if the only one comes right before.
    fn parents(&self) -> Value {
        let [first, second] = self.subject.parents(&self.printer.view);
        let number = |parent: Option<Rev>| parent.map_or(-1, |rev| i64::from(rev.0));
        let shown: &[Option<Rev>] = match second {
            Some(_) => &[first, second],
            None if number(first) < self.subject.number() - 1 => &[first],
            None => &[],
        };
        let one = |parent: &Option<Rev>| {
            let node = self.printer.view.changelog().node_or_null(*parent);
            let hex = node.to_hex();
            let short = String::from_utf8_lossy(&hex[..12]).into_owned();
            Value::Dict(vec![
                (
                    Vec::new(),
                    Value::from(format!("{}:{short} ", number(*parent))),
                ),
                (b"rev".to_vec(), Value::Int(number(*parent))),
                (b"node".to_vec(), Value::from(node)),
            ])
        };
        Value::List(shown.iter().map(one).collect())
    }

    fn touched(&self, which: fn(Touched) -> Vec<Vec<u8>>) -> Result<Value, Abort> {
        let Some(rev) = self.subject.rev else {
            return Ok(Value::List(Vec::new()));
        };
        let touched = Touched::of(&self.printer.view, rev, self.subject.changeset)?;
        Ok(list(which(touched)))
    }

    fn copies(&self) -> Result<Value, Abort> {
        let Some(rev) = self.subject.rev else {
            return Ok(Value::List(Vec::new()));
        };
        let copies = copies(&self.printer.view, rev, self.subject.changeset)?;
        let one = |(name, source): (Vec<u8>, Vec<u8>)| {
            let shown = [&name[..], b" (", &source, b")"].concat();
            Value::Dict(vec![
                (Vec::new(), Value::Text(shown)),
                (b"name".to_vec(), Value::Text(name)),
                (b"source".to_vec(), Value::Text(source)),
            ])
        };
        Ok(Value::List(copies.into_iter().map(one).collect()))
    }

    /// The letter that stands for the changeset in a picture.
    fn graph_node(&self) -> &'static [u8] {
        let (printer, subject) = (self.printer, self.subject);
        match subject.rev {
            None if printer.working.is_empty() => b"@",
            Some(rev) if printer.working.contains(&rev) => b"@",
            _ if printer.merged == Some(subject.node) => b"%",
            _ if subject.changeset.closes_branch() => b"_",
            _ => b"o",
        }
    }

    fn extras(&self) -> Value {
        let extras = self.subject.changeset.extras();
        let mut extras: Vec<(Vec<u8>, Value)> = extras
            .map(|(key, value)| (key.into_owned(), Value::Text(value.into_owned())))
            .collect();
        if !extras.iter().any(|(key, _)| key == b"branch") {
            extras.push((b"branch".to_vec(), text(DEFAULT_BRANCH)));
        }
        extras.sort_by(|(a, _), (b, _)| a.cmp(b));
        Value::Dict(extras)
    }
}

/// Keywords that Mercurial fills and Varve cannot: empty like a name that nobody knows, they would
/// give wrong output.
const OF_MERCURIAL: &[&str] = &[
    "activebookmark",
    "bisect",
    "changessincelatesttag",
    "children",
    "currentbookmark",
    "diffstat",
    "file_copies_switch",
    "instabilities",
    "latesttag",
    "latesttagdistance",
    "manifest",
    "namespaces",
    "negrev",
    "obsfate",
    "obsolete",
    "onelinesummary",
    "p1",
    "p2",
    "peerurls",
    "phaseidx",
    "predecessors",
    "reporoot",
    "subrepos",
    "successorssets",
    "succsandmarkers",
    "termwidth",
    "verbosity",
    "whyunstable",
];

impl Keywords for OfChangeset<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        let (subject, changeset) = (self.subject, self.subject.changeset);
        let names = &self.printer.names;
        Ok(Some(match name {
            "rev" => Value::Int(subject.number()),
            "node" => Value::from(subject.node),
            "desc" => text(changeset.description.trim_ascii()),
            "author" | "user" => text(changeset.user),
            "date" => Value::Date(changeset.time, changeset.zone),
            "branch" => text(&changeset.branch()),
            "branches" => {
                let branch = changeset.branch();
                list((branch.as_ref() != DEFAULT_BRANCH).then_some(branch))
            }
            "tags" => list(names.tags(subject.rev)),
            "bookmarks" => list(names.bookmarks(subject.rev)),
            "phase" => {
                let phase = subject.rev.map(|rev| self.printer.view.phases().of(rev));
                text(phase_name(phase.unwrap_or_default()))
            }
            "files" => list(changeset.files()),
            "file_adds" => self.touched(|touched| touched.added)?,
            "file_mods" => self.touched(|touched| touched.modified)?,
            "file_dels" => self.touched(|touched| touched.removed)?,
            "file_copies" => self.copies()?,
            "parents" => self.parents(),
            "p1rev" => Value::from(self.parent(0)),
            "p2rev" => Value::from(self.parent(1)),
            "p1node" => self.node(self.parent(0)),
            "p2node" => self.node(self.parent(1)),
            "extras" => self.extras(),
            "graphnode" => text(self.graph_node()),
            "graphwidth" => Value::Int(subject.drawn as i64),
            _ if OF_MERCURIAL.contains(&name) => {
                return Err(Abort::new(format!(
                    "template keyword '{name}' is not supported"
                )));
            }
            _ => return Ok(None),
        }))
    }
}
