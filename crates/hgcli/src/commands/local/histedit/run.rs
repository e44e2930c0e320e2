//! One call of the command, and the rules one after another.

use super::{action, finish};
use crate::arguments::Matches;
use crate::commands::local::commit::{self, metadata};
use crate::commands::local::merge::{self, MergeSides};
use crate::commands::local::update;
use crate::context::{Config, Repo};
use crate::render::Formatter;
use crate::ui::{Abort, Ui, short_hex};
use std::sync::Arc;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, Phase, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{
    ChangesetMetadata, CommitMetadata, Dirstate, HisteditAction, HisteditRule, HisteditState,
    LocalChanges, MergeBase, MergeLabels, Status, UpdateStats, message,
};

/// Extra key that names the changesets which a new one was made of.
const SOURCE: &[u8] = b"histedit_source";

pub(super) struct HisteditRun<'a> {
    pub(super) repo: &'a mut Repo,
    pub(super) ui: &'a mut Ui,
    pub(super) config: &'a Config,
    pub(super) matches: &'a Matches,
    pub(super) repository: &'a Repository,
    pub(super) state: HisteditState,
    /// Output of `--template`, which has begun; `None` behind its end.
    pub(super) out: Option<Formatter>,
}

/// A changeset that is to be committed.
pub(super) struct NewChangeset {
    pub(super) metadata: ChangesetMetadata,
    pub(super) phase: Phase,
    /// Set if the user changes the description: the kind of commit, for the editor.
    pub(super) edits_as: Option<&'static str>,
}

impl NewChangeset {
    /// Names the changesets that this one is made of.
    pub(super) fn set_sources(&mut self, sources: &[Node]) {
        let hashes: Vec<String> = sources.iter().map(Node::to_string).collect();
        let extras = &mut self.metadata.extras;
        extras.retain(|(key, _)| key != SOURCE);
        extras.push((SOURCE.to_vec(), hashes.join(",").into_bytes()));
    }
}

impl HisteditRun<'_> {
    /// Carries out all rules that are left, and ends the old changesets.
    pub(super) fn carry_out(&mut self) -> Result<u8, Abort> {
        while let Some(rule) = self.state.rules.first().copied() {
            self.ui
                .stop
                .check()
                .map_err(varve_workdir::WorkdirError::from)?;
            self.state.write(self.repository)?;
            action::carry_out(self, rule)?;
            self.state.rules.remove(0);
        }
        self.state.write(self.repository)?;
        finish::finish(self)?;
        Ok(0)
    }

    /// All changesets, also those that were hidden meanwhile.
    pub(super) fn view(&self) -> Result<Arc<RepoView>, Abort> {
        Ok(self.repository.view_for(ViewFilter::Unfiltered)?)
    }

    pub(super) fn known(&self, view: &RepoView, node: &Node) -> Result<Rev, Abort> {
        let rev = view.changelog().rev(node);
        rev.ok_or_else(|| Abort::input(format!("unknown changeset {} listed", short_hex(node))))
    }

    /// The parent of the working copy.
    pub(super) fn working_parent(&self) -> Result<Node, Abort> {
        Ok(Dirstate::read(self.repository)?.parents()[0])
    }

    /// Gives the working copy the files of a changeset, unless it has them; `None` then.
    pub(super) fn go_to(&mut self, target: Node) -> Result<Option<UpdateStats>, Abort> {
        let mut dirstate = Dirstate::read(self.repository)?;
        if dirstate.parents() == [target, Node::NULL] {
            return Ok(None);
        }
        let view = self.view()?;
        let parents = [target, Node::NULL];
        self.repo.before_update(self.ui, &parents)?;
        let at = (self.repository, &*view);
        let rev = view.changelog().rev(&target);
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let local = LocalChanges::Refuse;
        let updated = update::go_to(ui, config, matches, at, &mut dirstate, rev, local)?;
        self.repo
            .after_update(self.ui, &parents, updated.unresolved)?;
        Ok(Some(updated))
    }

    /// Merges the changes of a changeset into the working copy, which goes to the new parent.
    pub(super) fn bring(&mut self, rule: &HisteditRule, shows_stats: bool) -> Result<(), Abort> {
        let updated = self.go_to(self.state.parent)?;
        if let Some(updated) = updated.filter(|_| shows_stats) {
            print_stats(self.ui, &updated)?;
        }
        let view = self.view()?;
        let rev = self.known(&view, &rule.node)?;
        let base = view.changelog().parents(rev)[0];
        let mut dirstate = Dirstate::read(self.repository)?;
        let sides = MergeSides {
            other: rev,
            base: MergeBase::Chosen(base),
            keeps_changes: false,
            labels: &MergeLabels::of_histedit(),
        };
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let at = (self.repository, &*view);
        let merged = merge::merge(ui, config, matches, at, &mut dirstate, &sides)?;
        if view.changelog().node_or_null(base) == self.state.parent {
            // Where the changes were made already, Mercurial merges nothing.
            varve_workdir::clear_merge(self.repository)?;
        }
        // An edit stops for the user in any case, and says so.
        if merged.unresolved == 0 || rule.action == HisteditAction::Edit {
            return Ok(());
        }
        let (verb, shown) = (rule.action.verb(), short_hex(&rule.node));
        Err(Abort::Waits {
            message: format!("Fix up the change ({verb} {shown})"),
            hint: "hg histedit --continue to resume".to_owned(),
        })
    }

    /// Metadata of a changeset that is made again.
    pub(super) fn copy_of(&mut self, node: &Node) -> Result<NewChangeset, Abort> {
        let view = self.view()?;
        let rev = self.known(&view, node)?;
        let mut metadata = ChangesetMetadata::read(&view, rev)?;
        if self.config.boolean("rewrite", "update-timestamp", false)? {
            metadata.date = metadata::now();
        }
        let mut new = NewChangeset {
            metadata,
            phase: view.phases().of(rev).max(Phase::Draft),
            edits_as: None,
        };
        new.set_sources(&[*node]);
        Ok(new)
    }

    /// Local changes of the working copy, with the dirstate that knows them.
    pub(super) fn changes(&mut self) -> Result<(Dirstate, Status), Abort> {
        let mut dirstate = Dirstate::read(self.repository)?;
        let everything = Matcher::everything();
        let status = commit::working_changes(self.ui, self.repository, &everything, &mut dirstate)?;
        Ok((dirstate, status))
    }

    /// Commits the working copy; `None` if nothing changed.
    pub(super) fn commit(&mut self, new: &NewChangeset) -> Result<Option<Node>, Abort> {
        commit::refuse_unresolved(self.repository)?;
        let (mut dirstate, status) = self.changes()?;
        if status.is_unchanged() {
            dirstate.write(self.repository)?;
            varve_workdir::clear_merge(self.repository)?;
            return Ok(None);
        }
        self.commit_status(new, &mut dirstate, &status).map(Some)
    }

    /// Commits given changes of the working copy.
    pub(super) fn commit_status(
        &mut self,
        new: &NewChangeset,
        dirstate: &mut Dirstate,
        status: &Status,
    ) -> Result<Node, Abort> {
        let old = &new.metadata;
        let notes = message::EditorNotes {
            user: &old.user,
            branch: &old.branch,
            is_merge: false,
            bookmark: None,
            status,
        };
        let description = match new.edits_as {
            None => message::tidy(&old.description),
            Some(form) => {
                let draft = metadata::DescriptionDraft {
                    typed: old.description.clone(),
                    edits: true,
                    form,
                };
                metadata::edited(self.ui, draft, &notes)?
            }
        };
        let extras = old.extras.iter();
        let extras: Vec<(&[u8], &[u8])> = extras.map(|(k, v)| (&k[..], &v[..])).collect();
        let words = CommitMetadata {
            user: &old.user,
            date: old.date,
            branch: &old.branch,
            extras: &extras,
            description: &description,
            phase: new.phase,
        };
        let whom = (&mut *self.repo, &mut *self.ui, self.config);
        let (node, _) = commit::commit_changes(whom, dirstate, (status, None), &words)?;
        Ok(node)
    }
}

/// Prints the counts of an update that changed anything.
pub(super) fn print_stats(ui: &mut Ui, updated: &UpdateStats) -> Result<(), Abort> {
    match *updated == UpdateStats::default() {
        true => Ok(()),
        false => update::print_stats(ui, updated),
    }
}
