//! Printing changesets: as text for people, or by a template, by all cores if there are many.

pub(crate) mod changed_files;
mod form;
mod graph;
mod inputs;
mod json;
mod keywords;
mod latest;
mod lineage;
mod localized;
mod many;
mod names;
mod obsolete;
mod one_line;
mod show;
mod shown_files;
mod source;
mod styles;
mod subset;
mod text;
mod uncommitted;

use crate::arguments::Matches;
use crate::context::working::new_commit_phase;
use crate::context::{Config, Repo};
use crate::render::diff::{DiffOptions, paint};
use crate::render::formatter::Value;
use crate::render::templates::{Keywords, Template, TemplateData};
use crate::ui::encoding::LocalEncoding;
use crate::ui::environment::is_plain;
use crate::ui::paint::Painter;
use crate::ui::{Abort, Ui, Verbosity, columns};
use changed_files::{ChangedFiles, Copied, copies};
pub(crate) use form::{ChangesetFormat, Lines};
pub(crate) use graph::GraphStyle;
pub(crate) use inputs::PrinterInputs;
use inputs::WorkingCopy;
pub(crate) use names::ChangesetNames;
pub(crate) use show::show;
pub(crate) use shown_files::ShownFiles;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
pub(crate) use text::{first_line, phase_name};
use uncommitted::Uncommitted;
use varve_config::hgrc::Hgrc;
use varve_repo::fileset::FileSource;
use varve_repo::{
    BisectSets, Changeset, Instabilities, Node, Phase, RepoView, Repository, Rev, WORKING_NODE,
};
use varve_revlog::Reader;
use varve_revset::{PeerRepositories, WORKING_COPY, WorkingCopySource};
use varve_workdir::Dirstate;
use varve_workdir::filesets::{FilesetContext, FilesetTarget, TargetFiles};

/// How changesets are to be printed.
#[derive(Default)]
pub(crate) struct PrinterStyle {
    /// Whether copies and renames are shown.
    pub(crate) copies: bool,
    /// Whether the changes of files are shown.
    pub(crate) patch: bool,
    /// Whether is shown how much changed in each file.
    pub(crate) stat: bool,
    /// How changes are shown; needed by both.
    pub(crate) diff: Option<(DiffOptions, ShownFiles)>,
    /// In which form.
    pub(crate) form: ChangesetFormat,
}

/// Digits of a node without `--debug`.
const SHORT: usize = 12;

/// Prints changesets. One printer serves several threads.
pub(crate) struct Printer {
    view: Arc<RepoView>,
    names: ChangesetNames,
    verbosity: Verbosity,
    style: PrinterStyle,
    /// Parents of the working copy.
    working: Vec<Rev>,
    /// The other side of a merge that waits for its conflicts to be resolved.
    merged: Option<Node>,
    /// Columns of the picture of `--stat`.
    width: usize,
    /// The bookmark that moves with the next commit.
    active: Option<Vec<u8>>,
    /// The directory that paths are relative to.
    cwd: PathBuf,
    config: Arc<Hgrc>,
    /// The repositories that queries of templates ask.
    peers: Option<Arc<dyn PeerRepositories>>,
    /// See [`varve_revset::QueryContext::preferred`].
    preferred: Option<Arc<BTreeSet<Rev>>>,
    /// Reads the working copy as a changeset.
    working_source: Option<Arc<dyn WorkingCopySource>>,
    /// The working copy, once something asks for it.
    uncommitted: OnceLock<Uncommitted>,
    /// Evaluates filesets; without it they are refused.
    filesets: Option<Arc<FilesetContext>>,
    /// Instabilities of the changesets.
    unstable: Instabilities,
    /// The user's name, if it is configured.
    user: Option<Vec<u8>>,
    /// How changes are shown that only a template asks for.
    plain_diff: DiffOptions,
    /// The bisection that is under way, once something asks for it.
    bisection: OnceLock<BisectSets>,
    /// Shows labels.
    painter: Painter,
    /// The encoding of texts and names.
    encoding: LocalEncoding,
}

/// One changeset, or the null revision, with its text.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// `None` for the null revision.
    pub(crate) rev: Option<Rev>,
    pub(crate) node: Node,
    /// Both parents, as far as there are any.
    pub(crate) parents: [Option<Rev>; 2],
    /// Its parsed text.
    pub(crate) changeset: &'a Changeset<'a>,
    /// Columns of the picture beside it.
    pub(crate) drawn: usize,
    /// How many are printed before it.
    pub(crate) index: usize,
}

/// The text of the null revision.
const NULL_TEXT: &[u8] = b"0000000000000000000000000000000000000000\n\n0 0\n\n";

impl Printer {
    /// Gets ready to print.
    pub(crate) fn new(
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        style: PrinterStyle,
    ) -> Result<Printer, Abort> {
        repo.warn_of_malformed_bookmarks(ui)?;
        let inputs = PrinterInputs::of(repo, config)?;
        let quiet = ui.verbosity.quiet;
        let encoding = match style.form {
            ChangesetFormat::Json => ui.encoding.in_utf8(),
            _ => ui.encoding,
        };
        let names = if quiet && !matches!(style.form, ChangesetFormat::Filled(_)) {
            ChangesetNames::default()
        } else {
            ChangesetNames::read(&inputs.view, encoding)?
        };
        let mut printer = Printer::nameless(inputs, ui, style)?;
        (printer.names, printer.encoding) = (names, encoding);
        Ok(printer)
    }

    /// Gets ready to fill templates about items that are no changesets.
    pub(crate) fn of_inputs(inputs: PrinterInputs, ui: &mut Ui) -> Result<Printer, Abort> {
        let names = ChangesetNames::read(&inputs.view, ui.encoding)?;
        let printer = Printer::nameless(inputs, ui, PrinterStyle::default())?;
        Ok(Printer { names, ..printer })
    }

    /// Shows no tags and bookmarks yet.
    fn nameless(inputs: PrinterInputs, ui: &mut Ui, style: PrinterStyle) -> Result<Printer, Abort> {
        let config = &inputs.config;
        let printer = Printer::of_view(inputs.view, inputs.working_copy, ui, config, style)?;
        Ok(Printer {
            peers: inputs.peers,
            preferred: inputs.preferred,
            working_source: inputs.working_source,
            filesets: Some(inputs.filesets),
            ..printer
        })
    }

    /// Gets ready to print changesets during a merge, for which the working copy counts as it was before.
    pub(crate) fn of_repository(
        repository: &Repository,
        ui: &mut Ui,
        config: &Config,
        style: PrinterStyle,
    ) -> Result<Printer, Abort> {
        let view = repository.view()?;
        let parents = Dirstate::read(repository)?.parents();
        let known = parents.iter().filter_map(|node| view.changelog().rev(node));
        let working_copy = WorkingCopy {
            parents: known.collect(),
            merged: varve_workdir::conflicting_side(repository)?,
            active: varve_workdir::active_bookmark(repository)?,
            cwd: repository.root().to_owned(),
        };
        let names = ChangesetNames::read(&view, ui.encoding)?;
        let mut printer = Printer::of_view(view, working_copy, ui, config, style)?;
        printer.names = names;
        Ok(printer)
    }

    /// Shows no tags and bookmarks yet.
    fn of_view(
        view: Arc<RepoView>,
        working_copy: WorkingCopy,
        ui: &mut Ui,
        config: &Config,
        style: PrinterStyle,
    ) -> Result<Printer, Abort> {
        Ok(Printer {
            working: working_copy.parents,
            merged: working_copy.merged,
            active: working_copy.active,
            cwd: working_copy.cwd,
            config: config.values(),
            peers: None,
            preferred: None,
            working_source: None,
            uncommitted: OnceLock::new(),
            filesets: None,
            unstable: view.instabilities()?,
            user: ui.known_user(),
            plain_diff: DiffOptions::new(ui, config, &Matches::default())?,
            view,
            names: ChangesetNames::default(),
            verbosity: ui.verbosity,
            style,
            width: columns::of_terminal(),
            bisection: OnceLock::new(),
            painter: ui.painter.clone(),
            encoding: ui.encoding,
        })
    }

    /// The word for a changeset in the bisection that is under way; empty without one.
    fn bisect_label(&self, subject: &Subject<'_>) -> Result<&'static str, Abort> {
        let sets = match self.bisection.get() {
            Some(sets) => sets,
            None => {
                let sets = BisectSets::of(&self.view)?;
                self.bisection.get_or_init(|| sets)
            }
        };
        let stored = subject.rev.filter(|rev| *rev != WORKING_COPY);
        Ok(stored.and_then(|rev| sets.label(rev)).unwrap_or(""))
    }

    /// Value of a keyword of a template for one changeset; `None` for an unknown keyword.
    pub(crate) fn keyword(&self, rev: Option<Rev>, name: &str) -> Result<Option<Value>, Abort> {
        let mut value = None;
        self.at(rev, &mut |keywords| {
            value = keywords.value(name)?;
            Ok(())
        })?;
        Ok(value)
    }

    /// Calls `look` with the keywords of one changeset.
    pub(crate) fn at(
        &self,
        rev: Option<Rev>,
        look: &mut dyn FnMut(&dyn Keywords) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let mut reader = self.view.changelog().reader();
        self.with_subject(rev, &mut reader, |subject| {
            look(&keywords::OfChangeset::new(self, subject))
        })
    }

    /// The files that filesets are evaluated over.
    fn files_at(&self, target: FilesetTarget) -> Option<Arc<dyn FileSource>> {
        let context = self.filesets.clone()?;
        Some(Arc::new(TargetFiles::new(context, target)))
    }

    /// The text of one changeset.
    pub(crate) fn text_of(&self, rev: Rev) -> Result<Vec<u8>, Abort> {
        let mut out = Vec::new();
        let mut reader = self.view.changelog().reader();
        self.render(Some(rev), 0, &mut reader, &mut out)?;
        Ok(out)
    }

    /// The text of the changeset with this node; one that is not there is the null revision.
    pub(crate) fn text_of_node(&self, node: &Node) -> Result<Vec<u8>, Abort> {
        let mut out = Vec::new();
        let mut reader = self.view.changelog().reader();
        let rev = self.view.changelog().rev(node);
        self.render(rev, 0, &mut reader, &mut out)?;
        Ok(out)
    }

    /// Appends the text of one changeset.
    fn render(
        &self,
        rev: Option<Rev>,
        index: usize,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        self.with_subject(rev, reader, |subject| {
            subject.index = index;
            self.render_subject(subject, out)
        })
    }

    /// Reads a changeset and gives it to `render`.
    fn with_subject(
        &self,
        rev: Option<Rev>,
        reader: &mut Reader<'_>,
        render: impl FnOnce(&mut Subject<'_>) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let uncommitted;
        let (node, text) = match rev {
            None => (Node::NULL, NULL_TEXT),
            Some(WORKING_COPY) => {
                uncommitted = self.uncommitted()?;
                (WORKING_NODE, &uncommitted.text[..])
            }
            Some(rev) => (self.view.changelog().node(rev), reader.text(rev)?),
        };
        let text = &*localized::localized(text, self.encoding);
        let changeset = match rev {
            None | Some(WORKING_COPY) => {
                Changeset::parse(text).map_err(|reason| Abort::new(reason.to_owned()))?
            }
            Some(rev) => self.view.parse_changeset(rev, text)?,
        };
        render(&mut Subject {
            rev,
            node,
            parents: self.parents_of(rev),
            changeset: &changeset,
            drawn: 0,
            index: 0,
        })
    }

    /// Both parents of a changeset or of the working copy.
    fn parents_of(&self, rev: Option<Rev>) -> [Option<Rev>; 2] {
        match rev {
            None => [None; 2],
            Some(WORKING_COPY) => [self.working.first().copied(), self.working.get(1).copied()],
            Some(rev) => self.view.changelog().parents(rev),
        }
    }

    /// The phase of a changeset; of the working copy, that of the next commit by its parents.
    fn phase_of(&self, rev: Option<Rev>) -> Phase {
        let phases = self.view.phases();
        match rev {
            None => Phase::default(),
            Some(WORKING_COPY) => {
                let newest = self.working.iter().map(|parent| phases.of(*parent)).max();
                newest.unwrap_or_default().max(self.new_commit_phase())
            }
            Some(rev) => phases.of(rev),
        }
    }

    /// Phase of a commit over public changesets. `commit` refuses a wrong value of the setting.
    fn new_commit_phase(&self) -> Phase {
        new_commit_phase(&self.config).unwrap_or(Phase::Draft)
    }

    /// The changes of a changeset or of the working copy to files.
    fn changed_files(
        &self,
        rev: Option<Rev>,
        changeset: &Changeset<'_>,
    ) -> Result<ChangedFiles, Abort> {
        Ok(match rev {
            None => ChangedFiles::default(),
            Some(WORKING_COPY) => {
                let files = &self.uncommitted()?.files;
                ChangedFiles {
                    modified: files.modified.clone(),
                    added: files.added.clone(),
                    removed: files.removed.clone(),
                }
            }
            Some(rev) => ChangedFiles::of(&self.view, rev, changeset)?,
        })
    }

    /// The copies and renames in a changeset or in the working copy.
    fn copies_of(&self, rev: Option<Rev>, changeset: &Changeset<'_>) -> Result<Vec<Copied>, Abort> {
        Ok(match rev {
            None => Vec::new(),
            Some(WORKING_COPY) => self.uncommitted()?.files.copies.clone(),
            Some(rev) => copies(&self.view, rev, changeset)?,
        })
    }

    fn render_subject(&self, subject: &Subject<'_>, out: &mut Vec<u8>) -> Result<(), Abort> {
        match &self.style.form {
            ChangesetFormat::Lines(lines) => text::render(self, *lines, subject, out)?,
            ChangesetFormat::Filled(filled) => {
                if let Some(separator) = filled.separator.as_ref().filter(|_| subject.index > 0) {
                    self.fill(separator, subject, out)?;
                }
                self.fill(&filled.body, subject, out)?;
            }
            // Printed item by item elsewhere.
            ChangesetFormat::Json => {}
        }
        self.push_changes(subject, out)
    }

    fn fill(
        &self,
        template: &Template,
        subject: &Subject<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        template.fill(&keywords::OfChangeset::new(self, subject), out)
    }

    /// Appends a template filled for one changeset; keywords of `beside` come first.
    pub(crate) fn fill_for(
        &self,
        rev: Option<Rev>,
        template: &Template,
        beside: &dyn Keywords,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        let mut reader = self.view.changelog().reader();
        self.with_subject(rev, &mut reader, |subject| {
            let changeset = keywords::OfChangeset::new(self, subject);
            template.fill(&Beside(beside, &changeset), out)
        })
    }

    /// Digits of nodes.
    fn digits(&self) -> usize {
        if self.verbosity.debug {
            2 * Node::LEN
        } else {
            SHORT
        }
    }

    /// Appends the output of `-p` and `--stat`.
    fn push_changes(&self, subject: &Subject<'_>, out: &mut Vec<u8>) -> Result<(), Abort> {
        let Some((options, files)) = &self.style.diff else {
            return Ok(());
        };
        let matcher = &*files.of(subject.rev);
        options.check_parents(&self.view, subject.rev)?;
        let (comparison, changes) = self.compared(subject.rev, options, self.digits(), matcher)?;
        let comparison = comparison.within(files.lines_of(subject.rev));
        if self.style.stat {
            // For scripts the picture beside it does not count.
            let drawn = if is_plain(None) { 0 } else { subject.drawn };
            let width = self.width.saturating_sub(drawn);
            comparison.push_stat(&self.painter, &changes, width, out)?;
        }
        if self.style.stat && self.style.patch {
            out.push(b'\n');
        }
        if self.style.patch {
            let mut text = Vec::new();
            comparison.push_all(&changes, &mut text)?;
            out.extend(paint::painted(&self.painter, text, options.by_words));
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Keywords before those of a changeset.
struct Beside<'a>(&'a dyn Keywords, &'a keywords::OfChangeset<'a>);

impl Keywords for Beside<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        match self.0.value(name)? {
            Some(value) => Ok(Some(value)),
            None => self.1.value(name),
        }
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        self.1.source()
    }
}

impl Subject<'_> {
    /// -1 for the null revision.
    pub(crate) fn number(&self) -> i64 {
        self.rev.map_or(-1, |rev| i64::from(rev.0))
    }
}

/// Appends `12:0123456789ab`, with `digits` of the node.
pub(crate) fn push_rev(number: i64, node: &Node, digits: usize, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{number}:");
    out.extend_from_slice(&node.to_hex()[..digits]);
}
