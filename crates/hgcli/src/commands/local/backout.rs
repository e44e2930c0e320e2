//! `backout`: a changeset that undoes an earlier one.

use super::commit::{self, metadata, options};
use super::instabilities;
use super::merge::{self, MergeSides};
use super::{revert, unfinished, update};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui, short_hex};
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Node, RepoView, Repository, Rev};
use varve_workdir::{
    Backups, CommitMetadata, Dirstate, LocalChanges, MergeBase, MergeLabels, Tree, WorkingFiles,
    message,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["backout"],
    options: &[
        Flag::long_flag(
            "merge",
            "merge the new changeset, a child of REV, with the parent",
        ),
        Flag::long_flag("commit", "commit if there are no conflicts (as without it)"),
        Flag::long_flag("no-commit", "change only the working directory"),
        Flag::long_value("parent", "REV", "the parent of a merge to go back to"),
        Flag::value('r', "rev", "REV", "the changeset to undo"),
        options::EDIT,
        Flag::value('t', "tool", "TOOL", "what merges files"),
        INCLUDE,
        EXCLUDE,
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
    ],
    arguments: 0..=1,
    synopsis: "[OPTION]... [-r] REV",
    summary: "reverse effect of earlier changeset",
    help: "Undoes in the working directory what REV has changed, and commits that. REV must be the \
           working directory's parent or an ancestor of it, and no merge.\n\n\
           What changed since is merged. With conflicts nothing is committed: settle them, mark the \
           files with 'hg resolve -m', and commit.\n\n\
           With --merge the new changeset is a child of REV, which is then merged with the parent of \
           the working directory; that merge is for you to commit.\n\n\
           Without a description an editor asks for one.\n\n\
           Ends with 0; with 1 if nothing changed or files are unresolved.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// The exit code when there is nothing to undo.
const NOTHING: u8 = 1;

/// A call of the command.
struct Backout<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    matches: &'a Matches,
    repository: Repository,
    /// The changeset to undo.
    node: Node,
    /// Its parent, to whose files they go back.
    parent: Node,
    /// The working copy's parent before.
    local: Node,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    for other in ["commit", "merge"] {
        if matches.flag("no-commit") && matches.flag(other) {
            let message = format!("cannot specify both --no-commit and --{other}");
            return Err(Abort::input(message));
        }
    }
    let rev = matches.value("rev").filter(|rev| !rev.is_empty());
    let typed = match (rev, matches.arguments().first()) {
        (Some(_), Some(_)) => return Err(Abort::input("please specify just one revision")),
        (None, None) => return Err(Abort::input("please specify a revision to backout")),
        (Some(typed), None) => typed.to_vec(),
        (None, Some(typed)) => typed.clone(),
    };
    metadata::typed_date(matches)?;
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    unfinished::refuse(&repository)?;
    commit::refuse_changes(ui, &repository)?;
    let rev = repo.revision(ui, Some(&typed))?;
    let view = repo.view()?;
    let local = Dirstate::read(&repository)?.parents()[0];
    check_ancestor(&view, rev, view.changelog().rev(&local))?;
    let parent = parent(repo, ui, matches, &view, rev)?;
    let changelog = view.changelog();
    let mut backout = Backout {
        repo,
        ui,
        config,
        matches,
        repository,
        node: changelog.node_or_null(rev),
        parent: changelog.node_or_null(parent),
        local,
    };
    let code = backout.carry_out(&view)?;
    drop(lock);
    Ok(code)
}

fn check_ancestor(view: &RepoView, rev: Option<Rev>, local: Option<Rev>) -> Result<(), Abort> {
    let is_ancestor = match (rev, local) {
        (None, _) => true,
        (Some(rev), Some(local)) => rev == local || view.is_descendant(local, rev),
        (Some(_), None) => false,
    };
    match is_ancestor {
        true => Ok(()),
        false => Err(Abort::input(
            "cannot backout change that is not an ancestor",
        )),
    }
}

/// The changeset to whose files those of `rev` go back.
fn parent(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    view: &RepoView,
    rev: Option<Rev>,
) -> Result<Option<Rev>, Abort> {
    let parents = rev.map(|rev| view.changelog().parents(rev));
    let [first, second] = parents.unwrap_or_default();
    if first.is_none() {
        return Err(Abort::input("cannot backout a change with no parents"));
    }
    let typed = matches.value("parent").filter(|parent| !parent.is_empty());
    let Some(typed) = typed else {
        return match second {
            Some(_) => Err(Abort::input("cannot backout a merge changeset")),
            None => Ok(first),
        };
    };
    if second.is_none() {
        return Err(Abort::input("cannot use --parent on non-merge changeset"));
    }
    let chosen = repo.revision(ui, Some(typed))?;
    if ![first, second].contains(&chosen) {
        let changelog = view.changelog();
        let [chosen, rev] = [chosen, rev].map(|rev| short_hex(&changelog.node_or_null(rev)));
        return Err(Abort::input(format!("{chosen} is not a parent of {rev}")));
    }
    Ok(chosen)
}

impl Backout<'_> {
    fn carry_out(&mut self, view: &RepoView) -> Result<u8, Abort> {
        let branch = varve_workdir::branch(&self.repository)?;
        let merges = self.matches.flag("merge");
        if merges || self.node == self.local {
            self.go_to(view, self.node)?;
            varve_workdir::set_branch(&self.repository, &branch)?;
            self.revert(view)?;
        } else if let Some(code) = self.merge_back(view)? {
            return Ok(code);
        }
        if self.matches.flag("no-commit") {
            let shown = short_hex(&self.node);
            let line = format!("changeset {shown} backed out, don't forget to commit.\n");
            self.ui.status(line)?;
            return Ok(0);
        }
        let Some(made) = self.commit(&branch)? else {
            self.ui.status("nothing changed\n")?;
            return Ok(NOTHING);
        };
        if merges && self.node != self.local {
            return self.merge_with(made);
        }
        Ok(0)
    }

    /// Gives the working copy the files of a changeset.
    fn go_to(&mut self, view: &RepoView, target: Node) -> Result<(), Abort> {
        let mut dirstate = Dirstate::read(&self.repository)?;
        let parents = [target, Node::NULL];
        self.repo.before_update(self.ui, &parents)?;
        let place = (&self.repository, view);
        let rev = view.changelog().rev(&target);
        let local = LocalChanges::Discard;
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let updated = update::go_to(ui, config, matches, place, &mut dirstate, rev, local)?;
        self.repo
            .after_update(self.ui, &parents, updated.unresolved)
    }

    /// Puts the files of the parent in place of those of the working copy, which is at the changeset to undo.
    fn revert(&mut self, view: &RepoView) -> Result<(), Abort> {
        let repository = &self.repository;
        let mut dirstate = Dirstate::read(repository)?;
        let everything = Matcher::everything();
        let status = commit::working_changes(self.ui, repository, &everything, &mut dirstate)?;
        let tree = |node: &Node| Tree::of(view, view.changelog().rev(node));
        let (from, to) = (tree(&self.node)?, tree(&self.parent)?);
        let files = WorkingFiles::of(repository);
        let trees = (&from, &to);
        let plan = varve_workdir::plan_revert(&dirstate, trees, &status, &files, &everything)?;
        let backups = Backups::None;
        revert::report(self.repo, self.ui, &plan, &everything, (&files, &backups))?;
        let stop = self.ui.stop.clone();
        varve_workdir::revert(repository, view, &mut dirstate, &plan, &backups, &stop)?;
        let rev = |node: &Node| view.changelog().rev(node);
        let (from, to) = (rev(&self.node), rev(&self.parent));
        varve_workdir::record_reverted_copies(view, &mut dirstate, &plan, from, to)?;
        Ok(dirstate.write(repository)?)
    }

    /// Merges the way back into the working copy; returns an exit code if files are unresolved.
    fn merge_back(&mut self, view: &RepoView) -> Result<Option<u8>, Abort> {
        let changelog = view.changelog();
        let Some(other) = changelog.rev(&self.parent) else {
            return Ok(None);
        };
        let sides = MergeSides {
            other,
            base: MergeBase::Chosen(changelog.rev(&self.node)),
            keeps_changes: false,
            labels: &MergeLabels::unnamed(),
        };
        let mut dirstate = Dirstate::read(&self.repository)?;
        let parents = [self.local, self.parent];
        self.repo.before_update(self.ui, &parents)?;
        let place = (&self.repository, view);
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let merged = merge::merge(ui, config, matches, place, &mut dirstate, &sides)?;
        self.repo
            .after_update(self.ui, &parents, merged.unresolved)?;
        let code = update::report(self.ui, &merged)?;
        Ok((merged.unresolved > 0).then_some(code))
    }

    /// Commits the working copy; `None` if nothing changed.
    fn commit(&mut self, branch: &[u8]) -> Result<Option<Node>, Abort> {
        let matches = self.matches;
        metadata::check(matches)?;
        let typed = metadata::typed_message(self.repo, self.ui, matches)?;
        let mut dirstate = Dirstate::read(&self.repository)?;
        // What does not match stays as a local change.
        let matcher = self.repo.working_matcher(matches, &[])?;
        let status = commit::working_changes(self.ui, &self.repository, &matcher, &mut dirstate)?;
        if status.is_unchanged() && !self.config.boolean("ui", "allowemptycommit", false)? {
            dirstate.write(&self.repository)?;
            varve_workdir::clear_merge(&self.repository)?;
            return Ok(None);
        }
        let user = metadata::user(self.ui, matches)?;
        let active = varve_workdir::active_bookmark(&self.repository)?;
        let notes = message::EditorNotes {
            user: &user,
            branch,
            is_merge: false,
            bookmark: active.as_deref(),
            status: &status,
        };
        let draft = metadata::DescriptionDraft {
            form: "backout",
            edits: typed.is_none() || matches.flag("edit"),
            typed: typed.unwrap_or_else(|| {
                format!("Backed out changeset {}", short_hex(&self.node)).into_bytes()
            }),
        };
        let description = metadata::edited(self.ui, draft, &notes)?;
        let words = CommitMetadata {
            user: &user,
            date: metadata::date(self.config, matches)?,
            branch,
            extras: &[],
            description: &description,
            phase: metadata::new_phase(self.config)?,
        };
        let whom = (&mut *self.repo, &mut *self.ui, self.config);
        let (made, base) = commit::commit_changes(whom, &mut dirstate, (&status, None), &words)?;
        instabilities::report_orphans(self.ui, &self.repository, &[made])?;
        commit::before::report(self.repo, self.ui, &base, (&made, false))?;
        let made_shown = self.shown(&made)?;
        let shown = self.shown(&self.node.clone())?;
        let line = format!("changeset {made_shown} backs out changeset {shown}\n");
        self.ui.status(line)?;
        Ok(Some(made))
    }

    fn shown(&mut self, node: &Node) -> Result<String, Abort> {
        let view = self.repo.view()?;
        match view.changelog().rev(node) {
            Some(rev) => self.repo.rev_and_hex(rev),
            None => Ok(short_hex(node)),
        }
    }

    /// Merges the new changeset into the earlier parent.
    fn merge_with(&mut self, made: Node) -> Result<u8, Abort> {
        let view = self.repo.view()?;
        self.go_to(&view, self.local)?;
        let shown = self.shown(&made)?;
        self.ui
            .status(format!("merging with changeset {shown}\n"))?;
        let Some(other) = view.changelog().rev(&made) else {
            return Ok(0);
        };
        let sides = MergeSides {
            other,
            base: MergeBase::CommonAncestors,
            keeps_changes: false,
            labels: &MergeLabels::unnamed(),
        };
        let mut dirstate = Dirstate::read(&self.repository)?;
        let parents = [self.local, made];
        self.repo.before_update(self.ui, &parents)?;
        let place = (&self.repository, &*view);
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let merged = merge::merge(ui, config, matches, place, &mut dirstate, &sides)?;
        self.repo
            .after_update(self.ui, &parents, merged.unresolved)?;
        merge::report(self.ui, &merged)
    }
}
