//! Programs that settle a part of the conflicts of a file, before its lines are merged.

use super::Merger;
use super::program::write_version;
use crate::merge::{fill, quote_for_shell};
use crate::{ScratchDirectory, WorkdirError};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

impl Merger<'_, '_> {
    /// The base, our and their text as the programs for this file leave them; as they are if there are no such programs.
    ///
    /// # Errors
    /// [`WorkdirError::PartialToolFailed`]; a failure to write or read the texts.
    pub(super) fn settle_partly<'t>(
        &mut self,
        path: &[u8],
        texts: [&'t [u8]; 3],
    ) -> Result<[Cow<'t, [u8]>; 3], WorkdirError> {
        let options = self.settings.tool;
        let tools = options.partial.iter();
        let tools: Vec<_> = tools.filter(|tool| tool.files.matches(path)).collect();
        if tools.is_empty() {
            return Ok(texts.map(Cow::Borrowed));
        }
        let scratch = ScratchDirectory::new("hgmerge")?;
        let [base, local, other] = texts;
        let local = write_version(&scratch, path, "local", local)?;
        let base = write_version(&scratch, path, "base", base)?;
        let other = write_version(&scratch, path, "other", other)?;
        let name = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let values = [
            ("local", name(&local)),
            ("base", name(&base)),
            ("other", name(&other)),
        ];
        for tool in tools {
            let arguments = fill(&tool.arguments, &values);
            let line = [&quote_for_shell(&tool.executable), &b" "[..], &arguments].concat();
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(OsStr::from_bytes(&line));
            command.current_dir(self.settings.repository.root());
            let ended = self.observer.run_program(&mut command);
            let ended = ended.map_err(WorkdirError::io("run", Path::new("/bin/sh")))?;
            if !ended.success() {
                return Err(WorkdirError::PartialToolFailed {
                    tool: String::from_utf8_lossy(&tool.name).into_owned(),
                    code: ended.code(),
                });
            }
        }
        let read = |path: &Path| {
            let content = fs::read(path).map_err(WorkdirError::io("read", path));
            content.map(Cow::Owned)
        };
        Ok([read(&base)?, read(&local)?, read(&other)?])
    }
}
