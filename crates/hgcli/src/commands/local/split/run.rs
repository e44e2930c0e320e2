//! The new changesets one after another, and the end of the old one.

use crate::arguments::Matches;
use crate::commands::local::commit::interactive::ChosenChanges;
use crate::commands::local::commit::{self, before, interactive, metadata};
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd};
use crate::commands::local::{rebase, update};
use crate::context::{Config, Repo};
use crate::render::changesets::ChangesetNames;
use crate::ui::{Abort, Ui, short_hex};
use varve_lang::patterns::Matcher;
use varve_repo::{Node, Repository, Rev};
use varve_workdir::{
    ChangesetMetadata, CommitBase, CommitMetadata, Dirstate, LocalChanges, Status,
    keep_working_files, message, return_to_parent,
};

pub(super) struct SplitRun<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    matches: &'a Matches,
    repository: &'a Repository,
    rev: Rev,
    node: Node,
    old: ChangesetMetadata,
    /// `--date`.
    date: Option<(i64, i32)>,
    /// The parent of the working copy before.
    original: Node,
    /// The bookmark that was active.
    active: Option<Vec<u8>>,
    /// The new changesets, oldest first.
    new: Vec<Node>,
    /// Those of them that were not there before.
    made: Vec<Node>,
    /// Names of changesets, once they were needed.
    names: Option<ChangesetNames>,
}

impl<'a> SplitRun<'a> {
    pub(super) fn new(
        (repo, ui, config): (&'a mut Repo, &'a mut Ui, &'a Config),
        matches: &'a Matches,
        repository: &'a Repository,
        (rev, date): (Rev, Option<(i64, i32)>),
    ) -> Result<SplitRun<'a>, Abort> {
        let view = repo.view()?;
        Ok(SplitRun {
            node: view.changelog().node(rev),
            old: ChangesetMetadata::read(&view, rev)?,
            original: Dirstate::read(repository)?.parents()[0],
            active: varve_workdir::active_bookmark(repository)?,
            new: Vec::new(),
            made: Vec::new(),
            names: None,
            repo,
            ui,
            config,
            matches,
            repository,
            rev,
            date,
        })
    }

    /// Makes the new changesets and ends the old one; takes all back if the user gives up.
    pub(super) fn carry_out(&mut self, rebases: bool) -> Result<u8, Abort> {
        let is_elsewhere = self.original != self.node;
        if is_elsewhere {
            varve_workdir::set_active_bookmark(self.repository, None)?;
            self.go_to(self.node)?;
        }
        if let Err(error) = self.divide() {
            self.take_back()?;
            return Err(error);
        }
        if is_elsewhere {
            self.go_to(self.original)?;
            self.activate()?;
        }
        self.finish(rebases)
    }

    /// Gives the working copy the files of a changeset.
    fn go_to(&mut self, node: Node) -> Result<(), Abort> {
        let target = self.repo.view()?.changelog().rev(&node);
        let whom = (&mut *self.repo, &mut *self.ui);
        let (repo, ui) = whom;
        let local = LocalChanges::Discard;
        update::go(
            repo,
            ui,
            self.config,
            self.matches,
            self.repository,
            target,
            local,
        )?;
        Ok(())
    }

    fn activate(&mut self) -> Result<(), Abort> {
        if let Some(active) = &self.active {
            varve_workdir::set_active_bookmark(self.repository, Some(active))?;
        }
        Ok(())
    }

    /// Asks and commits until the working copy has no change left.
    fn divide(&mut self) -> Result<(), Abort> {
        let view = self.repo.view()?;
        let mut dirstate = Dirstate::read(self.repository)?;
        return_to_parent(&view, &mut dirstate, self.rev)?;
        dirstate.write(self.repository)?;
        let everything = Matcher::everything();
        loop {
            let mut dirstate = Dirstate::read(self.repository)?;
            let (ui, repository) = (&mut *self.ui, self.repository);
            let mut status = commit::working_changes(ui, repository, &everything, &mut dirstate)?;
            if status.is_unchanged() {
                return Ok(());
            }
            let view = self.repo.view()?;
            let whom = (ui, self.config, self.matches);
            let place = (repository, &*view);
            let chosen = interactive::choose_changes(whom, place, &dirstate, &everything)?;
            if let Some(chosen) = chosen {
                chosen.files.restrict(&mut status);
                self.commit(&mut dirstate, &status, chosen)?;
            }
        }
    }

    fn commit(
        &mut self,
        dirstate: &mut Dirstate,
        status: &Status,
        chosen: ChosenChanges,
    ) -> Result<(), Abort> {
        let view = self.repo.view()?;
        let base = CommitBase::read(self.repository, view.clone(), dirstate)?;
        let user = metadata::user(self.ui, self.matches)?;
        let notes = message::EditorNotes {
            user: &user,
            branch: base.branch(),
            is_merge: false,
            bookmark: base.bookmark(),
            status,
        };
        let draft = metadata::DescriptionDraft {
            typed: match chosen.description {
                Some(written) => written,
                None => [self.header()?, self.ui.local(&self.old.description)].concat(),
            },
            edits: true,
            form: "commit.normal.normal",
        };
        let description = metadata::edited(self.ui, draft, &notes)?;
        let date = match self.date {
            Some(date) => date,
            None => metadata::default_date(self.config)?,
        };
        let words = CommitMetadata {
            user: &user,
            date,
            branch: base.branch(),
            extras: &[],
            description: &description,
            // Not `phases.new-commit`.
            phase: view.phases().of(self.rev),
        };
        let whom = (&mut *self.repo, &mut *self.ui, self.config);
        let changes = (status, Some(&chosen.files));
        let (node, base) = commit::commit_changes(whom, dirstate, changes, &words)?;
        self.new.push(node);
        if view.changelog().rev(&node).is_none() {
            self.made.push(node);
        }
        before::report(self.repo, self.ui, &base, (&node, false))
    }

    /// Lines of the editor above the description.
    fn header(&mut self) -> Result<Vec<u8>, Abort> {
        let old = short_hex(&self.node);
        if self.new.is_empty() {
            let line = format!(
                "HG: Splitting {old}. Write commit message for the first split changeset.\n"
            );
            return Ok(line.into_bytes());
        }
        let mut out = format!("HG: Splitting {old}. So far it has been split into:\n").into_bytes();
        let view = self.repo.view()?;
        // Names stay those of the first time, as in Mercurial.
        let mut names = match self.names.take() {
            Some(names) => names,
            None => ChangesetNames::read(&view, self.ui.encoding)?,
        };
        for node in &self.new {
            let Some(rev) = view.changelog().rev(node) else {
                continue;
            };
            // An editor shows no labels.
            let painter = std::mem::take(&mut self.ui.painter);
            let place = (&mut *self.repo, &mut *self.ui, self.config);
            let shown = rewrite::described(place, "split", &mut names, (&view, rev));
            self.ui.painter = painter;
            out.extend([b"HG: - ", &shown?[..], b"\n"].concat());
        }
        self.names = Some(names);
        out.extend_from_slice(b"HG: Write commit message for the next split changeset.\n");
        Ok(out)
    }

    /// Removes the new changesets, and gives the working copy back its parent.
    fn take_back(&mut self) -> Result<(), Abort> {
        if !self.made.is_empty() {
            self.ui.warn_of_rollback()?;
        }
        if self.original != self.node {
            self.go_to(self.original)?;
        } else {
            let view = self.repo.view()?;
            let mut dirstate = Dirstate::read(self.repository)?;
            keep_working_files(self.repository, &view, &mut dirstate, Some(self.rev))?;
        }
        self.activate()?;
        if self.made.is_empty() {
            return Ok(());
        }
        let whom = (&mut *self.repo, &mut *self.ui, self.config);
        rewrite::strip(whom, self.repository, &self.made, (None, None))
    }

    /// Rebases the descendants, and ends the old changeset.
    fn finish(&mut self, rebases: bool) -> Result<u8, Abort> {
        let Some(last) = self.new.last().copied() else {
            return Ok(0);
        };
        self.repo.refresh();
        let view = self.repo.view()?;
        let replacement = Replacement {
            old: vec![self.node],
            new: self.new.clone(),
            bookmarks_to: last,
            keeps_diff: false,
        };
        let end = RewriteEnd::replacing("split");
        let followers = match rebases {
            true => rebase::descendants(&view, self.rev)?,
            false => Vec::new(),
        };
        if last == self.node {
            // All changes are in one, which is the same again.
            if !followers.is_empty() {
                self.ui.status("nothing to rebase\n")?;
            }
            return Ok(0);
        }
        let whom = (&mut *self.repo, &mut *self.ui, self.config);
        if followers.is_empty() {
            rewrite::finish(whom, self.repository, &[replacement], &end)?;
            return Ok(0);
        }
        let before = (replacement, end);
        rebase::rebase_onto(whom, self.repository, before, (&followers, last))
    }
}
