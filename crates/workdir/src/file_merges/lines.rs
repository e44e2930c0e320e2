//! Merging the lines of one file, and what is left for the user where they conflict.

use super::described::base_node;
use super::{MergeFile, MergedVersion, Merger, UpdateEvent, needs_prompt};
use crate::merge::{Merged, Version, merge_tags, merge_texts};
use crate::{MergeTool, WorkdirError};
use std::borrow::Cow;
use varve_repo::FileKind;

impl Merger<'_, '_> {
    /// The merged content, and whether nothing is left to do.
    pub(super) fn merge_lines(
        &mut self,
        tool: MergeTool,
        file: &MergeFile,
        base: &Option<Version>,
        ours: &Version,
        theirs: &Version,
    ) -> Result<(Vec<u8>, bool), WorkdirError> {
        self.on_merging(file);
        let is_link = ours.is_link() || theirs.is_link();
        let no_lines = needs_prompt(base, ours, theirs);
        let leaves_markers = matches!(
            tool,
            MergeTool::Merge
                | MergeTool::Merge3
                | MergeTool::Mergediff
                | MergeTool::Union
                | MergeTool::UnionOtherFirst
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
            false => {
                let labels = self.marker_labels(file, tool);
                let texts = [before, &ours.content, &theirs.content];
                let takes_sides = matches!(tool, MergeTool::MergeLocal | MergeTool::MergeOther);
                let texts = match takes_sides {
                    true => texts.map(Cow::Borrowed),
                    false => self.settle_partly(&file.dest, texts)?,
                };
                let texts = texts.each_ref().map(|text| &**text);
                let touching = self.settings.tool.touching;
                Some(merge_texts(tool, touching, &labels, texts))
            }
        };
        match merged {
            Some(Merged {
                content,
                conflicts: false,
                settled,
            }) => {
                if !settled && !matches!(tool, MergeTool::MergeLocal | MergeTool::MergeOther) {
                    self.observer.on_event(&UpdateEvent::MergedBefore);
                }
                Ok((content, true))
            }
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

    /// The content with the tags of both sides, and whether they do not conflict.
    pub(super) fn merge_tags(
        &mut self,
        file: &MergeFile,
        base: &Option<Version>,
        ours: &Version,
        theirs: &Version,
    ) -> Result<(Vec<u8>, bool), WorkdirError> {
        self.on_merging(file);
        let before = base.as_ref().map_or(&b""[..], |base| &base.content);
        match merge_tags([before, &ours.content, &theirs.content]) {
            Ok(content) => {
                self.observer.on_event(&UpdateEvent::MergedTags);
                Ok((content, true))
            }
            Err(conflicts) => {
                self.back_up(&file.dest, ours)?;
                let (tags, path) = (&conflicts[..], &file.dest[..]);
                self.observer
                    .on_event(&UpdateEvent::TagConflicts { tags, path });
                Ok((ours.content.clone(), false))
            }
        }
    }

    /// Tells that a file is merged, with its names and versions.
    pub(super) fn on_merging(&mut self, file: &MergeFile) {
        let dest = &file.dest[..];
        let theirs = file.theirs.as_ref().map_or(dest, |(path, _)| path);
        self.observer.on_event(&UpdateEvent::Merging {
            ours: file.ours.as_deref().unwrap_or(dest),
            theirs,
            dest,
        });
        let base = file.base.as_ref().map_or(dest, |(path, _)| path);
        let [local, other] = self.parents;
        let named = [(dest, local), (theirs, other), (base, base_node(file))];
        let versions = named.map(|(path, node)| MergedVersion { path, node });
        self.observer.on_event(&UpdateEvent::Versions(versions));
    }

    /// Keeps the file as it was for the user.
    pub(super) fn back_up(&mut self, path: &[u8], ours: &Version) -> Result<(), WorkdirError> {
        if let Some(place) = self.settings.tool.backups.place(path) {
            let kept = self.files.path(&place);
            if let Some(directory) = kept.parent().filter(|directory| !directory.is_dir()) {
                let event = UpdateEvent::CreatingDirectory(directory);
                self.observer.on_event(&event);
            }
            let (files, content) = (&self.files, self.files.decoded(path, &ours.content)?);
            files.make_directories(&place)?;
            files.unfiltered().write(&place, &content, ours.kind)?;
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
        let ours = self.files.decoded(path, &ours.content)?;
        let local = [path, b".local"].concat();
        self.files.audit(&local)?;
        let disk = self.files.unfiltered();
        disk.write(&local, &ours, FileKind::Plain)?;
        let versions = [(&b".base"[..], base), (b".other", &theirs.content)];
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
