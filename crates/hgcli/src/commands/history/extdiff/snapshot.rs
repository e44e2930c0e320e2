//! Copies of files for a program that compares directories.

use super::{described, label};
use crate::context::Repo;
use crate::render::diff::{DiffSide, DiffedFile};
use crate::ui::{Abort, Ui, short_hex};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use varve_repo::{FileKind, RepoView, Rev};
use varve_workdir::WorkingFiles;

/// A side of the comparison.
#[derive(Debug)]
pub(super) struct Side {
    pub rev: DiffSide,
    /// Name of its directory.
    pub name: Vec<u8>,
    /// Empty for the working directory.
    pub label: Vec<u8>,
}

impl Side {
    fn new(view: &RepoView, base: &[u8], rev: DiffSide) -> Side {
        match rev {
            DiffSide::Rev(rev) => {
                let node = view.changelog().node_or_null(rev);
                Side {
                    rev: DiffSide::Rev(rev),
                    name: [base, b".", short_hex(&node).as_bytes()].concat(),
                    label: label(rev),
                }
            }
            DiffSide::Working => Side {
                rev,
                name: base.to_vec(),
                label: Vec::new(),
            },
        }
    }

    pub(super) fn label_of(&self, path: &[u8]) -> Vec<u8> {
        [path, &self.label].concat()
    }
}

/// A copy of a file of the working directory, which a program may change.
#[derive(Debug)]
struct EditableCopy {
    path: Vec<u8>,
    content: Vec<u8>,
}

/// The directories of both sides.
#[derive(Debug)]
pub(super) struct Copies {
    pub directory: PathBuf,
    pub before: Side,
    pub after: Side,
    /// The working directory, if a file in it is compared as it is.
    original: Option<PathBuf>,
    editable: Vec<EditableCopy>,
}

impl Copies {
    pub(super) fn make(
        repo: &Repo,
        ui: &mut Ui,
        view: &RepoView,
        ((from, to), files): ((DiffSide, DiffSide), &[DiffedFile]),
        directory: &Path,
    ) -> Result<Copies, Abort> {
        let root = repo.root()?;
        let base = root.file_name().map_or(&b"root"[..], OsStrExt::as_bytes);
        let mut copies = Copies {
            directory: directory.to_owned(),
            before: Side::new(view, base, from),
            after: Side::new(view, base, to),
            original: None,
            editable: Vec::new(),
        };
        let is_one = files.len() == 1;
        for is_after in [false, true] {
            let side = if is_after {
                &copies.after
            } else {
                &copies.before
            };
            let there = files.iter().filter(|file| match is_after {
                true => file.new.is_some(),
                false => file.old.is_some(),
            });
            let paths: Vec<&[u8]> = there.map(|file| &file.path[..]).collect();
            if side.rev == DiffSide::Working && is_one {
                copies.original = Some(root.to_owned());
                continue;
            }
            ui.note(format!(
                "making snapshot of {} files from {}\n",
                paths.len(),
                described(view, side)
            ))?;
            let made = make_side(repo, ui, view, (side, &paths), directory)?;
            copies.editable.extend(made);
        }
        Ok(copies)
    }

    /// The place of one file on a side; `/dev/null` for one that is not there, if the place is to be absolute.
    pub(super) fn place_of_one(
        &self,
        side: &Side,
        is_there: bool,
        path: &[u8],
        is_absolute: bool,
    ) -> Vec<u8> {
        if !is_there && is_absolute {
            return b"/dev/null".to_vec();
        }
        match (&self.original, side.rev) {
            (Some(root), DiffSide::Working) => joined(root, path),
            _ => {
                let relative = [&side.name[..], b"/", path].concat();
                match is_absolute {
                    true => joined(&self.directory, &relative),
                    false => relative,
                }
            }
        }
    }

    /// Copies what the program has changed back to the working directory.
    pub(super) fn take_back(&self, ui: &mut Ui, repo: &Repo) -> Result<(), Abort> {
        let files = WorkingFiles::new(repo.root()?);
        let name = |path: &[u8]| [&self.after.name[..], b"/", path].concat();
        for copy in &self.editable {
            let source = joined(&self.directory, &name(&copy.path));
            let source = PathBuf::from(OsString::from_vec(source));
            let Ok(content) = fs::read(&source) else {
                continue;
            };
            if content != copy.content {
                let shown = [
                    copy.path.as_slice(),
                    b" (src: ",
                    source.as_os_str().as_bytes(),
                    b")\n",
                ];
                let words = b"file changed while diffing. Overwriting: ";
                ui.debug([&words[..], &shown.concat()].concat())?;
                // A program may have put a link in the way.
                files.audit(&copy.path)?;
                files.replace(&copy.path, &content)?;
            }
        }
        Ok(())
    }
}

fn joined(directory: &Path, path: &[u8]) -> Vec<u8> {
    [directory.as_os_str().as_bytes(), b"/", path].concat()
}

/// Writes the files of one side; those of the working directory may be changed by the program.
fn make_side(
    repo: &Repo,
    ui: &mut Ui,
    view: &RepoView,
    (side, paths): (&Side, &[&[u8]]),
    directory: &Path,
) -> Result<Vec<EditableCopy>, Abort> {
    let target = directory.join(OsStr::from_bytes(&side.name));
    fs::create_dir_all(&target).map_err(|error| Abort::file(&error, &target))?;
    let to = WorkingFiles::new(&target);
    let mut editable = Vec::new();
    for path in paths {
        ui.note([b"  ", *path, b"\n"].concat())?;
        ui.stop.check().map_err(varve_workdir::WorkdirError::from)?;
        to.make_directories(path)?;
        match side.rev {
            DiffSide::Working => {
                let (content, kind) = WorkingFiles::new(repo.root()?).read(path)?;
                to.write(path, &content, kind)?;
                if kind != FileKind::Symlink {
                    let path = path.to_vec();
                    editable.push(EditableCopy { path, content });
                }
            }
            DiffSide::Rev(rev) => write_committed(view, rev, path, &to)?,
        }
    }
    Ok(editable)
}

/// The file has the time of its changeset.
fn write_committed(
    view: &RepoView,
    rev: Option<Rev>,
    path: &[u8],
    to: &WorkingFiles,
) -> Result<(), Abort> {
    let text = view.manifest_text(rev)?;
    let (Some(rev), Some(entry)) = (rev, view.find_in_manifest(&text, path)?) else {
        return Ok(());
    };
    let content = view.file_content(path, &entry.node)?;
    let content = WorkingFiles::of_view(view)
        .decoded(path, &content)?
        .into_owned();
    to.write(path, &content, entry.kind)?;
    if entry.kind == FileKind::Symlink {
        return Ok(());
    }
    let seconds = view.with_changeset(rev, |changeset| changeset.time)?;
    let time = UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let place = to.path(path);
    let file = File::options().write(true).open(&place);
    // A time that the file system does not take is only less pretty.
    if let Ok(file) = file {
        let _ = file.set_modified(time);
    }
    Ok(())
}
