//! Merging the files that both sides have changed, one after another.

use super::outcome::{End, Outcome, state};
use super::plan::{MergeFile, Plan, UpdateStep};
use super::{RenameNote, Resolution, UpdateEvent, UpdateObserver, UpdateQuestion, UpdateRequest};
use crate::merge::{Merged, Version, is_binary, merge_kinds, merge_texts};
use crate::merge_state::MergeState;
use crate::tree::TreeEntry;
use crate::{MergeTool, Stat, ToolSelection, Tree, WorkdirError, WorkingFiles};
use varve_repo::{FileKind, Node};

/// A file to be merged and its content in the working copy.
type Prepared = (MergeFile, Option<Version>);

pub(super) struct Merger<'a, 'b> {
    request: &'a UpdateRequest<'a>,
    to: &'a Tree<'a>,
    files: WorkingFiles,
    prepared: Vec<Prepared>,
    observer: &'b mut dyn UpdateObserver,
}

impl<'a, 'b> Merger<'a, 'b> {
    /// Reads our side of all files, before any is written; refuses files that cannot be merged.
    pub(super) fn prepare(
        request: &'a UpdateRequest<'a>,
        to: &'a Tree<'a>,
        plan: &Plan,
        observer: &'b mut dyn UpdateObserver,
    ) -> Result<Self, WorkdirError> {
        let files = WorkingFiles::new(request.repository.root());
        let mut prepared = Vec::new();
        for file in &plan.merges {
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
            request,
            to,
            files,
            prepared,
            observer,
        };
        if let ToolSelection::Unsupported(name) = &request.tool.chosen {
            merger.refuse_conflicts(name)?;
        }
        Ok(merger)
    }

    /// Only files that merge without conflict need no tool.
    fn refuse_conflicts(&self, name: &str) -> Result<(), WorkdirError> {
        for (file, ours) in &self.prepared {
            let (Some(ours), Some(theirs)) = (ours, self.theirs(file)?) else {
                continue;
            };
            let base = self.base(file)?;
            let by_lines = !needs_prompt(&base, ours, &theirs);
            let conflicts = || {
                let base = base.as_ref().map_or(&b""[..], |base| &base.content);
                merge_texts(MergeTool::Merge, base, &ours.content, &theirs.content).conflicts
            };
            if ours.content != theirs.content && (!by_lines || conflicts()) {
                return Err(WorkdirError::UnsupportedTool(name.to_owned()));
            }
        }
        Ok(())
    }

    /// Reports the plan to the observer.
    pub(super) fn report(&mut self, plan: &Plan) {
        self.observer.on_event(&UpdateEvent::Planned);
        for note in &plan.notes {
            let event = match note {
                RenameNote::Twice(source, names) => UpdateEvent::RenamedTwice { source, names },
                RenameNote::Deleted(source, names) => {
                    UpdateEvent::RenamedAndDeleted { source, names }
                }
            };
            self.observer.on_event(&event);
        }
        for (path, _) in plan
            .steps
            .iter()
            .filter(|(_, step)| **step == UpdateStep::Remove)
        {
            self.observer.on_event(&UpdateEvent::Removing(path));
        }
        for (path, step) in &plan.steps {
            if let UpdateStep::Write(_) = step {
                self.observer.on_event(&UpdateEvent::Getting(path));
            }
        }
    }

    /// Keeps our side of all files, for a later try.
    pub(super) fn keep(&self) -> Result<(), WorkdirError> {
        for (file, ours) in &self.prepared {
            if let (Some(path), Some(ours)) = (&file.ours, ours) {
                MergeState::keep(self.request.repository, path, &ours.content)?;
            }
        }
        Ok(())
    }

    /// Merges everything and writes the state of the merge.
    pub(super) fn merge_all(mut self, nodes: [Node; 2]) -> Result<Vec<Outcome>, WorkdirError> {
        let mut outcomes = Vec::new();
        let mut states = Vec::new();
        for (file, ours) in std::mem::take(&mut self.prepared) {
            self.request.stop.check()?;
            let kind = ours.as_ref().map_or(FileKind::Plain, |ours| ours.kind);
            let outcome = self.merge_one(file, ours)?;
            states.push(state(&outcome, kind));
            outcomes.push(outcome);
        }
        if !outcomes.is_empty() {
            let [local, other] = nodes;
            let state = MergeState {
                local,
                other,
                files: states,
            };
            state.write(self.request.repository)?;
        }
        Ok(outcomes)
    }

    fn merge_one(
        &mut self,
        file: MergeFile,
        ours: Option<Version>,
    ) -> Result<Outcome, WorkdirError> {
        let theirs = self.theirs(&file)?;
        let (end, result) = match (&ours, &theirs) {
            (Some(ours), Some(theirs)) => self.merge_versions(&file, ours, theirs)?,
            _ => self.merge_deleted(&file, &ours, &theirs),
        };
        if let (Some(path), true) = (&file.ours, file.moves) {
            self.files.remove(path)?;
        }
        let in_target = self.to.get(&file.dest)?.is_some();
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
        Ok(Outcome {
            file,
            end,
            clean,
            in_target,
        })
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
        let content = self.request.view.file_content(path, node)?;
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
    ) -> (End, Option<Version>) {
        let tool = match self.request.tool.chosen {
            ToolSelection::Forced(tool) if tool.takes_deleted() => tool,
            _ => MergeTool::Prompt,
        };
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
        match side {
            Some(version) => (end, Some(version.clone())),
            None => (End::Deleted, None),
        }
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
        let tool = self.tool(file, &base, ours, theirs);
        let end = |resolved| {
            if resolved {
                End::Resolved
            } else {
                End::Unresolved
            }
        };
        let answer = match tool {
            MergeTool::Local => Resolution::Ours,
            MergeTool::Other => Resolution::Theirs,
            MergeTool::Fail => Resolution::Unresolved,
            MergeTool::Prompt => self.observer.decide(&UpdateQuestion::WhoseFile(&file.dest)),
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

    /// Which tool merges a file that there is on both sides.
    fn tool(
        &mut self,
        file: &MergeFile,
        base: &Option<Version>,
        ours: &Version,
        theirs: &Version,
    ) -> MergeTool {
        let prompts = needs_prompt(base, ours, theirs);
        let default = match &self.request.tool.chosen {
            ToolSelection::Forced(tool) => return *tool,
            ToolSelection::Configured(tool) if !prompts => return *tool,
            ToolSelection::Configured(tool) => {
                let is_link = ours.is_link() || theirs.is_link();
                let what = if is_link { "symlink" } else { "binary" };
                let (tool, path) = (&tool.name()[..], &file.dest[..]);
                self.observer
                    .on_event(&UpdateEvent::ToolCannot { tool, path, what });
                MergeTool::Prompt
            }
            ToolSelection::Default => {
                self.observer.on_event(&UpdateEvent::NoToolConfigured);
                MergeTool::Merge
            }
            ToolSelection::Unsupported(_) => MergeTool::Merge,
        };
        if prompts {
            self.observer.on_event(&UpdateEvent::NoTool(&file.dest));
            return MergeTool::Prompt;
        }
        default
    }

    /// The merged content, and whether nothing is left to do.
    fn merge_lines(
        &mut self,
        tool: MergeTool,
        file: &MergeFile,
        base: &Option<Version>,
        ours: &Version,
        theirs: &Version,
    ) -> Result<(Vec<u8>, bool), WorkdirError> {
        let name = |path: Option<&Vec<u8>>| path.unwrap_or(&file.dest).clone();
        self.observer.on_event(&UpdateEvent::Merging {
            ours: &name(file.ours.as_ref()),
            theirs: &name(file.theirs.as_ref().map(|(path, _)| path)),
            dest: &file.dest,
        });
        let is_link = ours.is_link() || theirs.is_link();
        let no_lines = needs_prompt(base, ours, theirs);
        let leaves_markers = matches!(
            tool,
            MergeTool::Merge | MergeTool::Merge3 | MergeTool::Union | MergeTool::UnionOtherFirst
        );
        let before = base.as_ref().map_or(&b""[..], |base| &base.content);
        if no_lines && tool.merges_lines() && tool != MergeTool::Dump {
            if is_link {
                let (tool, path) = (&tool.name()[..], &file.dest[..]);
                self.observer.on_event(&UpdateEvent::IsLink { tool, path });
            } else {
                self.observer
                    .on_event(&UpdateEvent::LooksBinary(&file.dest));
                self.back_up(&file.dest, ours)?;
            }
            if leaves_markers {
                self.observer.on_event(&UpdateEvent::Conflicts(&file.dest));
            }
            return Ok((ours.content.clone(), false));
        }
        let merged = match no_lines || !tool.merges_lines() {
            true => None,
            false => Some(merge_texts(tool, before, &ours.content, &theirs.content)),
        };
        match merged {
            Some(Merged {
                content,
                conflicts: false,
            }) => Ok((content, true)),
            merged => {
                self.back_up(&file.dest, ours)?;
                if matches!(tool, MergeTool::Dump | MergeTool::ForceDump) {
                    self.dump(&file.dest, before, ours, theirs)?;
                    return Ok((ours.content.clone(), false));
                }
                self.observer.on_event(&UpdateEvent::Conflicts(&file.dest));
                Ok((merged.map_or_else(Vec::new, |merged| merged.content), false))
            }
        }
    }

    /// Keeps the file as it was for the user.
    fn back_up(&self, path: &[u8], ours: &Version) -> Result<(), WorkdirError> {
        if let Some(place) = self.request.tool.backups.place(path) {
            self.files.make_directories(&place)?;
            self.files.write(&place, &ours.content, ours.kind)?;
        }
        Ok(())
    }

    /// Puts all three versions beside the file.
    fn dump(
        &self,
        path: &[u8],
        base: &[u8],
        ours: &Version,
        theirs: &Version,
    ) -> Result<(), WorkdirError> {
        let versions = [
            (&b".base"[..], base),
            (b".local", &ours.content),
            (b".other", &theirs.content),
        ];
        for (suffix, content) in versions {
            let version = Version {
                content: content.to_vec(),
                kind: FileKind::Plain,
            };
            self.write(&[path, suffix].concat(), &version)?;
        }
        Ok(())
    }
}

/// Whether a file has no lines that could be merged.
fn needs_prompt(base: &Option<Version>, ours: &Version, theirs: &Version) -> bool {
    let sides = [Some(ours), Some(theirs), base.as_ref()];
    let no_lines = |side: &Version| side.is_link() || is_binary(&side.content);
    sides.into_iter().flatten().any(no_lines)
}
