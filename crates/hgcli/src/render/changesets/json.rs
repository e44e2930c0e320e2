//! Changesets as JSON.

use super::{Printer, phase_name};
use crate::arguments::Matches;
use crate::context::Config;
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::ui::{Abort, Ui};
use varve_repo::{Changeset, DEFAULT_BRANCH, Node, Rev};

impl Printer {
    /// Prints changesets in this order.
    pub(super) fn print_json(
        &self,
        ui: &mut Ui,
        config: &Config,
        matches: &Matches,
        revs: &[Option<Rev>],
    ) -> Result<(), Abort> {
        let mut reader = self.view.changelog().reader();
        let mut out = Formatter::new(ui, config, matches, "log")?;
        for rev in revs {
            out.item(ui)?;
            self.with_subject(*rev, &mut reader, |subject| {
                let number = subject.number();
                out.data("rev", number);
                out.data("node", subject.node);
                if self.verbosity.quiet {
                    return Ok(());
                }
                self.push_usual(subject.rev, subject.changeset, &mut out);
                if self.verbosity.debug {
                    self.push_details(subject.rev, subject.changeset, &mut out)?;
                }
                if self.style.copies && self.verbosity.verbose && !self.verbosity.debug {
                    self.push_copies(subject.rev, subject.changeset, &mut out)?;
                }
                self.push_differences(subject.rev, &mut out)
            })?;
        }
        out.end(ui)
    }

    fn push_usual(&self, rev: Option<Rev>, changeset: &Changeset<'_>, out: &mut Formatter) {
        out.data("branch", changeset.branch().into_owned());
        out.data("user", changeset.user);
        out.data("date", Value::Date(changeset.time, changeset.zone));
        out.data("desc", changeset.description);
        if self.verbosity.verbose && !self.verbosity.debug {
            out.data("files", changeset.files().collect::<Vec<_>>());
        }
        out.data("phase", phase_name(self.phase_of(rev)));
        out.data("bookmarks", self.names.bookmarks(rev).to_vec());
        out.data("tags", self.names.tags(rev).to_vec());
        let changelog = self.view.changelog();
        let [first, second] = self.parents_of(rev);
        let parents = std::iter::once(first).chain(second.map(Some));
        let parents = parents.map(|parent| changelog.node_or_null(parent));
        out.data("parents", parents.collect::<Vec<Node>>());
    }

    fn push_details(
        &self,
        rev: Option<Rev>,
        changeset: &Changeset<'_>,
        out: &mut Formatter,
    ) -> Result<(), Abort> {
        out.data("manifest", changeset.manifest);
        let mut extras: Vec<(Vec<u8>, Value)> = changeset
            .extras()
            .map(|(key, value)| (key.into_owned(), Value::Text(value.into_owned())))
            .collect();
        if !extras.iter().any(|(key, _)| key == b"branch") {
            extras.push((b"branch".to_vec(), Value::from(DEFAULT_BRANCH)));
        }
        extras.sort_by(|(a, _), (b, _)| a.cmp(b));
        out.data("extra", Value::Dict(extras));
        let changed_files = self.changed_files(rev, changeset)?;
        out.data("modified", changed_files.modified);
        out.data("added", changed_files.added);
        out.data("removed", changed_files.removed);
        Ok(())
    }

    fn push_copies(
        &self,
        rev: Option<Rev>,
        changeset: &Changeset<'_>,
        out: &mut Formatter,
    ) -> Result<(), Abort> {
        let copies = self.copies_of(rev, changeset)?;
        if !copies.is_empty() {
            let one = |(name, source): (Vec<u8>, Vec<u8>)| (name, Value::Text(source));
            out.data("copies", Value::Dict(copies.into_iter().map(one).collect()));
        }
        Ok(())
    }

    fn push_differences(&self, rev: Option<Rev>, out: &mut Formatter) -> Result<(), Abort> {
        let Some((options, files)) = &self.style.diff else {
            return Ok(());
        };
        let matcher = &*files.of(rev);
        options.check_parents(&self.view, rev)?;
        let (comparison, changes) = self.compared(rev, options, self.digits(), matcher)?;
        let comparison = comparison.within(files.lines_of(rev));
        if self.style.stat {
            let part = |name: &str, value: Value| (name.as_bytes().to_vec(), value);
            let stats = comparison.stats(&changes)?.into_iter().map(|stat| {
                Value::Dict(vec![
                    part("additions", Value::Int(stat.added as i64)),
                    part("binary", Value::Bool(stat.binary)),
                    part("name", Value::Text(stat.path)),
                    part("removals", Value::Int(stat.removed as i64)),
                ])
            });
            out.data("diffstat", Value::List(stats.collect()));
        }
        if self.style.patch {
            let mut text = Vec::new();
            comparison.push_all(&changes, &mut text)?;
            out.data("diff", text);
        }
        Ok(())
    }
}
