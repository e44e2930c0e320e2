//! Values of the keywords of a template for a changeset.

use super::changed_files::ChangedFiles;
use super::text::phase_name;
use super::{Printer, Subject};
use crate::render::formatter::{Row, Value};
use crate::render::templates::{Keywords, TemplateData};
use crate::ui::{Abort, columns, environment};
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_repo::{DEFAULT_BRANCH, Node, Rev, WORKING_NODE};
use varve_revset::{PeerName, WORKING_COPY};

/// One changeset as a template sees it.
pub(super) struct OfChangeset<'a> {
    pub(super) printer: &'a Printer,
    pub(super) subject: &'a Subject<'a>,
    /// The changes to files, once a keyword needs them.
    changed_files: OnceCell<ChangedFiles>,
}

impl<'a> OfChangeset<'a> {
    pub(super) fn new(printer: &'a Printer, subject: &'a Subject<'a>) -> OfChangeset<'a> {
        OfChangeset {
            printer,
            subject,
            changed_files: OnceCell::new(),
        }
    }
}

fn text(bytes: &[u8]) -> Value {
    Value::Text(bytes.to_vec())
}

fn list<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Value {
    Value::List(texts.into_iter().map(|one| text(one.as_ref())).collect())
}

fn part(name: &str, value: impl Into<Value>) -> (Vec<u8>, Value) {
    (name.as_bytes().to_vec(), value.into())
}

/// Digits of a node that is not shown in full.
const SHORT: usize = 12;

impl OfChangeset<'_> {
    fn parent(&self, which: usize) -> Option<Rev> {
        self.subject.parents[which]
    }

    fn node(&self, rev: Option<Rev>) -> Node {
        self.printer.view.changelog().node_or_null(rev)
    }

    /// `12:0123456789ab`.
    fn shown(&self, rev: Option<Rev>, digits: usize) -> Vec<u8> {
        let mut shown = Vec::new();
        let number = rev.map_or(-1, |rev| i64::from(rev.0));
        super::push_rev(number, &self.node(rev), digits, &mut shown);
        shown
    }

    pub(super) fn digits(&self) -> usize {
        if self.printer.verbosity.debug {
            2 * Node::LEN
        } else {
            SHORT
        }
    }

    /// Parents as they are shown without a template: none if the only one comes right before.
    fn parents(&self) -> Value {
        let [first, second] = self.subject.parents;
        let number = |parent: Option<Rev>| parent.map_or(-1, |rev| i64::from(rev.0));
        let shown: &[Option<Rev>] = match second {
            Some(_) => &[first, second],
            None if self.printer.verbosity.debug => &[first, second],
            None if number(first) < self.subject.number() - 1 => &[first],
            None => &[],
        };
        let one = |parent: &Option<Rev>| {
            let mut shown = self.shown(*parent, self.digits());
            shown.push(b' ');
            Value::Changeset(*parent, shown)
        };
        Value::List(shown.iter().map(one).collect())
    }

    fn children(&self) -> Value {
        let view = &self.printer.view;
        let changelog = view.changelog();
        let own = self.subject.rev;
        let later = own.map_or(0, |rev| rev.index() + 1)..changelog.len();
        let later = later.map(|index| Rev(index as u32));
        let children = later.filter(|rev| {
            let [first, second] = changelog.parents(*rev);
            view.is_visible(*rev) && (first == own || (second.is_some() && second == own))
        });
        list(children.map(|child| self.shown(Some(child), SHORT)))
    }

    fn changed_files(&self) -> Result<&ChangedFiles, Abort> {
        if let Some(known) = self.changed_files.get() {
            return Ok(known);
        }
        let (rev, changeset) = (self.subject.rev, self.subject.changeset);
        let changed_files = self.printer.changed_files(rev, changeset)?;
        Ok(self.changed_files.get_or_init(|| changed_files))
    }

    /// `status` or `size` of a file; `None` for a keyword that is not about files.
    pub(super) fn about_file(&self, path: &[u8], name: &str) -> Result<Option<Value>, Abort> {
        let view = &self.printer.view;
        let is_working = self.subject.rev == Some(WORKING_COPY);
        let entry = || -> Result<_, Abort> {
            let manifest = view.manifest_text(self.subject.rev)?;
            let entry = view.find_in_manifest(&manifest, path)?;
            Ok(entry.map(|entry| entry.node))
        };
        let is_there = || -> Result<_, Abort> {
            if !is_working {
                return Ok(entry()?.is_some());
            }
            let tracked = &self.printer.uncommitted()?.files.tracked;
            Ok(tracked.binary_search_by(|file| file[..].cmp(path)).is_ok())
        };
        Ok(Some(match name {
            "status" => {
                let changed = self.changed_files()?;
                let is_in = |files: &[Vec<u8>]| files.iter().any(|file| file == path);
                match path {
                    _ if is_in(&changed.modified) => text(b"M"),
                    _ if is_in(&changed.added) => text(b"A"),
                    _ if is_in(&changed.removed) => text(b"R"),
                    _ if is_working && is_in(&self.printer.uncommitted()?.files.deleted) => {
                        text(b"!")
                    }
                    _ if is_there()? => text(b"C"),
                    _ => Value::Null,
                }
            }
            "size" if is_working => {
                let file = view.root().join(OsStr::from_bytes(path));
                let found = file.symlink_metadata();
                Value::Int(found.map_err(|error| Abort::file(&error, file))?.len() as i64)
            }
            "size" => match entry()? {
                Some(node) => Value::Int(view.file_content(path, &node)?.len() as i64),
                None => Value::Null,
            },
            _ => return Ok(None),
        }))
    }

    /// Configured names of other repositories.
    fn peer_urls(&self) -> Result<Value, Abort> {
        let peers = self.printer.peers.as_deref();
        let names = peers.map_or_else(|| Ok(Vec::new()), |peers| peers.names())?;
        let one = |peer: PeerName| {
            let options = peer.options.iter();
            let options = options.map(|(option, value)| part(option, value));
            let urls: Vec<_> = std::iter::once(part("url", &peer.url))
                .chain(options)
                .collect();
            let by_option = urls.iter().map(|(option, value)| Row {
                name: option.clone(),
                shown: option.clone(),
                value: value.clone(),
                parts: Vec::new(),
            });
            let by_option = Value::Table(by_option.collect(), "");
            Row {
                shown: [&peer.name[..], b"=", &peer.url].concat(),
                value: Value::Shown(peer.url, urls.clone()),
                parts: [
                    vec![part("name", &peer.name), part("urls", by_option)],
                    urls,
                ]
                .concat(),
                name: peer.name,
            }
        };
        Ok(Value::Table(names.into_iter().map(one).collect(), " "))
    }

    fn copies(&self) -> Result<Value, Abort> {
        let (rev, changeset) = (self.subject.rev, self.subject.changeset);
        let copies = self.printer.copies_of(rev, changeset)?;
        let one = |(name, source): (Vec<u8>, Vec<u8>)| Row {
            shown: [&name[..], b" (", &source, b")"].concat(),
            parts: vec![
                part("name", &name),
                part("path", &name),
                part("source", &source),
            ],
            value: Value::Text(source),
            name,
        };
        Ok(Value::Table(copies.into_iter().map(one).collect(), ""))
    }

    fn manifest(&self) -> Result<Value, Abort> {
        let node = &self.subject.changeset.manifest;
        let rev = match *node {
            Node::NULL => None,
            WORKING_NODE => Some(WORKING_COPY),
            _ => self.printer.view.manifest()?.rev(node),
        };
        let number = rev.map_or(-1, |rev| i64::from(rev.0));
        let mut shown = Vec::new();
        super::push_rev(number, node, self.digits(), &mut shown);
        let parts = vec![part("rev", number), part("node", *node)];
        Ok(Value::Shown(shown, parts))
    }

    /// The letter that stands for the changeset in a picture.
    fn graph_node(&self) -> &'static [u8] {
        let (printer, subject) = (self.printer, self.subject);
        match subject.rev {
            None if printer.working.is_empty() => b"@",
            Some(rev) if printer.working.contains(&rev) => b"@",
            _ if printer.merged == Some(subject.node) => b"%",
            _ if printer.is_obsolete(subject) => b"x",
            _ if !printer.instabilities(subject).is_empty() => b"*",
            _ if subject.changeset.closes_branch() => b"_",
            _ => b"o",
        }
    }

    fn extras(&self) -> Value {
        let extras = self.subject.changeset.extras();
        let mut extras: Vec<(Vec<u8>, Vec<u8>)> = extras
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        if !extras.iter().any(|(key, _)| key == b"branch") {
            extras.push((b"branch".to_vec(), DEFAULT_BRANCH.to_vec()));
        }
        extras.sort_by(|(a, _), (b, _)| a.cmp(b));
        let one = |(name, value): (Vec<u8>, Vec<u8>)| Row {
            shown: [&name[..], b"=", &value].concat(),
            parts: vec![part("key", &name), part("value", &value)],
            value: Value::Text(value),
            name,
        };
        Value::Table(extras.into_iter().map(one).collect(), "")
    }

    /// The variables that `experimental.exportableenviron` lets templates see.
    fn environment(&self) -> Value {
        let mut names = self
            .printer
            .config
            .list("experimental", "exportableenviron");
        names.sort();
        names.dedup();
        let one = |name: Vec<u8>| {
            let value = environment::variable(std::str::from_utf8(&name).ok()?)?;
            Some(Row {
                shown: [&name[..], b"=", &value].concat(),
                parts: vec![part("key", &name), part("value", &value)],
                value: Value::Text(value),
                name,
            })
        };
        Value::Table(names.into_iter().filter_map(one).collect(), "")
    }

    fn bookmarks(&self) -> Value {
        let active = self.printer.active.as_deref();
        let one = |name: &Vec<u8>| {
            let active = active.map_or(Value::Null, Value::from);
            let parts = vec![
                part("bookmark", name),
                part("active", active.clone()),
                part("current", active),
                part("item", name),
            ];
            Value::Shown(name.clone(), parts)
        };
        Value::List(self.bookmark_names().iter().map(one).collect())
    }

    /// Of the working copy those of its parents.
    fn bookmark_names(&self) -> Vec<Vec<u8>> {
        let names = &self.printer.names;
        if self.subject.rev != Some(WORKING_COPY) {
            return names.bookmarks(self.subject.rev).to_vec();
        }
        let parents = self.subject.parents.into_iter().flatten();
        parents
            .flat_map(|parent| names.bookmarks(parent).to_vec())
            .collect()
    }

    fn tag_names(&self) -> &[Vec<u8>] {
        self.printer.names.tags(self.subject.rev)
    }

    fn active_bookmark(&self) -> Value {
        let active = self.printer.active.as_ref();
        let active = active.filter(|active| self.bookmark_names().contains(active));
        active.map_or_else(|| text(b""), |active| text(active))
    }

    fn namespaces(&self) -> Value {
        let branch = vec![self.subject.changeset.branch().into_owned()];
        let bookmarks = self.bookmark_names();
        let spaces = [
            ("bookmarks", "bookmark", &bookmarks[..]),
            ("tags", "tag", self.tag_names()),
            ("branches", "branch", &branch),
        ];
        let named = |kind: &str, names: &[Vec<u8>]| {
            let one = |name: &Vec<u8>| {
                let parts = vec![part("name", name), part(kind, name), part("item", name)];
                Value::Shown(name.clone(), parts)
            };
            Value::List(names.iter().map(one).collect())
        };
        let one = |(space, colour, names): (&str, &str, &[Vec<u8>])| Row {
            name: space.as_bytes().to_vec(),
            shown: space.as_bytes().to_vec(),
            value: named(colour, names),
            parts: vec![
                part("namespace", space),
                part("names", named(colour, names)),
                part("colorname", colour),
                part("builtin", true),
            ],
        };
        Value::Table(spaces.into_iter().map(one).collect(), " ")
    }

    /// Keywords about tags that other changesets have.
    fn of_latest_tag(&self, name: &str) -> Result<Value, Abort> {
        let latest = self.latest_tag(None)?;
        let Value::List(tags) = &latest else {
            return Ok(latest);
        };
        let key = match name {
            "latesttag" => return Ok(latest),
            "latesttagdistance" => "distance",
            _ => "changes",
        };
        let Some(Value::Shown(_, parts)) = tags.first() else {
            return Ok(Value::Null);
        };
        let found = parts.iter().find(|(known, _)| known == key.as_bytes());
        Ok(found.map_or(Value::Null, |(_, value)| value.clone()))
    }

    /// A changeset that need not be visible, as the short form of its node.
    fn short(&self, node: &Node) -> Value {
        let rev = self.printer.view.changelog().rev(node);
        Value::Changeset(rev, self.shown(rev, SHORT))
    }

    /// The closest visible changesets that this one replaces.
    fn predecessors(&self) -> Result<Value, Abort> {
        let nodes = self.printer.view.closest_predecessors(&self.subject.node)?;
        Ok(Value::List(
            nodes.iter().map(|node| self.short(node)).collect(),
        ))
    }

    /// Alternatives for an obsolete changeset.
    fn successor_sets(&self) -> Result<Value, Abort> {
        if !self.printer.is_obsolete(self.subject) {
            return Ok(text(b""));
        }
        let sets = self.printer.view.successor_sets(&self.subject.node, true)?;
        let one = |set: &Vec<Node>| {
            let members: Vec<Value> = set.iter().map(|node| self.short(node)).collect();
            let shown = set.iter().map(|node| {
                let rev = self.printer.view.changelog().rev(node);
                self.shown(rev, SHORT)
            });
            let shown: Vec<Vec<u8>> = shown.collect();
            Row {
                name: Vec::new(),
                shown: shown.join(&b' '),
                value: Value::List(members.clone()),
                parts: vec![part("successorset", Value::List(members))],
            }
        };
        Ok(Value::Table(sets.iter().map(one).collect(), "; "))
    }

    /// Keywords about instabilities: empty if nothing was rewritten.
    fn subrepos(&self) -> Result<Value, Abort> {
        let changed = self.subject.changeset.files();
        let mut changed = changed.filter(|file| file.starts_with(b".hgsub"));
        match changed.next() {
            Some(_) => Err(unsupported("subrepos")),
            None => Ok(Value::List(Vec::new())),
        }
    }

    fn rare(&self, name: &str) -> Result<Option<Value>, Abort> {
        let (printer, subject) = (self.printer, self.subject);
        Ok(Some(match name {
            "children" => self.children(),
            "manifest" => self.manifest()?,
            "namespaces" => self.namespaces(),
            "latesttag" | "latesttagdistance" | "changessincelatesttag" => {
                self.of_latest_tag(name)?
            }
            "diffstat" => self.diffstat()?,
            "envvars" => self.environment(),
            "negrev" if [None, Some(WORKING_COPY)].contains(&subject.rev) => Value::Null,
            "negrev" => Value::Int(subject.number() - printer.view.changelog().len() as i64),
            "phaseidx" => Value::Int(i64::from(printer.phase_of(subject.rev).number())),
            "reporoot" => text(printer.view.root().as_os_str().as_bytes()),
            "termwidth" => Value::Int(columns::of_terminal() as i64),
            "verbosity" => Value::from(self.printer.verbosity.name()),
            "activebookmark" | "currentbookmark" => self.active_bookmark(),
            "file_copies_switch" if printer.style.copies => self.copies()?,
            "file_copies_switch" => Value::Table(Vec::new(), ""),
            "closesbranch" => Value::from(match subject.changeset.closes_branch() {
                true => "true",
                false => "false",
            }),
            "graphnode" => text(self.graph_node()),
            "graphwidth" => Value::Int(subject.drawn as i64),
            "obsolete" if printer.is_obsolete(subject) => text(b"obsolete"),
            "obsolete" => text(b""),
            "instabilities" => {
                let names = printer.instabilities(subject).into_iter();
                let one = |name: &str| {
                    let parts = vec![part("instability", text(name.as_bytes()))];
                    Value::Shown(name.as_bytes().to_vec(), parts)
                };
                Value::List(names.map(one).collect())
            }
            "bisect" => text(printer.bisect_label(subject)?.as_bytes()),
            "whyunstable" => printer.why_unstable(subject)?,
            "obsfate" => list(printer.fates(subject)?),
            "predecessors" => self.predecessors()?,
            "successorssets" => self.successor_sets()?,
            "subrepos" => self.subrepos()?,
            "peerurls" => self.peer_urls()?,
            "index" => Value::Int(subject.index as i64),
            "onelinesummary" => text(&self.one_line_summary()?),
            _ if OF_MERCURIAL.contains(&name) => return Err(unsupported(name)),
            _ => return Ok(None),
        }))
    }
}

/// Keywords that Mercurial fills and Varve cannot: empty like an unknown name, they would
/// give wrong output.
const OF_MERCURIAL: &[&str] = &["succsandmarkers"];

fn unsupported(name: &str) -> Abort {
    Abort::input(format!("template keyword '{name}' is not supported"))
}

impl Keywords for OfChangeset<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        let (subject, changeset) = (self.subject, self.subject.changeset);
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
            "tags" => list(self.tag_names()),
            "bookmarks" => self.bookmarks(),
            "phase" => text(phase_name(self.printer.phase_of(subject.rev))),
            "files" => list(changeset.files()),
            "file_adds" => list(&self.changed_files()?.added),
            "file_mods" => list(&self.changed_files()?.modified),
            "file_dels" => list(&self.changed_files()?.removed),
            "file_copies" => self.copies()?,
            "parents" => self.parents(),
            "p1" => Value::Changeset(self.parent(0), self.shown(self.parent(0), self.digits())),
            "p2" => Value::Changeset(self.parent(1), self.shown(self.parent(1), self.digits())),
            "p1rev" => Value::from(self.parent(0)),
            "p2rev" => Value::from(self.parent(1)),
            "p1node" => Value::from(self.node(self.parent(0))),
            "p2node" => Value::from(self.node(self.parent(1))),
            "extras" => self.extras(),
            _ => return self.rare(name),
        }))
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        Some(self)
    }
}
