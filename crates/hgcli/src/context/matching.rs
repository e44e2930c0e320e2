//! File arguments of a command, `-I` and `-X`; and paths as they are shown.

use crate::arguments::Matches;
use crate::context::Repo;
use crate::ui::{Abort, Ui, short_hex};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_lang::patterns::{
    FileResolver, MatchRequest, Matcher, NameCheck, PathCheck, PatternError, PatternKind,
    RegexEngine, relative_to_root,
};
use varve_repo::fileset::FilesetEvaluator;
use varve_repo::{ManifestEntry, Node, RepoView};
use varve_workdir::filesets::FilesetTarget;

impl From<PatternError> for Abort {
    fn from(error: PatternError) -> Abort {
        match error {
            PatternError::Fileset(error) => Abort::Parse {
                message: error.message,
                at: error.at,
                hint: error.hint,
            },
            other => Abort::of_kind((&other).into(), other.to_string()),
        }
    }
}

/// Whether a pattern asks something of files, or lists patterns that may.
fn asks_files(pattern: &[u8]) -> bool {
    let kinds: [&[u8]; 4] = [b"set:", b"include:", b"listfile:", b"listfile0:"];
    kinds.iter().any(|kind| pattern.starts_with(kind))
}

impl Repo {
    /// Matches the arguments, `-I` and `-X` among the files of a changeset.
    pub fn matcher(&mut self, matches: &Matches) -> Result<Matcher, Abort> {
        self.matcher_with(
            matches,
            matches.arguments(),
            &NameCheck,
            FilesetTarget::Working,
        )
    }

    /// The same with filesets about the files of `at`.
    pub fn matcher_at(&mut self, matches: &Matches, at: FilesetTarget) -> Result<Matcher, Abort> {
        self.matcher_with(matches, matches.arguments(), &NameCheck, at)
    }

    /// The same for some of the arguments, with paths looked at by `audit`.
    pub fn matcher_with(
        &mut self,
        matches: &Matches,
        patterns: &[Vec<u8>],
        audit: &dyn PathCheck,
        at: FilesetTarget,
    ) -> Result<Matcher, Abort> {
        self.matcher_of_kind(matches, patterns, audit, at, PatternKind::RelPath)
    }

    /// The same, where `default` is the kind of arguments without a prefix.
    pub fn matcher_of_kind(
        &mut self,
        matches: &Matches,
        patterns: &[Vec<u8>],
        audit: &dyn PathCheck,
        at: FilesetTarget,
        default: PatternKind,
    ) -> Result<Matcher, Abort> {
        let owned = |name| {
            matches
                .list(name)
                .iter()
                .map(|text| text.to_vec())
                .collect::<Vec<_>>()
        };
        let (include, exclude) = (owned("include"), owned("exclude"));
        let all = patterns.iter().chain(&include).chain(&exclude);
        let files = match all.clone().any(|pattern| asks_files(pattern)) {
            true => Some(FilesetEvaluator::new(self.files_of(at)?)),
            false => None,
        };
        let request = MatchRequest {
            files: files.as_ref().map(|files| files as &dyn FileResolver),
            root: self.root()?,
            cwd: &self.cwd,
            patterns,
            include: &include,
            exclude: &exclude,
            default,
            engine: RegexEngine::Backtracking,
        };
        let outside = match Matcher::new(&request, audit) {
            Ok(matcher) => return Ok(matcher),
            Err(error) => error,
        };
        let hint = self.hint_to_change_directory(&outside)?;
        let refused = Abort::from(outside);
        Err(match hint {
            Some(hint) => refused.hint(hint),
            None => refused,
        })
    }

    /// For a name that leads out of the repository from here, but would not from the repository's root.
    fn hint_to_change_directory(&self, error: &PatternError) -> Result<Option<String>, Abort> {
        let (PatternError::NotUnderRoot { name, .. }, root) = (error, self.root()?) else {
            return Ok(None);
        };
        if root == self.cwd || relative_to_root(root, root, name.as_bytes()).is_err() {
            return Ok(None);
        }
        let way = relative_to(root, &self.cwd, b"");
        let way = String::from_utf8_lossy(way.strip_suffix(b"/").unwrap_or(&way)).into_owned();
        Ok(Some(format!("consider using '--cwd {way}'")))
    }

    /// A path as it is shown: from the current directory on.
    pub fn display_path(&self, path: &[u8]) -> Result<Vec<u8>, Abort> {
        let from_directory = match self.config.get("ui", "relative-paths") {
            None | Some(b"legacy") => true,
            Some(_) => self.config.boolean("ui", "relative-paths", true)?,
        };
        if !from_directory {
            return Ok(path.to_vec());
        }
        self.relative_path(path)
    }

    /// Says that a changeset has no file or directory of this name.
    pub fn warn_not_in_revision(&self, ui: &mut Ui, path: &[u8], node: &Node) -> Result<(), Abort> {
        let shown = self.display_path(path)?;
        let short = short_hex(node);
        ui.warn(
            [
                &shown,
                &b": no such file in rev "[..],
                short.as_bytes(),
                b"\n",
            ]
            .concat(),
        )
    }

    /// A path as it is called in the current directory.
    pub fn relative_path(&self, path: &[u8]) -> Result<Vec<u8>, Abort> {
        Ok(relative_to(self.root()?, &self.cwd, path))
    }
}

/// `path`, which is from `root` on, as it is called in the directory `cwd`.
pub fn relative_to(root: &Path, cwd: &Path, path: &[u8]) -> Vec<u8> {
    if root == cwd {
        return path.to_vec();
    }
    // Split as Mercurial does it: the root of the file system counts as a directory above its own.
    let cwd: Vec<&[u8]> = cwd
        .as_os_str()
        .as_bytes()
        .split(|byte| *byte == b'/')
        .collect();
    let target = [root.as_os_str().as_bytes(), b"/", path].concat();
    let target: Vec<&[u8]> = target.split(|byte| *byte == b'/').collect();
    let common = cwd.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let mut way = vec![&b".."[..]; cwd.len() - common];
    way.extend(&target[common..]);
    if way.is_empty() {
        return b".".to_vec();
    }
    way.join(&b'/')
}

/// Files of a manifest's text that match, sorted. `missing` hears of each argument that names
/// neither a file nor a directory of it.
pub fn files_of<'a>(
    view: &RepoView,
    text: &'a [u8],
    matcher: &Matcher,
    mut missing: impl FnMut(&[u8]) -> Result<(), Abort>,
) -> Result<Vec<ManifestEntry<'a>>, Abort> {
    let mut names: Vec<&Vec<u8>> = matcher.named().iter().collect();
    names.sort_unstable();
    names.dedup();
    if !matcher.is_wild()
        && let Some(found) = only_files(view, text, &names)?
    {
        return Ok(found
            .into_iter()
            .filter(|entry| matcher.matches(entry.path))
            .collect());
    }
    let mut found = Vec::new();
    for entry in view.manifest_entries(text) {
        let entry = entry?;
        if matcher.matches(entry.path) {
            found.push(entry);
        }
    }
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let directory = [&name[..], b"/"].concat();
        if !has_directory(view, text, &directory)? && view.find_in_manifest(text, name)?.is_none() {
            missing(name)?;
        }
    }
    Ok(found)
}

/// The entries of the names if all of them are files, so that nothing else need be looked at.
fn only_files<'a>(
    view: &RepoView,
    text: &'a [u8],
    names: &[&Vec<u8>],
) -> Result<Option<Vec<ManifestEntry<'a>>>, Abort> {
    if names.is_empty() {
        return Ok(None);
    }
    let entries = names.iter().map(|name| view.find_in_manifest(text, name));
    let entries: Option<Vec<_>> = entries.collect::<Result<_, _>>()?;
    Ok(entries)
}

/// Whether any file's path begins with `directory`.
fn has_directory(view: &RepoView, text: &[u8], directory: &[u8]) -> Result<bool, Abort> {
    for entry in view.manifest_entries(text) {
        if entry?.path.starts_with(directory) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ways_from_the_current_directory() {
        for (cwd, path, expected) in [
            ("/r", "a/b", "a/b"),
            ("/r/a", "a/b", "b"),
            ("/r/a/c", "a/b", "../b"),
            ("/other/x", "a", "../../r/a"),
            ("/", "a", "../r/a"),
            ("/r/a", "a", "."),
        ] {
            let way = relative_to(Path::new("/r"), Path::new(cwd), path.as_bytes());
            assert_eq!(way, expected.as_bytes(), "{cwd} {path}");
        }
    }
}
