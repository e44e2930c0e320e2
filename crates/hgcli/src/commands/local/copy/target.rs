//! Where each source of a copy goes.

use super::{CopiedFile, is_there, joined};
use crate::ui::Abort;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_lang::patterns::{Pattern, PatternKind, relative_to_root};

/// The last argument of a copy.
pub(super) struct Targets<'a> {
    root: &'a Path,
    cwd: std::path::PathBuf,
    destination: Vec<u8>,
    /// Whether it is a directory that is there.
    is_directory: bool,
}

/// From a source's path to its destination, as written by the user.
pub(super) enum Destination {
    /// That name itself.
    Exactly(Vec<u8>),
    /// Into a directory, under the last part of the path.
    Flat(Vec<u8>),
    /// Into a directory, without the first bytes of the path.
    Below(Vec<u8>, usize),
}

impl Destination {
    pub(super) fn target(&self, path: &[u8]) -> Vec<u8> {
        match self {
            Destination::Exactly(name) => name.clone(),
            Destination::Flat(directory) => {
                let slash = path.iter().rposition(|byte| *byte == b'/');
                joined(directory, &path[slash.map_or(0, |at| at + 1)..])
            }
            Destination::Below(directory, skip) => {
                joined(directory, path.get(*skip..).unwrap_or_default())
            }
        }
    }
}

fn is_pattern(argument: &[u8]) -> bool {
    let colon = argument.iter().position(|byte| *byte == b':');
    colon.is_some_and(|at| PatternKind::of_name(&argument[..at]).is_some())
}

impl<'a> Targets<'a> {
    pub(super) fn new(
        root: &'a Path,
        cwd: &Path,
        destination: &[u8],
        sources: &[Vec<u8>],
    ) -> Result<Targets<'a>, Abort> {
        let destination = Pattern::parse(destination, PatternKind::RelPath).text;
        let path = cwd.join(OsStr::from_bytes(&destination));
        let is_link = path
            .symlink_metadata()
            .is_ok_and(|found| found.is_symlink());
        let is_directory = path.is_dir() && !is_link;
        if !is_directory {
            if sources.len() > 1 || is_pattern(&sources[0]) {
                return Err(Abort::input(
                    "with multiple sources, destination must be an existing directory",
                ));
            }
            if destination.ends_with(b"/") {
                let shown = String::from_utf8_lossy(&destination);
                return Err(Abort::input(format!(
                    "destination {shown} is not a directory"
                )));
            }
        }
        Ok(Targets {
            root,
            cwd: cwd.to_owned(),
            destination,
            is_directory,
        })
    }

    /// The way of the files that one argument means, of which `first` is the first.
    pub(super) fn of(
        &self,
        argument: &[u8],
        first: &[u8],
        after: bool,
        sources: &[CopiedFile],
    ) -> Result<Destination, Abort> {
        let destination = self.destination.clone();
        if is_pattern(argument) {
            return Ok(Destination::Flat(destination));
        }
        let prefix = relative_to_root(self.root, &self.cwd, argument)?;
        let is_below = match after {
            true => prefix.len() < first.len(),
            false => self.root.join(OsStr::from_bytes(&prefix)).is_dir() && prefix != first,
        };
        if !is_below {
            return Ok(match self.is_directory {
                true => Destination::Flat(destination),
                false => Destination::Exactly(destination),
            });
        }
        let with_slash = |len: usize| if len == 0 { 0 } else { len + 1 };
        let content = with_slash(prefix.len());
        let slash = prefix.iter().rposition(|byte| *byte == b'/');
        let with_name = with_slash(slash.unwrap_or(0));
        if !self.is_directory {
            return Ok(Destination::Below(destination, content));
        }
        if !after {
            return Ok(Destination::Below(destination, with_name));
        }
        // A source moved by hand may have gone into the directory or become it: the case counts that
        // explains more of the files that are there.
        let explained = |skip: usize| {
            let way = Destination::Below(destination.clone(), skip);
            let there = |source: &&CopiedFile| is_there(&self.cwd, &way.target(&source.path));
            sources.iter().filter(there).count()
        };
        let skip = if explained(with_name) > explained(content) {
            with_name
        } else {
            content
        };
        Ok(Destination::Below(destination, skip))
    }
}
