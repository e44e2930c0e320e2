//! What an update has to do, decided before anything is touched.

use crate::files::{folders_above, shown};
use crate::local::{Standing, standing};
use crate::tree::{Tracked, Tree};
use crate::{Dirstate, Ignore, Listing, StatusRequest, WorkdirError, WorkingFiles, working_status};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use varve_base::Interrupt;
use varve_repo::Repository;
use varve_repo::patterns::Matcher;

/// What happens to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Written as in the target.
    Write(Tracked),
    /// Already on the disk as in the target; only noted as clean.
    Note(Tracked),
    /// Taken away.
    Remove,
    /// Only forgotten; the file, if there is one, stays.
    Forget,
    /// In the target, and removed here: stays removed.
    StayRemoved,
}

/// Steps by path.
pub(crate) type Plan = BTreeMap<Vec<u8>, Step>;

/// What becomes of local changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Local {
    /// They stay; an update that would have to merge them is refused.
    #[default]
    Keep,
    /// They are given up.
    Discard,
    /// There must be none.
    Refuse,
}

pub(crate) struct Planner<'a> {
    pub repository: &'a Repository,
    pub stop: &'a Interrupt,
    pub dirstate: &'a Dirstate,
    pub from: &'a Tree<'a>,
    pub to: &'a Tree<'a>,
    pub files: &'a WorkingFiles,
    pub local: Local,
    /// Whether one of the two changesets descends from the other.
    pub is_linear: bool,
}

impl Planner<'_> {
    pub fn plan(self) -> Result<Plan, WorkdirError> {
        let mut plan = Plan::new();
        if self.local != Local::Keep || !self.is_linear {
            self.look_at_all(&mut plan)?;
        }
        let (mut colliding, mut merging) = (Vec::new(), Vec::new());
        for (path, old, new) in differences(self.from, self.to)? {
            if plan.contains_key(path) {
                continue;
            }
            match self.step(path, old, new)? {
                Decision::Do(step) => {
                    plan.insert(path.to_vec(), step);
                }
                Decision::Nothing => {}
                Decision::Collides => colliding.push(shown(path)),
                Decision::Merges => merging.push(shown(path)),
            }
        }
        if !colliding.is_empty() {
            return Err(WorkdirError::UntrackedDiffer(colliding));
        }
        if !merging.is_empty() {
            return Err(WorkdirError::NeedsMerge(merging));
        }
        self.check_folders(&plan)?;
        Ok(plan)
    }

    /// Looks at all tracked files: for changes that refuse the update, or that are given up.
    fn look_at_all(&self, plan: &mut Plan) -> Result<(), WorkdirError> {
        let status = working_status(&StatusRequest {
            repository: self.repository,
            dirstate: self.dirstate,
            matcher: &Matcher::everything(),
            ignore: &Ignore::default(),
            listing: Listing::default(),
            stop: self.stop,
        })?
        .status;
        if self.local != Local::Discard && !status.is_unchanged() {
            return Err(match self.local {
                Local::Keep => WorkdirError::NotLinear,
                _ => WorkdirError::UncommittedChanges,
            });
        }
        for (standing, list) in [
            (Standing::Modified, status.modified),
            (Standing::Added, status.added),
            (Standing::Removed, status.removed),
            (Standing::Missing, status.deleted),
        ] {
            for path in list {
                self.discard(path, standing, plan)?;
            }
        }
        Ok(())
    }

    /// What `--clean` does with a file that is not clean.
    fn discard(
        &self,
        path: Vec<u8>,
        standing: Standing,
        plan: &mut Plan,
    ) -> Result<(), WorkdirError> {
        let step = match (standing, self.to.get(&path)?) {
            (_, Some(tracked)) => Step::Write(tracked),
            (Standing::Added | Standing::Removed | Standing::Unknown, None) => Step::Forget,
            (_, None) => Step::Remove,
        };
        plan.insert(path, step);
        Ok(())
    }

    /// What happens to a file that the two changesets have in different forms.
    fn step(
        &self,
        path: &[u8],
        old: Option<Tracked>,
        new: Option<Tracked>,
    ) -> Result<Decision, WorkdirError> {
        let standing = standing(path, self.dirstate, self.from, self.files)?;
        Ok(match (standing, new) {
            (Standing::Clean, Some(new)) => Decision::Do(Step::Write(new)),
            (Standing::Clean, None) => Decision::Do(Step::Remove),
            (Standing::Removed | Standing::Missing, None) => Decision::Do(Step::Forget),
            (Standing::Added | Standing::Unknown, None) => Decision::Nothing,
            (Standing::Unknown, Some(new)) => self.collision(path, new)?,
            (Standing::Modified | Standing::Added, Some(new)) => {
                if self.is_on_disk(path, new)? {
                    Decision::Do(Step::Note(new))
                } else {
                    Decision::Merges
                }
            }
            // Removed here, and only its history differs.
            (Standing::Removed, Some(new))
                if old.is_some_and(|old| self.is_same(path, old, new)) =>
            {
                Decision::Do(Step::StayRemoved)
            }
            (Standing::Modified, None) | (Standing::Removed | Standing::Missing, Some(_)) => {
                Decision::Merges
            }
        })
    }

    fn is_same(&self, path: &[u8], old: Tracked, new: Tracked) -> bool {
        let content = |(node, _): Tracked| self.to.content(path, &node).ok();
        old.1 == new.1 && content(old) == content(new)
    }

    fn is_on_disk(&self, path: &[u8], (node, kind): Tracked) -> Result<bool, WorkdirError> {
        let (content, there) = self.files.read(path)?;
        Ok(kind == there && content == self.to.content(path, &node)?)
    }

    /// A file of the target that is on the disk and not tracked.
    fn collision(&self, path: &[u8], new: Tracked) -> Result<Decision, WorkdirError> {
        if self.files.seen(path)?.is_none() || self.local == Local::Discard {
            return Ok(Decision::Do(Step::Write(new)));
        }
        let (content, there) = self.files.read(path)?;
        let is_link = |kind| kind == varve_repo::FileKind::Symlink;
        let same = is_link(there) == is_link(new.1) && content == self.to.content(path, &new.0)?;
        Ok(if same {
            Decision::Do(Step::Write(new))
        } else {
            Decision::Collides
        })
    }

    /// Refuses to write below what is no folder, unless the plan removes it; into what is not this
    /// repository; and over a folder that will not be empty.
    fn check_folders(&self, plan: &Plan) -> Result<(), WorkdirError> {
        let goes = |path: &[u8]| matches!(plan.get(path), Some(Step::Remove));
        let mut seen: HashSet<&[u8]> = HashSet::new();
        for (path, step) in plan {
            let is_written = matches!(step, Step::Write(_));
            if !is_written && !matches!(step, Step::Remove) {
                continue;
            }
            let mut link_goes = false;
            for folder in folders_above(path) {
                link_goes |= goes(folder);
                if !is_written || !seen.insert(folder) || link_goes {
                    continue;
                }
                if let Some(found) = self.files.look(folder)?
                    && found.is_file()
                {
                    return Err(WorkdirError::NotAFolder {
                        path: self.files.path(path),
                    });
                }
            }
            if !link_goes {
                self.files.audit(path)?;
            }
            if is_written && self.files.look(path)?.is_some_and(|found| found.is_dir()) {
                self.check_goes_away(path, plan)?;
            }
        }
        Ok(())
    }

    /// Everything in a folder must be a file that the plan removes.
    fn check_goes_away(&self, folder: &[u8], plan: &Plan) -> Result<(), WorkdirError> {
        let path = self.files.path(folder);
        let wrong = |error| WorkdirError::io("list", &path)(error);
        for entry in std::fs::read_dir(&path).map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name();
            let inside = [folder, b"/", std::os::unix::ffi::OsStrExt::as_bytes(&*name)].concat();
            let found = self.files.look(&inside)?;
            if found.is_some_and(|found| found.is_dir()) {
                self.check_goes_away(&inside, plan)?;
            } else if !matches!(plan.get(&inside), Some(Step::Remove)) {
                return Err(WorkdirError::FolderInTheWay {
                    folder: shown(folder),
                });
            }
        }
        Ok(())
    }
}

enum Decision {
    Do(Step),
    Nothing,
    Collides,
    Merges,
}

type Difference<'a> = (&'a [u8], Option<Tracked>, Option<Tracked>);

/// Files that differ between two changesets, in one pass over both manifests.
pub(crate) fn differences<'a>(
    from: &'a Tree<'_>,
    to: &'a Tree<'_>,
) -> Result<Vec<Difference<'a>>, WorkdirError> {
    let (mut old, mut new) = (from.iter(), to.iter());
    let (mut left, mut right) = (old.next().transpose()?, new.next().transpose()?);
    let mut found = Vec::new();
    loop {
        let order = match (&left, &right) {
            (None, None) => return Ok(found),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.path.cmp(right.path),
        };
        let before = left.filter(|_| order.is_le());
        let after = right.filter(|_| order.is_ge());
        if let Some(path) = before.or(after).map(|entry| entry.path)
            && before != after
        {
            let tracked = |entry: varve_repo::ManifestEntry<'_>| (entry.node, entry.kind);
            found.push((path, before.map(tracked), after.map(tracked)));
        }
        if order.is_le() {
            left = old.next().transpose()?;
        }
        if order.is_ge() {
            right = new.next().transpose()?;
        }
    }
}
