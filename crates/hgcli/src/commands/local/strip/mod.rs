//! `strip` and `debugstrip`: changesets are removed, with all that follow them.

mod store;

use super::{commit, unfinished, update};
use crate::arguments::{Flag, Matches};
use crate::commands::history::log::of_bookmark;
use crate::context::{Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use std::sync::Arc;
pub(crate) use store::{UNCALLED_HOOKS, print_bundle, remove};
use varve_repo::{LockKind, Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{BookmarkEdit, Dirstate, LocalChanges, StripPlan};

const REV: Flag = Flag::list('r', "rev", "REV", "remove this changeset");
const FORCE: Flag = Flag::flag(
    'f',
    "force",
    "give up uncommitted changes, without a backup",
);
const NO_BACKUP: Flag = Flag::long_flag("no-backup", "keep no bundle of what is removed");
const NOBACKUP: Flag = Flag::long_flag("nobackup", "keep no bundle (DEPRECATED)");
const IGNORED: Flag = Flag::flag('n', "", "ignored (DEPRECATED)");
const KEEP: Flag = Flag::flag(
    'k',
    "keep",
    "leave the files of the working directory alone",
);
const BOOKMARK: Flag = Flag::list(
    'B',
    "bookmark",
    "BOOKMARK",
    "remove what only this bookmark leads to, and the bookmark",
);
const SOFT: Flag = Flag::long_flag(
    "soft",
    "hide the changesets (no repository here can; EXPERIMENTAL)",
);

const SYNOPSIS: &str = "[-k] [-f] [-B bookmark] [-r] REV...";
const SUMMARY: &str = "remove changesets and all that follow them";
const HELP: &str = "A bundle in .hg/strip-backup keeps what is removed, and 'hg unbundle' brings it back. Numbers \
     of changesets that stay may change; public ones may go too.\n\n\
     If a parent of the working directory is removed, the working directory is updated first to \
     the newest ancestor that stays. Uncommitted changes are refused then, unless -f gives them \
     up. With -k all files stay as they are, and are compared with that ancestor from then on.\n\n\
     Ends with 0.";

/// See [`Command`]; the extension `strip` switches it on.
pub(crate) const STRIP: Command = Command {
    names: &["strip"],
    options: &[
        REV,
        FORCE,
        NO_BACKUP,
        NOBACKUP,
        IGNORED,
        KEEP,
        BOOKMARK,
        SOFT,
        Flag::long_flag(
            "permit-empty-revset",
            "succeed if there is nothing to remove",
        ),
    ],
    arguments: 0..=usize::MAX,
    synopsis: SYNOPSIS,
    summary: SUMMARY,
    help: HELP,
    category: None,
    run: |context, matches| {
        let Context {
            repo, ui, config, ..
        } = context;
        let permits_nothing = matches.flag("permit-empty-revset");
        run(repo, ui, config, matches, permits_nothing)
    },
};

/// See [`Command`].
pub(crate) const DEBUGSTRIP: Command = Command {
    names: &["debugstrip"],
    options: &[REV, FORCE, NO_BACKUP, KEEP, BOOKMARK, SOFT],
    arguments: 0..=usize::MAX,
    synopsis: SYNOPSIS,
    summary: SUMMARY,
    help: HELP,
    category: None,
    // Nothing to remove is no failure here.
    run: |context, matches| {
        let Context {
            repo, ui, config, ..
        } = context;
        run(repo, ui, config, matches, true)
    },
};

/// A call of the command.
struct Strip<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    matches: &'a Matches,
    repository: Repository,
}

fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    permits_nothing: bool,
) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    let mut strip = Strip {
        repo,
        ui,
        config,
        matches,
        repository,
    };
    strip.carry_out(permits_nothing)?;
    drop(lock);
    Ok(0)
}

impl Strip<'_> {
    fn carry_out(&mut self, permits_nothing: bool) -> Result<(), Abort> {
        let typed = self.matches.list("rev");
        let arguments = self.matches.arguments().iter().map(Vec::as_slice);
        let specs: Vec<&[u8]> = arguments.chain(typed).collect();
        let mut revs = self.repo.revisions_and_null(self.ui, &specs)?;
        let bookmarks = self.bookmarks()?;
        revs.extend(self.only_below(&bookmarks)?);
        if revs.is_empty() {
            self.delete(&bookmarks)?;
            return match permits_nothing {
                true => Ok(()),
                false => Err(Abort::new("empty revision set")),
            };
        }
        self.remove(&revs)?;
        self.delete(&bookmarks)
    }

    /// The bookmarks of `-B`.
    fn bookmarks(&mut self) -> Result<BTreeSet<Vec<u8>>, Abort> {
        let typed = self.matches.list("bookmark");
        let typed: BTreeSet<Vec<u8>> = typed.into_iter().map(<[u8]>::to_vec).collect();
        let view = self.repo.view()?;
        let missing = typed
            .iter()
            .filter(|name| !view.bookmarks().contains_key(*name));
        let missing: Vec<&[u8]> = missing.map(Vec::as_slice).collect();
        if !missing.is_empty() {
            let missing = String::from_utf8_lossy(&missing.join(&b',')).into_owned();
            return Err(Abort::new(format!("bookmark '{missing}' not found")));
        }
        Ok(typed)
    }

    /// Changesets that only these bookmarks lead to; those of a changeset count if they are all among these.
    fn only_below(&mut self, bookmarks: &BTreeSet<Vec<u8>>) -> Result<Vec<Option<Rev>>, Abort> {
        let view = self.repo.view()?;
        let engine = self.repo.engine(&view)?;
        let mut revs = Vec::new();
        for name in bookmarks {
            let mut same_node = (view.bookmarks().iter())
                .filter(|(_, node)| view.bookmarks().get(name) == Some(*node));
            if same_node.all(|(other, _)| bookmarks.contains(other)) {
                let set = of_bookmark(&engine, name)?;
                for member in set.members(&engine) {
                    revs.push(member?);
                }
            }
        }
        Ok(revs)
    }

    fn delete(&mut self, bookmarks: &BTreeSet<Vec<u8>>) -> Result<(), Abort> {
        if bookmarks.is_empty() {
            return Ok(());
        }
        self.repo.refresh();
        let view = self.repo.view()?;
        let mut edit = BookmarkEdit::new(&self.repository, Arc::clone(&view), false)?;
        // One that had nowhere to go is gone already.
        let left = bookmarks
            .iter()
            .filter(|name| view.bookmarks().contains_key(*name));
        for name in left {
            edit.remove(name)?;
        }
        edit.store_active(&self.repository)?;
        edit.store(&self.repository, self.repo.lock(self.ui, LockKind::Store)?)?;
        self.repo.refresh();
        for name in bookmarks {
            self.ui
                .write([b"bookmark '", &name[..], b"' deleted\n"].concat())?;
        }
        Ok(())
    }

    fn remove(&mut self, revs: &[Option<Rev>]) -> Result<(), Abort> {
        let view = self.repository.view_for(ViewFilter::Unfiltered)?;
        let plan = StripPlan::new(&view, revs);
        self.refuse()?;
        let dirstate = Dirstate::read(&self.repository)?;
        let branch = varve_workdir::branch(&self.repository)?;
        let keeps = self.matches.flag("keep");
        let target = plan.working_target(&view, dirstate.parents(), &branch);
        if !keeps && !matches!(target, Ok(None)) {
            self.refuse_changes()?;
        }
        match target? {
            Some(target) if keeps => self.keep(&view, dirstate, target)?,
            Some(target) => self.go_to(&view, dirstate, target)?,
            None => {}
        }
        let discards = self.matches.flag("no-backup") || self.matches.flag("nobackup");
        let purpose = (!discards).then_some("backup");
        let lock = self.repo.lock(self.ui, LockKind::Store)?;
        let place = (&self.repository, &*view);
        let whom = (&mut *self.repo, &mut *self.ui, self.config);
        remove(whom, place, lock, (&plan, purpose))?;
        // Reads the heads of branches, so that their cache fits the history again.
        let served = self.repo.repository()?.view_for(ViewFilter::Served)?;
        served.branchmap()?;
        Ok(())
    }

    /// Refuses what is not there, before anything is changed.
    fn refuse(&self) -> Result<(), Abort> {
        if self.matches.flag("soft") {
            let message = "this repository does not support the archived phase";
            return Err(Abort::new(message));
        }
        self.repo.refuse_hooks("strip", UNCALLED_HOOKS)
    }

    /// Refuses a working copy that must not be updated.
    fn refuse_changes(&mut self) -> Result<(), Abort> {
        unfinished::refuse(&self.repository)?;
        commit::refuse_interrupted(&self.repository)?;
        match self.matches.flag("force") {
            true => Ok(()),
            false => commit::refuse_changes(self.ui, &self.repository),
        }
    }

    fn keep(
        &mut self,
        view: &RepoView,
        mut dirstate: Dirstate,
        target: Option<Rev>,
    ) -> Result<(), Abort> {
        let repository = &self.repository;
        varve_workdir::keep_working_files(repository, view, &mut dirstate, target)?;
        Ok(())
    }

    /// Gives the working copy the files of a changeset.
    fn go_to(
        &mut self,
        view: &RepoView,
        mut dirstate: Dirstate,
        target: Option<Rev>,
    ) -> Result<(), Abort> {
        let parents = [view.changelog().node_or_null(target), Node::NULL];
        self.repo.before_update(self.ui, &parents)?;
        let place = (&self.repository, view);
        let local = LocalChanges::Discard;
        let (ui, config, matches) = (&mut *self.ui, self.config, self.matches);
        let updated = update::go_to(ui, config, matches, place, &mut dirstate, target, local)?;
        self.repo
            .after_update(self.ui, &parents, updated.unresolved)?;
        update::print_stats(self.ui, &updated)
    }
}
