//! A working copy beside a model of it: the content of each file, in memory.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use varve_base::{DiskStorage, Interrupt};
use varve_lang::patterns::{MatchRequest, Matcher, NameCheck, PatternKind, RegexEngine};
use varve_repo::{
    CommitBatch, FileChange, FileKind, NewChangeset, Node, Phase, RepoView, Repository,
    StorageSettings, ViewFilter,
};
use varve_workdir::{
    Backups, Dirstate, IgnoreFiles, LocalChanges, MarkerStyle, MergeBase, MergeLabels,
    MergeOptions, MergeRequest, MergeTool, Resolution, Status, StatusLists, StatusRequest,
    ToolSelection, Tree, UpdateEvent, UpdateObserver, UpdateQuestion, UpdateRequest, UpdateStats,
    WorkdirError, WorkingStatus, merge_changeset, update, working_status,
};

/// Content and kind of a file.
pub type Content = (Vec<u8>, FileKind);

/// Files by path.
pub type Files = BTreeMap<String, Content>;

/// Some files of few paths, none of which is a directory of another.
pub fn files() -> impl Strategy<Value = Files> {
    let path = prop::sample::select(&["a", "b", "d/a", "d/b", "d/e/a", "f.o", "z"][..]);
    let content = prop::sample::select(&["", "one\n", "two\n", "one\ntwo\nthree\n"][..]);
    let kind = prop::sample::select(&[FileKind::Plain, FileKind::Plain, FileKind::Executable][..]);
    let file = (content, kind).prop_map(|(content, kind)| (content.as_bytes().to_vec(), kind));
    proptest::collection::btree_map(path.prop_map(str::to_owned), file, 0..7)
}

/// A plain file.
pub fn file(content: &str) -> Content {
    (content.as_bytes().to_vec(), FileKind::Plain)
}

/// Plain files with these contents.
pub fn plain_files(all: &[(&str, &str)]) -> Files {
    let all = all.iter();
    all.map(|(path, content)| ((*path).to_owned(), file(content)))
        .collect()
}

/// The files of a changeset.
pub fn files_of(view: &RepoView, node: &Node) -> Files {
    let tree = Tree::of(view, view.changelog().rev(node)).unwrap();
    let entries = tree.iter().map(|entry| {
        let entry = entry.unwrap();
        let content = tree.content(entry.path, &entry.node).unwrap();
        let path = String::from_utf8(entry.path.to_vec()).unwrap();
        (path, (content, entry.kind))
    });
    entries.collect()
}

/// A transaction for changesets.
pub fn begin(repository: &Repository) -> CommitBatch {
    let options = StorageSettings::default().write_options(repository.requirements());
    repository.begin(options).unwrap()
}

/// Commits `files` as a whole over `parents`, the first of which has the files `before`.
pub fn commit_files(
    repository: &Repository,
    parents: [Node; 2],
    before: &Files,
    files: &Files,
) -> Node {
    let mut batch = begin(repository);
    let removed = before.keys().filter(|path| !files.contains_key(*path));
    let mut changes: Vec<FileChange<'_>> = removed
        .map(|path| FileChange::Remove {
            path: path.as_bytes(),
        })
        .collect();
    let written = files
        .iter()
        .filter(|(path, file)| before.get(*path) != Some(file));
    changes.extend(written.map(|(path, (content, kind))| FileChange::Write {
        path: path.as_bytes(),
        content,
        kind: *kind,
        copied_from: None,
    }));
    let new = NewChangeset {
        parents,
        user: b"Ada",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: b"files",
        phase: Phase::Draft,
        changes: &changes,
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap()
}

/// A repository with a working copy in a directory of its own.
pub struct WorkingCopy {
    pub directory: TempDir,
    pub repository: Repository,
}

/// A working copy at the first of two changesets, and both of these.
pub fn at_first_of_two(old: &Files, new: &Files) -> (WorkingCopy, Node, Node) {
    let copy = WorkingCopy::new();
    let first = copy.commit(Node::NULL, &Files::new(), old);
    let second = copy.commit(first, old, new);
    copy.update(first, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    (copy, first, second)
}

impl WorkingCopy {
    pub fn new() -> WorkingCopy {
        let directory = tempfile::tempdir().unwrap();
        let storage = Arc::new(DiskStorage::new(""));
        let repository = Repository::create(storage, directory.path()).unwrap();
        WorkingCopy {
            directory,
            repository,
        }
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    pub fn view(&self) -> Arc<RepoView> {
        self.repository.view_for(ViewFilter::Unfiltered).unwrap()
    }

    /// Commits `files` as a whole over `parent`, without the working copy.
    pub fn commit(&self, parent: Node, before: &Files, files: &Files) -> Node {
        commit_files(&self.repository, [parent, Node::NULL], before, files)
    }

    /// Brings what `other` has changed since `base` to the working copy.
    pub fn bring(&self, base: Node, other: Node, tool: MergeTool) -> UpdateStats {
        let view = self.view();
        let rev = |node: &Node| view.changelog().rev(node);
        let request = MergeRequest {
            repository: &self.repository,
            view: &view,
            other: rev(&other).unwrap(),
            base: MergeBase::Chosen(rev(&base)),
            keeps_changes: false,
            tool: &MergeOptions {
                markers: MarkerStyle::Basic,
                chosen: ToolSelection::Forced(tool),
                backups: Backups::None,
                ..MergeOptions::default()
            },
            labels: &MergeLabels::of_graft(),
            progress: &varve_base::Silent,
            stop: &Interrupt::default(),
        };
        merge_changeset(&request, &mut self.dirstate(), &mut Recording::default()).unwrap()
    }

    /// Writes one file, over whatever is there.
    pub fn write(&self, path: &str, (content, kind): &Content) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let mode = if *kind == FileKind::Executable {
            0o755
        } else {
            0o644
        };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap();
    }

    /// All files on the disk, but those of the repository itself.
    pub fn on_disk(&self) -> Files {
        let mut found = Files::new();
        read_directory(self.directory.path(), "", &mut found);
        found
    }

    pub fn dirstate(&self) -> Dirstate {
        Dirstate::read(&self.repository).unwrap()
    }

    /// Status with all lists, after the ignore files.
    /// Matches files that are, or are below, one of `names`; all without a name.
    pub fn named(&self, names: &[&str]) -> Matcher {
        let patterns: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let request = MatchRequest {
            root: self.repository.root(),
            cwd: self.repository.root(),
            patterns: &patterns,
            include: &[],
            exclude: &[],
            default: PatternKind::RelPath,
            engine: RegexEngine::Linear,
            files: None,
        };
        Matcher::new(&request, &NameCheck).unwrap()
    }

    pub fn status_of(&self, dirstate: &Dirstate) -> WorkingStatus {
        let files = IgnoreFiles::read(self.repository.root(), &[]).unwrap();
        let request = StatusRequest {
            repository: &self.repository,
            dirstate,
            matcher: &Matcher::everything(),
            ignore: &files.ignore,
            listing: StatusLists {
                unknown: true,
                ignored: true,
                clean: true,
            },
            stop: &Interrupt::default(),
        };
        working_status(&request).unwrap()
    }

    pub fn status(&self) -> Status {
        self.status_of(&self.dirstate()).status
    }

    /// Updates to a changeset, or to the null revision.
    pub fn update(
        &self,
        target: Node,
        local: LocalChanges,
        tool: MergeTool,
    ) -> Result<(UpdateStats, Vec<String>), WorkdirError> {
        let view = self.view();
        let options = MergeOptions {
            markers: MarkerStyle::Basic,
            chosen: ToolSelection::Forced(tool),
            backups: Backups::None,
            ..MergeOptions::default()
        };
        let request = UpdateRequest {
            repository: &self.repository,
            view: &view,
            target: view.changelog().rev(&target),
            local,
            tool: &options,
            progress: &varve_base::Silent,
            stop: &Interrupt::default(),
        };
        let mut observer = Recording::default();
        let mut dirstate = self.dirstate();
        let stats = update(&request, &mut dirstate, &mut observer)?;
        Ok((stats, observer.0))
    }
}

/// Records events, and decides nothing.
#[derive(Default)]
pub struct Recording(pub Vec<String>);

impl UpdateObserver for Recording {
    fn on_event(&mut self, event: &UpdateEvent<'_>) {
        self.0.push(format!("{event:?}"));
    }

    fn decide(&mut self, _: &UpdateQuestion<'_>) -> Resolution {
        Resolution::Unresolved
    }
}

fn read_directory(directory: &Path, prefix: &str, found: &mut Files) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name == ".hg" {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type().unwrap().is_dir() {
            read_directory(&entry.path(), &format!("{path}/"), found);
            continue;
        }
        let mode = entry.metadata().unwrap().permissions().mode();
        let kind = match mode & 0o100 {
            0 => FileKind::Plain,
            _ => FileKind::Executable,
        };
        found.insert(path, (std::fs::read(entry.path()).unwrap(), kind));
    }
}

/// Paths of a list of a status.
pub fn paths(list: &[Vec<u8>]) -> BTreeSet<String> {
    let paths = list.iter().map(|path| String::from_utf8(path.clone()));
    paths.map(Result::unwrap).collect()
}

/// The lists of a status as one map from path to letter, as `hg status -A` prints them.
pub fn letters(status: &Status) -> BTreeMap<String, char> {
    let lists = [
        ('M', &status.modified),
        ('A', &status.added),
        ('R', &status.removed),
        ('!', &status.deleted),
        ('?', &status.unknown),
        ('I', &status.ignored),
        ('C', &status.clean),
    ];
    let mut found = BTreeMap::new();
    for (letter, list) in lists {
        assert!(list.is_sorted(), "{list:?}");
        for path in paths(list) {
            assert_eq!(
                found.insert(path.clone(), letter),
                None,
                "{path} is in two lists"
            );
        }
    }
    found
}
