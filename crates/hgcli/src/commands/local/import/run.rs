//! Importing one patch after another.

use super::options::ImportOptions;
use super::text::{ImportedMetadata, ShownChanges};
use super::{source, words};
use crate::arguments::Matches;
use crate::commands::local::commit;
use crate::commands::local::instabilities;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, short_hex};
use std::io::Write;
use varve_patch::{ApplyOptions, PatchMessage, PatchNotice, split};
use varve_repo::{DEFAULT_BRANCH, Node, Repository, ViewFilter};
use varve_workdir::{CommitMetadata, PatchSession, PatchedFiles, WorkdirError};

/// The exit code when hunks were left out.
const PARTIAL: u8 = 1;

/// A call of the command.
pub(super) struct ImportRun<'a> {
    pub(super) repo: &'a mut Repo,
    pub(super) ui: &'a mut Ui,
    pub(super) config: &'a Config,
    pub(super) matches: &'a Matches,
    pub(super) options: &'a ImportOptions,
    pub(super) repository: &'a Repository,
    pub(super) session: PatchSession<'a>,
    /// Descriptions of patches that are not committed.
    pub(super) unsaved: Vec<Vec<u8>>,
    /// New changesets that went through the working copy, with their parents: hooks hear of them at the end.
    pub(super) committed: Vec<(Node, [Node; 2])>,
    /// Whether Mercurial has begun to write a changeset, which it undoes on a failure.
    pub(super) has_written: bool,
}

/// The end of one patch.
struct Imported {
    node: Option<Node>,
    has_rejects: bool,
}

impl ImportRun<'_> {
    /// Imports all patches that the call names; returns the exit code.
    pub(super) fn import_all(&mut self) -> Result<u8, Abort> {
        let matches = self.matches;
        let base = matches.value("base").unwrap_or_default();
        let mut parents = self.session.dirstate.parents();
        let mut code = 0;
        for typed in matches.arguments() {
            let (text, name) = source::read(self.repo, self.ui, self.config, base, typed)?;
            let mut has_patch = false;
            for message in split(&text) {
                let patch = PatchMessage::read(&message);
                let Some(differences) = &patch.differences else {
                    continue;
                };
                let imported = self.import(&patch, differences, parents)?;
                has_patch = true;
                self.ui.note(match imported.node {
                    Some(node) => format!("created {}\n", short_hex(&node)),
                    None => "applied to working directory\n".to_owned(),
                })?;
                parents = match imported.node {
                    Some(node) if self.options.bypass && !self.options.exact => [node, Node::NULL],
                    _ => self.session.dirstate.parents(),
                };
                if imported.has_rejects {
                    self.ui.warn(
                        "patch applied partially\n\
                         (fix the .rej files and run `hg commit --amend`)\n",
                    )?;
                    code = PARTIAL;
                    break;
                }
            }
            if !has_patch {
                let name = String::from_utf8_lossy(&name);
                return Err(Abort::input(format!("{name}: no diffs found")));
            }
        }
        Ok(code)
    }

    /// Stores the changesets and the dirstate.
    pub(super) fn finish(self, code: u8) -> Result<u8, Abort> {
        if !self.unsaved.is_empty() {
            let last = self.repository.root().join(".hg/last-message.txt");
            // It is a help for the user, and no more.
            let _ = std::fs::write(last, self.unsaved.join(&b"\n* * *\n"[..]));
        }
        self.ui.out.flush()?;
        let view = self.repository.view_for(ViewFilter::Unfiltered)?;
        let before = view.instabilities()?;
        self.session.finish()?;
        instabilities::report(self.ui, self.repository, &before)?;
        for (node, parents) in &self.committed {
            self.repo.after_commit(node, parents);
        }
        self.repo.refresh();
        Ok(code)
    }

    /// Undoes the transaction after a failure; without one, the dirstate keeps what was applied.
    pub(super) fn undo(self, error: Abort) -> Result<Abort, Abort> {
        if self.options.no_commit {
            self.session.finish()?;
        } else if self.session.made() > 0 || self.has_written {
            self.ui.warn_of_rollback()?;
        }
        Ok(error)
    }

    fn import(
        &mut self,
        patch: &PatchMessage,
        differences: &[u8],
        parents: [Node; 2],
    ) -> Result<Imported, Abort> {
        let description = self.description(patch)?;
        let on = self.parents_of(patch, parents)?;
        let imported = match self.options.bypass {
            true => self.import_aside(patch, differences, description, on)?,
            false => self.import_here(patch, differences, description, (parents, on))?,
        };
        if self.options.exact && self.options.no_commit {
            self.ui
                .warn("warning: can't check exact import with --no-commit\n")?;
        } else if self.options.exact {
            let expected = patch.node.as_deref().and_then(Node::from_hex);
            if imported.node.is_none() || imported.node != expected {
                return Err(WorkdirError::LossyPatch.into());
            }
        }
        Ok(imported)
    }

    /// The changesets that the patch is applied on.
    fn parents_of(&mut self, patch: &PatchMessage, parents: [Node; 2]) -> Result<[Node; 2], Abort> {
        let named = |at: usize| patch.parents.get(at).map(Vec::as_slice);
        if self.options.exact {
            let (Some(first), Some(_)) = (named(0), &patch.node) else {
                return Err(Abort::input("not a Mercurial patch"));
            };
            let unknown = |name: &[u8]| {
                let name = String::from_utf8_lossy(name);
                Abort::input(format!("unknown revision '{name}'"))
            };
            let first = self.known(first).ok_or_else(|| unknown(first))?;
            let second = named(1).map(|name| self.known(name).ok_or_else(|| unknown(name)));
            return Ok([first, second.transpose()?.unwrap_or(Node::NULL)]);
        }
        let Some(second) = named(1) else {
            return Ok(parents);
        };
        let both = named(0)
            .and_then(|name| self.known(name))
            .zip(self.known(second));
        let on = match both {
            // The second parent counts only on top of the first one.
            Some((first, second)) if first == parents[0] => [first, second],
            Some(_) => [parents[0], Node::NULL],
            None => parents,
        };
        if on[1].is_null() {
            self.ui.warn(
                "warning: import the patch as a normal revision\n\
                 (use --exact to import the patch as a merge)\n",
            )?;
        }
        Ok(on)
    }

    fn known(&self, name: &[u8]) -> Option<Node> {
        Node::from_hex(name).filter(|node| self.session.has(node))
    }

    /// Imports a patch through the working copy, whose parents are `before`.
    fn import_here(
        &mut self,
        patch: &PatchMessage,
        differences: &[u8],
        description: Vec<u8>,
        (before, on): ([Node; 2], [Node; 2]),
    ) -> Result<Imported, Abort> {
        if on[0] != before[0] {
            let target = [on[0], Node::NULL];
            self.repo.before_update(self.ui, &target)?;
            let files = self.session.check_out(on[0])?;
            words::print_checkout(self.ui, &files)?;
            self.repo.after_update(self.ui, &target, 0)?;
        }
        if on != self.session.dirstate.parents() {
            self.session.dirstate.set_parents(on);
        }
        if self.options.takes_branch {
            let branch = patch.branch.as_deref().unwrap_or(DEFAULT_BRANCH);
            self.session.set_branch(branch);
        }
        let files = self.apply(differences)?;
        let has_rejects = match &files.fault {
            Some(fault) if fault.is_malformed() || !self.options.partial => {
                return Err(WorkdirError::Patch(fault.clone()).into());
            }
            fault => fault.is_some(),
        };
        if self.options.no_commit {
            if !description.is_empty() {
                self.unsaved.push(description);
            }
            return Ok(Imported {
                node: None,
                has_rejects,
            });
        }
        let node = self.commit(patch, description, &files, has_rejects)?;
        Ok(Imported { node, has_rejects })
    }

    fn apply_options(&self) -> Result<ApplyOptions, Abort> {
        self.options.apply(self.repo, self.config, self.matches)
    }

    fn apply(&mut self, differences: &[u8]) -> Result<PatchedFiles, Abort> {
        let options = self.apply_options()?;
        let ui = &mut *self.ui;
        let mut told = Ok(());
        let mut observer = |notice: &PatchNotice<'_>| {
            if told.is_ok() {
                told = words::print_notice(ui, notice);
            }
        };
        let similarity = self.options.similarity;
        let files = self
            .session
            .apply(differences, &options, similarity, &mut observer);
        told?;
        let files = files?;
        words::print_files(self.ui, &files)?;
        Ok(files)
    }

    /// Commits what a patch has changed; `None` if that is nothing.
    fn commit(
        &mut self,
        patch: &PatchMessage,
        description: Vec<u8>,
        files: &PatchedFiles,
        has_rejects: bool,
    ) -> Result<Option<Node>, Abort> {
        commit::refuse_unresolved(self.repository)?;
        let parents = self.session.dirstate.parents();
        let status = self.session.status(&files.files)?;
        let branch = self.session.branch().to_vec();
        let changes_branch = self.session.branch_of(&parents[0])? != branch;
        let is_new = changes_branch || !parents[1].is_null() || has_rejects;
        let allows_empty = self.config.boolean("ui", "allowemptycommit", false);
        if status.is_unchanged() && !is_new && !allows_empty.map_err(Abort::Setting)? {
            return Ok(None);
        }
        let changes = ShownChanges {
            parents,
            branch: &branch,
            status: &status,
            may_edit: true,
        };
        let new = self.metadata(patch, description, &changes)?;
        self.repo.before_commit(self.ui, &parents)?;
        commit::print_files(self.ui, &status)?;
        let node = self.session.commit(&status, &words_of(&new, &branch))?;
        self.committed.extend(node.map(|node| (node, parents)));
        Ok(node)
    }

    /// Imports a patch without the working copy.
    fn import_aside(
        &mut self,
        patch: &PatchMessage,
        differences: &[u8],
        description: Vec<u8>,
        parents: [Node; 2],
    ) -> Result<Imported, Abort> {
        let branch = match self.options.takes_branch {
            true => patch.branch.clone().unwrap_or(DEFAULT_BRANCH.to_vec()),
            false => self.session.branch_of(&parents[0])?,
        };
        let options = self.apply_options()?;
        let ui = &mut *self.ui;
        let mut told = Ok(());
        let mut observer = |notice: &PatchNotice<'_>| {
            if told.is_ok() {
                told = words::print_notice(ui, notice);
            }
        };
        let changes = self
            .session
            .apply_to(&parents[0], differences, &options, &mut observer);
        told?;
        let changes = changes?;
        let status = self.session.status_in(&parents[0], &changes)?;
        let shown = ShownChanges {
            parents,
            branch: &branch,
            status: &status,
            may_edit: false,
        };
        let new = self.metadata(patch, description, &shown)?;
        words::print_changeset(self.ui, &changes)?;
        let metadata = words_of(&new, &branch);
        let node = self.session.commit_to(parents, &changes, &metadata)?;
        Ok(Imported {
            node,
            has_rejects: false,
        })
    }
}

fn words_of<'a>(new: &'a ImportedMetadata, branch: &'a [u8]) -> CommitMetadata<'a> {
    CommitMetadata {
        user: &new.user,
        date: new.date,
        branch,
        extras: &[],
        description: &new.description,
        phase: new.phase,
    }
}
