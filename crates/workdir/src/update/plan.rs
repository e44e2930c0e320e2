//! The plan of an update, made before anything is changed.

use super::directories;
use super::renames::{RenameNote, Renames};
use crate::file_merges::MergeFile;
use crate::files::kind_of;
use crate::manifest_merge::CopyReport;
use crate::merge::CopyTraceMode;
use crate::tree::{Tree, TreeEntry, differences};
use crate::untracked::ReplacedFile;
use crate::{
    Dirstate, Ignore, LocalState, Status, StatusLists, StatusRequest, UntrackedFiles, WorkdirError,
    WorkingFiles, working_status,
};
use std::collections::{BTreeMap, HashMap};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{FileKind, Node, Repository, Rev};

/// The change to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateStep {
    /// Written as in the target.
    Write(TreeEntry),
    /// Gets the mode that it has in the target; its content is changed only here.
    Mode(FileKind),
    /// Taken away.
    Remove,
    /// Only forgotten; the file, if there is one, stays.
    Forget,
    /// In the target, and removed here: stays removed.
    StayRemoved,
}

/// A file that goes to another path because its directory was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// Its path on the side that has it.
    pub from: Vec<u8>,
    /// Its path afterwards.
    pub to: Vec<u8>,
    /// Their file; without it, it is ours.
    pub theirs: Option<TreeEntry>,
    /// The kind of the result.
    pub kind: FileKind,
}

/// The changes of an update.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Steps by path.
    pub steps: BTreeMap<Vec<u8>, UpdateStep>,
    /// In the order in which they are merged.
    pub merges: Vec<MergeFile>,
    /// Files that follow a renamed directory; only a merge of changesets has any.
    pub relocations: Vec<Relocation>,
    /// Untracked files that make place; they are kept as backups.
    pub replaced: Vec<ReplacedFile>,
    /// Remarks for the user.
    pub notes: Vec<RenameNote>,
    /// Copies and renames of both sides, where any count.
    pub copies: Option<CopyReport>,
    /// States of the tracked files that are not clean; only an update of the working copy looks at them.
    pub local_states: HashMap<Vec<u8>, LocalState>,
}

impl Plan {
    /// The paths that change on the disk, and whether they are written or else removed.
    pub(super) fn changed_paths(&self) -> BTreeMap<&[u8], bool> {
        let steps = self.steps.iter().filter_map(|(path, step)| match step {
            UpdateStep::Write(_) => Some((&path[..], true)),
            UpdateStep::Remove => Some((&path[..], false)),
            _ => None,
        });
        let mut changed_paths: BTreeMap<&[u8], bool> = steps.collect();
        for merge in &self.merges {
            if let (Some(ours), true) = (&merge.ours, merge.moves) {
                changed_paths.insert(ours, false);
            }
        }
        for relocation in self.relocations.iter().filter(|file| file.theirs.is_none()) {
            changed_paths.insert(&relocation.from, false);
        }
        changed_paths.extend(self.relocations.iter().map(|file| (&file.to[..], true)));
        changed_paths.extend(self.merges.iter().map(|merge| (&merge.dest[..], true)));
        changed_paths
    }
}

/// The treatment of local changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalChanges {
    /// They are merged if one of both changesets follows from the other; else the update is
    /// refused.
    #[default]
    Keep,
    /// They are merged.
    Merge,
    /// They stay; an update that would have to merge them is refused.
    KeepApart,
    /// They are given up.
    Discard,
    /// There must be none.
    Refuse,
}

impl LocalChanges {
    /// The treatment for a value of `commands.update.check`; without a known value it is [`LocalChanges::Keep`].
    pub fn of_setting(value: Option<&[u8]>) -> LocalChanges {
        match value {
            Some(b"abort") => LocalChanges::Refuse,
            Some(b"none") => LocalChanges::Merge,
            Some(b"noconflict") => LocalChanges::KeepApart,
            _ => LocalChanges::Keep,
        }
    }
}

pub(crate) struct Planner<'a> {
    pub repository: &'a Repository,
    pub stop: &'a Interrupt,
    pub dirstate: &'a Dirstate,
    pub from: &'a Tree<'a>,
    pub to: &'a Tree<'a>,
    /// The changesets of both.
    pub old: Option<Rev>,
    pub new: Option<Rev>,
    pub files: &'a WorkingFiles,
    pub untracked: &'a UntrackedFiles,
    pub local: LocalChanges,
    pub copies: CopyTraceMode,
    /// Whether one of the two changesets descends from the other.
    pub is_linear: bool,
    /// States of the tracked files that are not clean.
    pub local_states: HashMap<Vec<u8>, LocalState>,
}

impl Planner<'_> {
    pub fn plan(mut self) -> Result<Plan, WorkdirError> {
        let mut plan = Plan::default();
        let is_dirty = self.look_at_all(&mut plan)?;
        if self.old == self.new && self.local != LocalChanges::Discard {
            return Ok(plan);
        }
        let merges = is_dirty && self.local != LocalChanges::Discard && self.new.is_some();
        let follows = merges && self.copies != CopyTraceMode::Off;
        let renames = match follows {
            true => Renames::find(&self)?,
            false => Renames::default(),
        };
        let done = renames.plan(&self, &mut plan)?;
        let mut colliding = self.check_new_names(&plan)?;
        for (path, old, new) in differences(self.from, self.to)? {
            if plan.steps.contains_key(path) || done.contains(path) {
                continue;
            }
            match self.step(path, old, new)? {
                Decision::Do(step) => {
                    plan.steps.insert(path.to_vec(), step);
                }
                Decision::Nothing => {}
                Decision::Collides => {
                    colliding.push(path.to_vec());
                    let write = new.map(UpdateStep::Write);
                    plan.steps.extend(write.map(|step| (path.to_vec(), step)));
                }
                Decision::Merges => plan.merges.push(self.merge(path, (old, new), &renames)?),
            }
        }
        self.forget_missing(&mut plan)?;
        plan.copies = renames.report(&self, &plan.notes)?;
        let root = self.repository.root();
        plan.replaced = self.untracked.permit(root, colliding)?;
        if self.local == LocalChanges::KeepApart && !plan.merges.is_empty() {
            return Err(WorkdirError::Conflicting);
        }
        plan.merges.sort_by(|a, b| a.order().cmp(&b.order()));
        directories::check(self.files, &plan)?;
        plan.local_states = self.local_states;
        Ok(plan)
    }

    /// Looks at all tracked files: for changes that refuse the update, or that are given up.
    fn look_at_all(&mut self, plan: &mut Plan) -> Result<bool, WorkdirError> {
        let status = working_status(&StatusRequest {
            repository: self.repository,
            dirstate: self.dirstate,
            matcher: &Matcher::everything(),
            ignore: &Ignore::default(),
            listing: StatusLists::default(),
            stop: self.stop,
        })?
        .status;
        let is_dirty = !status.is_unchanged();
        match self.local {
            LocalChanges::Keep if is_dirty && !self.is_linear => {
                return Err(WorkdirError::NotLinear);
            }
            LocalChanges::Refuse if is_dirty => return Err(WorkdirError::UncommittedChanges),
            _ => {}
        }
        let Status {
            modified,
            added,
            removed,
            deleted,
            ..
        } = status;
        for (local_state, list) in [
            (LocalState::Modified, modified),
            (LocalState::Added, added),
            (LocalState::Removed, removed),
            (LocalState::Missing, deleted),
        ] {
            for path in list {
                if self.local == LocalChanges::Discard {
                    self.discard(&path, local_state, plan)?;
                }
                self.local_states.insert(path, local_state);
            }
        }
        Ok(is_dirty)
    }

    /// Plans to discard the changes of a file, for `--clean`.
    fn discard(
        &self,
        path: &[u8],
        local_state: LocalState,
        plan: &mut Plan,
    ) -> Result<(), WorkdirError> {
        let step = match (local_state, self.to.get(path)?) {
            (_, Some(tracked)) => UpdateStep::Write(tracked),
            (LocalState::Modified | LocalState::Clean, None) => UpdateStep::Remove,
            (_, None) => UpdateStep::Forget,
        };
        plan.steps.insert(path.to_vec(), step);
        Ok(())
    }

    /// The first parent.
    pub(super) fn parent(&self) -> Node {
        self.dirstate.parents()[0]
    }

    /// State of a file; one without an entry in the dirstate is unknown.
    pub(super) fn local_state(&self, path: &[u8]) -> LocalState {
        match self.local_states.get(path) {
            Some(local_state) => *local_state,
            None if self.dirstate.is_tracked(path) => LocalState::Clean,
            None => LocalState::Unknown,
        }
    }

    /// Whether a file is tracked and there.
    pub(super) fn is_here(&self, path: &[u8]) -> bool {
        matches!(
            self.local_state(path),
            LocalState::Clean | LocalState::Modified | LocalState::Added
        )
    }

    /// Whether a file of the first parent is no longer here.
    pub(super) fn is_gone(&self, path: &[u8]) -> bool {
        matches!(
            self.local_state(path),
            LocalState::Removed | LocalState::Missing
        )
    }

    /// New files that went away again are not tracked any more.
    fn forget_missing(&self, plan: &mut Plan) -> Result<(), WorkdirError> {
        for (path, local_state) in &self.local_states {
            let is_new = self.from.get(path)?.is_none() && self.to.get(path)?.is_none();
            if *local_state == LocalState::Missing && is_new {
                plan.steps.insert(path.clone(), UpdateStep::Forget);
            }
        }
        Ok(())
    }

    /// New paths of merged files that an untracked file occupies.
    fn check_new_names(&self, plan: &Plan) -> Result<Vec<Vec<u8>>, WorkdirError> {
        let mut colliding = Vec::new();
        for merge in &plan.merges {
            if let Some((path, new)) = &merge.theirs
                && !self.is_here(&merge.dest)
                && let Decision::Collides = self.collision(path, *new)?
            {
                colliding.push(merge.dest.clone());
            }
        }
        Ok(colliding)
    }

    /// Plans a file that differs between the two changesets.
    fn step(
        &self,
        path: &[u8],
        old: Option<TreeEntry>,
        new: Option<TreeEntry>,
    ) -> Result<Decision, WorkdirError> {
        Ok(match (self.local_state(path), old, new) {
            (LocalState::Clean, Some(old), Some(new)) if is_mode_only(old, new) => {
                Decision::Do(UpdateStep::Mode(new.1))
            }
            (LocalState::Clean, _, Some(new)) => Decision::Do(UpdateStep::Write(new)),
            (LocalState::Clean, _, None) => Decision::Do(UpdateStep::Remove),
            (LocalState::Removed | LocalState::Missing, _, None) => {
                Decision::Do(UpdateStep::Forget)
            }
            (LocalState::Added | LocalState::Unknown, _, None) => Decision::Nothing,
            (LocalState::Unknown, _, Some(new))
            | (LocalState::Removed | LocalState::Missing, None, Some(new)) => {
                self.collision(path, new)?
            }
            // Removed here, and there only its mode or its history differs.
            (LocalState::Removed | LocalState::Missing, Some(old), Some(new))
                if old.0 == new.0
                    || self.from.content(path, &old.0)? == self.to.content(path, &new.0)? =>
            {
                Decision::Do(UpdateStep::StayRemoved)
            }
            (LocalState::Modified, Some(old), Some(new)) if old.0 == new.0 => {
                self.mode_only(path, old, new)?
            }
            (LocalState::Modified, Some(old), None)
                if self.local != LocalChanges::KeepApart && self.is_same_content(path, old)? =>
            {
                Decision::Do(UpdateStep::Remove)
            }
            _ => Decision::Merges,
        })
    }

    /// Whether a file that is modified differs in its mode only.
    fn is_same_content(&self, path: &[u8], (node, _): TreeEntry) -> Result<bool, WorkdirError> {
        Ok(self.files.read(path)?.0 == self.from.content(path, &node)?)
    }

    /// The target has a file with another mode only, and here it is changed.
    fn mode_only(
        &self,
        path: &[u8],
        (_, old): TreeEntry,
        (_, new): TreeEntry,
    ) -> Result<Decision, WorkdirError> {
        let here = self.files.look(path)?.map(|found| kind_of(&found));
        Ok(match here {
            _ if [Some(old), Some(new), here].contains(&Some(FileKind::Symlink)) => {
                Decision::Merges
            }
            // Also a file that has the mode already: its entry in the dirstate becomes that of the target.
            Some(_) => Decision::Do(UpdateStep::Mode(new)),
            None => Decision::Nothing,
        })
    }

    fn merge(
        &self,
        path: &[u8],
        (old, new): (Option<TreeEntry>, Option<TreeEntry>),
        renames: &Renames,
    ) -> Result<MergeFile, WorkdirError> {
        let named = |tracked: Option<TreeEntry>| tracked.map(|tracked| (path.to_vec(), tracked));
        let mut base = named(old);
        if base.is_none()
            && let Some(source) = renames.source_of_both(path)
        {
            let tracked = self.from.get(source)?;
            base = tracked.map(|tracked| (source.to_vec(), tracked));
        }
        Ok(MergeFile {
            dest: path.to_vec(),
            ours: (!self.is_gone(path)).then(|| path.to_vec()),
            base,
            theirs: named(new),
            moves: false,
            ancestor: self.parent(),
        })
    }

    /// A file of the target that is on the disk and not tracked.
    fn collision(&self, path: &[u8], new: TreeEntry) -> Result<Decision, WorkdirError> {
        // Behind a link is another file. A link that does not go is refused when the directories are checked.
        if self.local == LocalChanges::Discard
            || self.files.stat(path)?.is_none()
            || self.files.is_behind_link(path)?
        {
            return Ok(Decision::Do(UpdateStep::Write(new)));
        }
        let (content, there) = self.files.read(path)?;
        let is_link = |kind| kind == FileKind::Symlink;
        let same = is_link(there) == is_link(new.1) && content == self.to.content(path, &new.0)?;
        Ok(if same {
            Decision::Do(UpdateStep::Write(new))
        } else {
            Decision::Collides
        })
    }
}

/// Whether two revisions of a file differ in whether it may be executed, and in nothing else.
fn is_mode_only(old: TreeEntry, new: TreeEntry) -> bool {
    old.0 == new.0 && old.1 != FileKind::Symlink && new.1 != FileKind::Symlink
}

enum Decision {
    Do(UpdateStep),
    Nothing,
    Collides,
    Merges,
}
