//! Merging the files that both sides have changed, one after another.

mod described;
mod file;
mod lines;
mod observer;
mod outcome;
mod partial;
mod program;
mod replaced;

pub(crate) use file::MergeFile;
pub use observer::{
    Comparison, DescribedSide, MergedVersion, Resolution, ToolCheck, ToolRun, ToolSide,
    UpdateEvent, UpdateObserver, UpdateQuestion,
};
pub use outcome::UpdateStats;
pub(crate) use outcome::{Outcome, note_possibly_dirty};
pub(crate) use replaced::{keep_replaced, tell_replaced};

use crate::merge::{FileTraits, PickedTool, ToolTable, Version, is_binary, merge_kinds};
use crate::merge_state::{FileExtras, MergeState};
use crate::tree::TreeEntry;
use crate::{
    MergeLabels, MergeOptions, MergeTool, Stat, ToolSelection, WorkdirError, WorkingFiles,
};
use outcome::{End, state};
use program::FileSides;
use varve_base::Interrupt;
use varve_repo::{FileKind, Node, RepoView, Repository};

/// The repository and options of the merges of one call.
#[derive(Clone, Copy)]
pub(crate) struct MergeSettings<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// Has the versions of both sides.
    pub view: &'a RepoView,
    /// The merge tool.
    pub tool: &'a MergeOptions,
    /// The names of the sides.
    pub labels: &'a MergeLabels,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// A file to be merged and its content in the working copy.
type Prepared = (MergeFile, Option<Version>);

pub(crate) struct Merger<'a, 'b> {
    settings: MergeSettings<'a>,
    files: WorkingFiles,
    prepared: Vec<Prepared>,
    /// The changesets of both sides.
    parents: [Node; 2],
    pub(crate) observer: &'b mut dyn UpdateObserver,
}

impl<'a, 'b> Merger<'a, 'b> {
    /// Reads our side of all files, before any is written; refuses files that cannot be merged.
    pub(crate) fn prepare(
        settings: MergeSettings<'a>,
        merges: &[MergeFile],
        observer: &'b mut dyn UpdateObserver,
    ) -> Result<Self, WorkdirError> {
        let files = WorkingFiles::of(settings.repository);
        let mut prepared = Vec::new();
        for file in merges {
            let ours = match &file.ours {
                Some(path) => {
                    let (content, kind) = files.read(path)?;
                    Some(Version { content, kind })
                }
                None => None,
            };
            prepared.push((file.clone(), ours));
        }
        let merger = Merger {
            settings,
            files,
            prepared,
            parents: [Node::NULL; 2],
            observer,
        };
        if let ToolSelection::Table(table) = &settings.tool.chosen {
            merger.check_settings(table)?;
        }
        Ok(merger)
    }

    /// Refuses wrong settings of tools before anything is changed.
    fn check_settings(&self, table: &ToolTable) -> Result<(), WorkdirError> {
        for (file, _) in &self.prepared {
            let picked = table.pick(&file.dest, FileTraits::default(), &mut |_, _, _| {})?;
            if let PickedTool::Program(program) = picked {
                table.premerge(&program)?;
            }
        }
        Ok(())
    }

    /// Keeps our side of all files, for a later try.
    pub(crate) fn keep(&self) -> Result<(), WorkdirError> {
        for (file, ours) in &self.prepared {
            if let (Some(path), Some(ours)) = (&file.ours, ours) {
                MergeState::keep(self.settings.repository, path, &ours.content)?;
            }
        }
        Ok(())
    }

    /// Merges everything and writes the state of the merge, with `extras` about other files; nothing is written if there
    /// is nothing to tell.
    pub(crate) fn merge_all(
        mut self,
        [local, other]: [Node; 2],
        extras: FileExtras,
    ) -> Result<Vec<Outcome>, WorkdirError> {
        self.parents = [local, other];
        let mut outcomes = Vec::new();
        let mut states = Vec::new();
        for (file, ours) in std::mem::take(&mut self.prepared) {
            self.settings.stop.check()?;
            self.observer
                .on_event(&UpdateEvent::Decided(&file.dest, &file.reason()));
            let kind = ours.as_ref().map_or(FileKind::Plain, |ours| ours.kind);
            let outcome = self.merge_one(file, ours)?;
            states.push(state(&outcome, kind));
            outcomes.push(outcome);
        }
        if !outcomes.is_empty() || !extras.is_empty() {
            let labels = self.settings.labels.clone();
            let mut state = MergeState::new(local, other, labels);
            state.extras = extras;
            states.into_iter().for_each(|file| state.add(file));
            state.write(self.settings.repository)?;
        }
        Ok(outcomes)
    }

    /// Merges a file once more: puts our version into its place before, whatever has become of it.
    pub(crate) fn merge_again(
        &mut self,
        file: MergeFile,
        ours: Option<Version>,
        parents: [Node; 2],
    ) -> Result<Outcome, WorkdirError> {
        self.parents = parents;
        match &ours {
            Some(version) => drop(self.write(&file.dest, version)?),
            None => drop(self.files.remove(&file.dest)?),
        }
        // The version is now where the result will be.
        let file = MergeFile {
            moves: false,
            ..file
        };
        self.merge_one(file, ours)
    }

    fn merge_one(
        &mut self,
        file: MergeFile,
        ours: Option<Version>,
    ) -> Result<Outcome, WorkdirError> {
        let theirs = self.theirs(&file)?;
        let (end, result) = match (&ours, &theirs) {
            (Some(ours), Some(theirs)) => self.merge_versions(&file, ours, theirs)?,
            _ => self.merge_deleted(&file, &ours, &theirs)?,
        };
        if let (Some(path), true) = (&file.ours, file.moves) {
            self.files.remove(path)?;
        }
        let mut clean = None;
        match &result {
            None if end == End::Deleted => drop(self.files.remove(&file.dest)?),
            Some(result)
                if ours.as_ref() != Some(result) || file.ours.as_ref() != Some(&file.dest) =>
            {
                let seen = self.write(&file.dest, result)?;
                clean = (theirs.as_ref() == Some(result)).then_some(seen);
            }
            Some(result) if theirs.as_ref() == Some(result) => {
                clean = self.files.stat(&file.dest)?;
            }
            _ => {}
        }
        Ok(Outcome { file, end, clean })
    }

    fn write(&self, path: &[u8], version: &Version) -> Result<Stat, WorkdirError> {
        self.files.audit(path)?;
        self.files.make_directories(path)?;
        self.files.write(path, &version.content, version.kind)
    }

    fn version(
        &self,
        side: &Option<(Vec<u8>, TreeEntry)>,
    ) -> Result<Option<Version>, WorkdirError> {
        let Some((path, (node, kind))) = side else {
            return Ok(None);
        };
        let content = self.settings.view.file_content(path, node)?;
        Ok(Some(Version {
            content,
            kind: *kind,
        }))
    }

    fn theirs(&self, file: &MergeFile) -> Result<Option<Version>, WorkdirError> {
        self.version(&file.theirs)
    }

    fn base(&self, file: &MergeFile) -> Result<Option<Version>, WorkdirError> {
        self.version(&file.base)
    }

    /// A file that one side has deleted.
    fn merge_deleted(
        &mut self,
        file: &MergeFile,
        ours: &Option<Version>,
        theirs: &Option<Version>,
    ) -> Result<(End, Option<Version>), WorkdirError> {
        let traits = FileTraits {
            deleted: true,
            ..FileTraits::default()
        };
        let options = self.settings.tool;
        let tool = match &options.chosen {
            ToolSelection::Forced(tool) if tool.takes_deleted() => *tool,
            ToolSelection::Table(table) => match self.pick(table, &file.dest, traits)? {
                PickedTool::Internal(tool) => tool,
                PickedTool::Program(_) | PickedTool::Nothing => MergeTool::Prompt,
            },
            ToolSelection::Default => {
                self.observer.on_event(&UpdateEvent::NoToolConfigured);
                MergeTool::Prompt
            }
            _ => MergeTool::Prompt,
        };
        self.on_picked(&PickedTool::Internal(tool), &file.dest, traits);
        let answer = match tool {
            MergeTool::Local => Resolution::Ours,
            MergeTool::Other => Resolution::Theirs,
            MergeTool::Prompt if ours.is_some() => self
                .observer
                .decide(&UpdateQuestion::DeletedThere(&file.dest)),
            MergeTool::Prompt => self
                .observer
                .decide(&UpdateQuestion::DeletedHere(&file.dest)),
            _ => Resolution::Unresolved,
        };
        let (end, side) = match answer {
            Resolution::Ours => (End::Resolved, ours),
            Resolution::Theirs => (End::Resolved, theirs),
            // The existing version stays for the user to decide about.
            Resolution::Unresolved => (End::Unresolved, if ours.is_some() { ours } else { theirs }),
        };
        Ok(match side {
            Some(version) => (end, Some(version.clone())),
            None => (End::Deleted, None),
        })
    }

    /// The tool of the configuration for a file; the observer learns which were passed over.
    fn pick(
        &mut self,
        table: &ToolTable,
        path: &[u8],
        traits: FileTraits,
    ) -> Result<PickedTool, WorkdirError> {
        let observer = &mut *self.observer;
        table.pick(path, traits, &mut |tool, pattern, obstacle| {
            observer.on_event(&UpdateEvent::ToolObstacle {
                tool,
                pattern,
                obstacle,
            });
        })
    }

    fn merge_versions(
        &mut self,
        file: &MergeFile,
        ours: &Version,
        theirs: &Version,
    ) -> Result<(End, Option<Version>), WorkdirError> {
        let base = self.base(file)?;
        let base_kind = base.as_ref().map(|base| base.kind);
        let (kind, is_unclear) = merge_kinds(base_kind, ours.kind, theirs.kind);
        let has_link = ours.is_link() || theirs.is_link();
        if is_unclear && !has_link {
            self.observer.on_event(&UpdateEvent::KeepsMode(&file.dest));
        }
        let with_kind = |content: &[u8]| Version {
            content: content.to_vec(),
            kind: if has_link { ours.kind } else { kind },
        };
        if ours.content == theirs.content && ours.is_link() == theirs.is_link() {
            return Ok((End::Same, Some(with_kind(&ours.content))));
        }
        let end = |resolved| {
            if resolved {
                End::Resolved
            } else {
                End::Unresolved
            }
        };
        let options = self.settings.tool;
        let traits = traits_of(&base, ours, theirs);
        let picked = match &options.chosen {
            ToolSelection::Table(table) => self.pick_for(table, file, traits)?,
            _ => PickedTool::Internal(self.tool(file, &base, ours, theirs)),
        };
        self.on_picked(&picked, &file.dest, traits);
        let tool = match (picked, &options.chosen) {
            (PickedTool::Program(program), ToolSelection::Table(table)) => {
                let ours = &with_kind(&ours.content);
                let base = &base;
                let sides = FileSides { base, ours, theirs };
                let merged = self.merge_by_program((table, &program), file, &sides)?;
                return Ok((end(merged.1), merged.0));
            }
            (PickedTool::Internal(tool), _) => tool,
            _ => MergeTool::Prompt,
        };
        let answer = match tool {
            MergeTool::Local => Resolution::Ours,
            MergeTool::Other => Resolution::Theirs,
            MergeTool::Fail => Resolution::Unresolved,
            MergeTool::Prompt => self.observer.decide(&UpdateQuestion::WhoseFile(&file.dest)),
            MergeTool::Tags => {
                let (content, resolved) = self.merge_tags(file, &base, ours, theirs)?;
                return Ok((end(resolved), Some(with_kind(&content))));
            }
            _ => {
                let (content, resolved) = self.merge_lines(tool, file, &base, ours, theirs)?;
                return Ok((end(resolved), Some(with_kind(&content))));
            }
        };
        Ok(match answer {
            Resolution::Theirs => (End::Resolved, Some(theirs.clone())),
            Resolution::Ours => (End::Resolved, Some(with_kind(&ours.content))),
            Resolution::Unresolved => (End::Unresolved, Some(with_kind(&ours.content))),
        })
    }

    /// The tool of the configuration for a file that there is on both sides.
    fn pick_for(
        &mut self,
        table: &ToolTable,
        file: &MergeFile,
        traits: FileTraits,
    ) -> Result<PickedTool, WorkdirError> {
        let picked = self.pick(table, &file.dest, traits)?;
        if picked == PickedTool::Nothing {
            self.observer.on_event(&UpdateEvent::NoTool(&file.dest));
        }
        Ok(picked)
    }

    fn on_picked(&mut self, picked: &PickedTool, path: &[u8], traits: FileTraits) {
        self.observer.on_event(&UpdateEvent::ToolPicked {
            tool: &picked.name(),
            path,
            traits,
        });
    }

    /// Which tool merges a file that there is on both sides.
    fn tool(
        &mut self,
        file: &MergeFile,
        base: &Option<Version>,
        ours: &Version,
        theirs: &Version,
    ) -> MergeTool {
        let prompts = needs_prompt(base, ours, theirs);
        let default = match &self.settings.tool.chosen {
            ToolSelection::Forced(tool) => return *tool,
            ToolSelection::Default => {
                self.observer.on_event(&UpdateEvent::NoToolConfigured);
                MergeTool::Merge
            }
            ToolSelection::Table(_) => MergeTool::Merge,
        };
        if prompts {
            self.observer.on_event(&UpdateEvent::NoTool(&file.dest));
            return MergeTool::Prompt;
        }
        default
    }
}

/// The properties of a file that there is on both sides.
fn traits_of(base: &Option<Version>, ours: &Version, theirs: &Version) -> FileTraits {
    let mut sides = [Some(ours), Some(theirs), base.as_ref()]
        .into_iter()
        .flatten();
    FileTraits {
        binary: sides.any(|side| is_binary(&side.content)),
        symlink: [ours, theirs].into_iter().any(Version::is_link),
        deleted: false,
    }
}

/// Whether a file has no lines that could be merged.
fn needs_prompt(base: &Option<Version>, ours: &Version, theirs: &Version) -> bool {
    let sides = [Some(ours), Some(theirs), base.as_ref()];
    let no_lines = |side: &Version| side.is_link() || is_binary(&side.content);
    sides.into_iter().flatten().any(no_lines)
}
