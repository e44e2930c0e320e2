//! Merging a file with a program: its files, variables and line for the shell, and the checks of its result.

use super::described::base_node;
use super::{MergeFile, Merger, ToolCheck, ToolRun, ToolSide, UpdateEvent, needs_prompt};
use crate::merge::{MergeProgram, Premerge, ToolTable, Version, fill, has_markers, merge_texts};
use crate::{MarkerStyle, MergeTool, ScratchDirectory, WorkdirError};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_repo::{FileKind, Node};

/// The three sides of a file; `ours` has the mode of the result.
pub(super) struct FileSides<'v> {
    pub(super) base: &'v Option<Version>,
    pub(super) ours: &'v Version,
    pub(super) theirs: &'v Version,
}

impl Merger<'_, '_> {
    /// Merges a file with a program; the result, unless the program has removed it, and whether nothing is left to do.
    pub(super) fn merge_by_program(
        &mut self,
        (table, program): (&ToolTable, &MergeProgram),
        file: &MergeFile,
        sides: &FileSides<'_>,
    ) -> Result<(Option<Version>, bool), WorkdirError> {
        let FileSides { base, ours, theirs } = sides;
        self.on_merging(file);
        let before = base.as_ref().map_or(&b""[..], |base| &base.content);
        let mut start = (*ours).clone();
        let premerge = match needs_prompt(base, ours, theirs) {
            true => Premerge::Skip,
            false => table.premerge(program)?,
        };
        let tool = match premerge {
            Premerge::Keep(tool) => tool,
            _ => MergeTool::Merge,
        };
        let texts = [before, &ours.content, &theirs.content];
        let texts = match needs_prompt(base, ours, theirs) {
            true => texts.map(Cow::Borrowed),
            false => self.settle_partly(&file.dest, texts)?,
        };
        if premerge != Premerge::Skip {
            let texts = texts.each_ref().map(|text| &**text);
            let labels = match (premerge, table.markers(program)) {
                (Premerge::Keep(_), MarkerStyle::Detailed) => {
                    self.aligned_labels(file, &program.name, tool)
                }
                (Premerge::Keep(_), MarkerStyle::Basic) => self.marker_labels(file, tool),
                // The result is taken only if there is no conflict.
                _ => self.settings.labels.clone(),
            };
            let merged = merge_texts(tool, self.settings.tool.touching, &labels, texts);
            if !merged.conflicts || matches!(premerge, Premerge::Keep(_)) {
                start.content = merged.content;
            }
            if !merged.conflicts {
                self.observer.on_event(&UpdateEvent::MergedBefore);
                return Ok((Some(start), true));
            }
        }
        self.back_up(&file.dest, ours)?;
        self.write(&file.dest, &start)?;
        if table.is_graphical(program)? {
            let (tool, path) = (&program.name[..], &file.dest[..]);
            self.observer
                .on_event(&UpdateEvent::RunningTool { tool, path });
        }
        let scratch = ScratchDirectory::new("hgmerge")?;
        let succeeded = self.run(table, program, file, sides, &scratch)?;
        drop(scratch);
        let resolved = self.check(table, program, file, ours, succeeded)?;
        let mut result = None;
        if self.files.stat(&file.dest)?.is_some() {
            let (content, kind) = self.files.read(&file.dest)?;
            result = Some(Version { content, kind });
        }
        if !resolved {
            self.observer.on_event(&UpdateEvent::ToolFailed(&file.dest));
        } else if let Some(place) = self.settings.tool.backups.place(&file.dest) {
            self.files.remove(&place)?;
        }
        Ok((result, resolved))
    }

    /// Runs the program in the root of the repository; whether it says that it has merged.
    fn run(
        &mut self,
        table: &ToolTable,
        program: &MergeProgram,
        file: &MergeFile,
        sides: &FileSides<'_>,
        scratch: &ScratchDirectory,
    ) -> Result<bool, WorkdirError> {
        let FileSides { base, ours, theirs } = sides;
        let labels = match table.markers(program) {
            MarkerStyle::Basic => self.settings.labels.clone(),
            MarkerStyle::Detailed => self.described_labels(file, &program.name, 0),
        };
        let arguments = table.arguments(program);
        let output = self.files.path(&file.dest);
        let empty: &[u8] = b"";
        let text = base.as_ref().map_or(empty, |base| &base.content);
        let decoded = |content| self.files.decoded(&file.dest, content);
        let mut local = output.clone();
        if arguments.windows(7).any(|word| word == b"$output") {
            local = write_version(scratch, &file.dest, "local", &decoded(&ours.content)?)?;
        }
        let base_file = write_version(scratch, &file.dest, "base", &decoded(text)?)?;
        let other = write_version(scratch, &file.dest, "other", &decoded(&theirs.content)?)?;
        let path = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let values = [
            ("local", path(&local)),
            ("base", path(&base_file)),
            ("other", path(&other)),
            ("output", path(&output)),
            ("labellocal", labels.ours.clone()),
            ("labelother", labels.theirs.clone()),
            ("labelbase", labels.base.clone()),
        ];
        let arguments = fill(arguments, &values);
        if !self.announce(&program.command, &arguments, file, sides) {
            return Ok(false);
        }
        let line = [&program.command[..], b" ", &arguments].concat();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(OsStr::from_bytes(&line));
        command.current_dir(self.settings.repository.root());
        let [local, other] = self.parents;
        let is_link = |side: Option<&Version>| side.is_some_and(Version::is_link);
        command.env("HG_FILE", OsStr::from_bytes(&file.dest));
        for (name, node, label, is_link) in [
            ("MY", local, &labels.ours, is_link(Some(*ours))),
            ("OTHER", other, &labels.theirs, is_link(Some(*theirs))),
            (
                "BASE",
                base_node(file),
                &labels.base,
                is_link(base.as_ref()),
            ),
        ] {
            command.env(format!("HG_{name}_NODE"), short(&node));
            command.env(format!("HG_{name}_LABEL"), OsStr::from_bytes(label));
            command.env(format!("HG_{name}_ISLINK"), if is_link { "1" } else { "0" });
        }
        self.observer
            .on_event(&UpdateEvent::LaunchingTool { line: &line });
        let ended = self.observer.run_program(&mut command);
        let ended = ended.map_err(WorkdirError::io("run", Path::new("/bin/sh")))?;
        // A signal counts as its negative number, as in Python.
        let code = ended.code().or(ended.signal().map(|signal| -signal));
        self.observer
            .on_event(&UpdateEvent::ToolEnded(code.unwrap_or_default()));
        Ok(ended.success())
    }

    /// Announces the program to the observer; false if it must not be run.
    fn announce(
        &mut self,
        command: &[u8],
        arguments: &[u8],
        file: &MergeFile,
        FileSides { base, ours, theirs }: &FileSides<'_>,
    ) -> bool {
        let [local, other] = self.parents;
        let labels = &self.settings.labels;
        let path_of = |side: &Option<(Vec<u8>, _)>| match side {
            Some((path, _)) => path.clone(),
            None => file.dest.clone(),
        };
        let (base_path, their_path) = (path_of(&file.base), path_of(&file.theirs));
        let sides = [
            ToolSide {
                name: "local",
                label: &labels.ours,
                node: local,
                path: file.ours.as_ref().unwrap_or(&file.dest),
                is_link: ours.is_link(),
            },
            ToolSide {
                name: "base",
                label: &labels.base,
                node: base_node(file),
                path: &base_path,
                is_link: base.as_ref().is_some_and(Version::is_link),
            },
            ToolSide {
                name: "other",
                label: &labels.theirs,
                node: other,
                path: &their_path,
                is_link: theirs.is_link(),
            },
        ];
        self.observer.announce_tool(&ToolRun {
            repository: self.settings.repository,
            path: &file.dest,
            command,
            arguments,
            sides,
        })
    }

    /// Whether the merge counts as done, by the checks that the program is configured with.
    fn check(
        &mut self,
        table: &ToolTable,
        program: &MergeProgram,
        file: &MergeFile,
        ours: &Version,
        succeeded: bool,
    ) -> Result<bool, WorkdirError> {
        let path = &file.dest;
        if self.files.stat(path)?.is_none() {
            return Ok(succeeded);
        }
        let (content, kind) = self.files.read(path)?;
        let mut resolved = succeeded;
        if resolved && table.checks(program, "conflicts")? && has_markers(&content) {
            resolved = false;
        }
        let asks = table.checks(program, "prompt")?;
        if asks {
            resolved = self.observer.confirm(&ToolCheck::Success(path));
        }
        let changed = content != ours.content;
        if resolved && !asks && !changed && table.checks(program, "changed")? {
            resolved = self.observer.confirm(&ToolCheck::Unchanged(path));
        }
        if table.fixes_line_ends(program)? && kind != FileKind::Symlink {
            let content = with_line_ends(&content, &ours.content);
            self.files.write(path, &content, kind)?;
        }
        Ok(resolved)
    }
}

fn short(node: &Node) -> String {
    const DIGITS: usize = 12;
    String::from_utf8_lossy(&node.to_hex()[..DIGITS]).into_owned()
}

/// A text with the ends of lines that the first line of another has.
fn with_line_ends(text: &[u8], like: &[u8]) -> Vec<u8> {
    let Some(first) = like.split_inclusive(|byte| *byte == b'\n').next() else {
        return text.to_vec();
    };
    let end: &[u8] = match first {
        [.., b'\r', b'\n'] => b"\r\n",
        [.., b'\n'] => b"\n",
        _ => return text.to_vec(),
    };
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(bare) => {
                out.extend_from_slice(bare.strip_suffix(b"\r").unwrap_or(bare));
                out.extend_from_slice(end);
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

/// Writes a version of a file as `NAME~SIDE.EXTENSION`.
pub(super) fn write_version(
    scratch: &ScratchDirectory,
    file: &[u8],
    side: &str,
    content: &[u8],
) -> Result<PathBuf, WorkdirError> {
    let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
    let dot = name.iter().rposition(|byte| *byte == b'.');
    let (stem, extension) = name.split_at(dot.filter(|at| *at > 0).unwrap_or(name.len()));
    let name = [stem, b"~", side.as_bytes(), extension].concat();
    let path = scratch.path().join(OsStr::from_bytes(&name));
    fs::write(&path, content).map_err(WorkdirError::io("write", &path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_those_of_the_first_line() {
        assert_eq!(with_line_ends(b"a\r\nb\nc", b"x\ny\r\n"), b"a\nb\nc");
        assert_eq!(with_line_ends(b"a\r\nb\n", b"x\r\n"), b"a\r\nb\r\n");
        assert_eq!(with_line_ends(b"a\r\n", b"no end"), b"a\r\n");
    }

    #[test]
    fn scratch_files_keep_their_extension_and_go() {
        let scratch = ScratchDirectory::new("test").unwrap();
        let path = write_version(&scratch, b"d/name.tar.gz", "base", b"x").unwrap();
        assert_eq!(path.file_name().unwrap(), "name.tar~base.gz");
        let hidden = write_version(&scratch, b".hgignore", "other", b"x").unwrap();
        assert_eq!(hidden.file_name().unwrap(), ".hgignore~other");
        drop(scratch);
        assert!(!path.exists());
    }
}
