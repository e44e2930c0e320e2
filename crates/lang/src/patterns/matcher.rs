//! What a command works on: its arguments, `-I` and `-X`.

use super::PatternError;
use super::kind::{Kind, Pattern};
use super::names::{Audit, normalise, relative_to_root};
use super::set::{End, PatternSet, is_below};
use crate::fileset::{self, FileSource, Fileset, FilesetError};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// How deep lists may name lists.
const LIST_DEPTH: u32 = 20;

/// What the user wrote, and where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The repository's folder, absolute.
    pub root: &'a Path,
    /// The folder that names are meant from, absolute.
    pub cwd: &'a Path,
    /// The arguments.
    pub patterns: &'a [Vec<u8>],
    /// The values of `-I`.
    pub include: &'a [Vec<u8>],
    /// The values of `-X`.
    pub exclude: &'a [Vec<u8>],
    /// The kind of arguments that name none.
    pub default: Kind,
    /// What filesets are about; without it they are refused.
    pub files: Option<&'a Arc<dyn FileSource>>,
}

/// Patterns as they were read.
#[derive(Default)]
struct Found {
    patterns: Vec<Pattern>,
    filesets: Vec<Fileset>,
}

impl Found {
    fn compile(self, end: End) -> Result<PatternSet, PatternError> {
        let mut set = PatternSet::compile(&self.patterns, end)?;
        set.add_filesets(self.filesets);
        Ok(set)
    }
}

/// Tells which files a command works on.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// `None` matches everything.
    patterns: Option<PatternSet>,
    include: Option<PatternSet>,
    exclude: Option<PatternSet>,
    /// A file or folder that nothing matches outside of.
    below: Option<Vec<u8>>,
    named: Vec<Vec<u8>>,
    exact: HashSet<Vec<u8>>,
    wild: bool,
}

impl Matcher {
    /// Matches every file.
    pub fn everything() -> Matcher {
        Matcher {
            patterns: None,
            include: None,
            exclude: None,
            below: None,
            named: Vec::new(),
            exact: HashSet::new(),
            wild: false,
        }
    }

    /// Matches these files and nothing else; paths are from the root.
    pub fn exactly(files: impl IntoIterator<Item = Vec<u8>>) -> Matcher {
        let kind = Kind::FilePath;
        let files = files.into_iter().map(|text| Pattern { kind, text });
        let files: Vec<Pattern> = files.collect();
        // Of this kind nothing can be wrong.
        let set = PatternSet::compile(&files, End::File).unwrap_or_default();
        let mut matcher = Matcher::everything();
        matcher.patterns = Some(set);
        matcher.add_named(&files);
        matcher
    }

    /// Reads what the user wrote.
    ///
    /// # Errors
    /// The first pattern that is wrong.
    pub fn new(request: &Request<'_>, audit: &dyn Audit) -> Result<Matcher, PatternError> {
        let mut matcher = Matcher::everything();
        let reader = Reader { request, audit };
        if !request.patterns.is_empty() {
            let mut found = Found::default();
            reader.read(request.patterns, request.default, 0, &mut found)?;
            matcher.wild =
                !found.filesets.is_empty() || found.patterns.iter().any(Pattern::is_wild);
            matcher.add_named(&found.patterns);
            if !found.filesets.is_empty() && matcher.exact.insert(Vec::new()) {
                matcher.named.insert(0, Vec::new());
            }
            matcher.patterns = Some(found.compile(End::File)?);
        }
        let set = |texts: &[Vec<u8>]| {
            let mut found = Found::default();
            reader.read(texts, Kind::Glob, 0, &mut found)?;
            found.compile(End::FileOrFolder)
        };
        if !request.include.is_empty() {
            matcher.include = Some(set(request.include)?);
        }
        if !request.exclude.is_empty() {
            matcher.exclude = Some(set(request.exclude)?);
        }
        Ok(matcher)
    }

    /// Lets only the file `path`, or files below it, match of those that matched so far.
    pub fn keep_below(&mut self, path: Vec<u8>) {
        self.named.push(path.clone());
        self.named.sort_unstable();
        self.named.dedup();
        self.below = Some(path);
    }

    fn add_named(&mut self, patterns: &[Pattern]) {
        for pattern in patterns {
            let path = pattern.root().to_vec();
            if self.exact.insert(path.clone()) {
                self.named.push(path);
            }
        }
        self.named.sort_unstable();
    }

    /// Whether a file matches.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.patterns.as_ref().is_none_or(|set| set.matches(path))
            && self.include.as_ref().is_none_or(|set| set.matches(path))
            && !self.exclude.as_ref().is_some_and(|set| set.matches(path))
            && self
                .below
                .as_ref()
                .is_none_or(|below| is_below(path, below))
    }

    /// Whether every file matches.
    pub fn is_everything(&self) -> bool {
        self.patterns.as_ref().is_none_or(PatternSet::is_everything)
            && self.include.as_ref().is_none_or(PatternSet::is_everything)
            && self.exclude.is_none()
            && self.below.is_none()
    }

    /// Whether anything in a folder or below may match; the empty folder is the root.
    pub fn may_match_below(&self, folder: &[u8]) -> bool {
        let may =
            |set: &Option<PatternSet>| set.as_ref().is_none_or(|set| set.may_match_below(folder));
        let excluded = |set: &PatternSet| set.matches_all_below(folder);
        let related = |below: &Vec<u8>| {
            is_below(folder, below) || is_below(below, folder) || folder.is_empty()
        };
        self.below.as_ref().is_none_or(related)
            && may(&self.patterns)
            && may(&self.include)
            && !self.exclude.as_ref().is_some_and(excluded)
    }

    /// The files and folders that arguments name, and the folders at the beginning of globs, each
    /// from the root on and sorted; empty for the root. Who walks says of each that is not there
    /// that it is not.
    pub fn named(&self) -> &[Vec<u8>] {
        &self.named
    }

    /// Whether an argument names this file, not a folder above it or a pattern.
    pub fn is_exact(&self, path: &[u8]) -> bool {
        self.exact.contains(path)
    }

    /// Whether any argument is more than a name.
    pub fn is_wild(&self) -> bool {
        self.wild
    }
}

/// `kind:text`, where a kind is given.
fn whole_pattern(kind: Option<&[u8]>, text: &[u8]) -> Result<Vec<u8>, PatternError> {
    let Some(kind) = kind else {
        return Ok(text.to_vec());
    };
    if Kind::of_name(kind).is_none() {
        let kind = String::from_utf8_lossy(kind);
        return Err(FilesetError::plain(format!("invalid pattern kind: {kind}")).into());
    }
    Ok([kind, b":", text].concat())
}

struct Reader<'a> {
    request: &'a Request<'a>,
    audit: &'a dyn Audit,
}

impl Reader<'_> {
    /// Adds patterns with names from the root on.
    fn read(
        &self,
        texts: &[Vec<u8>],
        default: Kind,
        depth: u32,
        found: &mut Found,
    ) -> Result<(), PatternError> {
        for text in texts {
            let mut pattern = Pattern::parse(text, default);
            let Request { root, cwd, .. } = *self.request;
            match pattern.kind {
                Kind::Glob | Kind::RelPath => {
                    pattern.text = relative_to_root(root, cwd, &pattern.text)?;
                    if !pattern.text.is_empty() {
                        self.audit.check(&pattern.text)?;
                    }
                }
                Kind::ListFile | Kind::ListFile0 => {
                    let list = self.list(&pattern, depth)?;
                    self.read(&list, default, depth + 1, found)?;
                    continue;
                }
                Kind::Set | Kind::Include if self.request.files.is_some() => {
                    self.of_files(&pattern, depth, found)?;
                    continue;
                }
                Kind::RelGlob
                | Kind::Path
                | Kind::RootFilesIn
                | Kind::RootGlob
                | Kind::FilePath => pattern.text = normalise(&pattern.text),
                _ => {}
            }
            found.patterns.push(pattern);
        }
        Ok(())
    }

    /// Adds what is not told by names alone.
    fn of_files(
        &self,
        pattern: &Pattern,
        depth: u32,
        found: &mut Found,
    ) -> Result<(), PatternError> {
        match self.request.files {
            Some(files) if pattern.kind == Kind::Include => {
                let test = files.included(&pattern.text)?;
                found.filesets.push(Fileset::of_test(test));
                Ok(())
            }
            Some(files) => self.fileset(&pattern.text, files, depth, found),
            None => Ok(()),
        }
    }

    /// Adds a fileset. One that is a pattern and nothing else is that pattern.
    fn fileset(
        &self,
        text: &[u8],
        files: &Arc<dyn FileSource>,
        depth: u32,
        found: &mut Found,
    ) -> Result<(), PatternError> {
        if depth >= LIST_DEPTH {
            let text = String::from_utf8_lossy(text).into_owned();
            return Err(PatternError::ListDepth(text));
        }
        if let Some((kind, text)) = fileset::only_pattern(text) {
            let text = whole_pattern(kind.as_deref(), &text)?;
            return self.read(&[text], Kind::Glob, depth + 1, found);
        }
        let compile = |kind: Option<&[u8]>, text: &[u8]| {
            let mut inner = Found::default();
            let text = whole_pattern(kind, text)?;
            self.read(&[text], Kind::Glob, depth + 1, &mut inner)?;
            Ok(Fileset::of_patterns(inner.compile(End::File)?))
        };
        found
            .filesets
            .push(fileset::compile(text, files, &compile)?);
        Ok(())
    }

    fn list(&self, pattern: &Pattern, depth: u32) -> Result<Vec<Vec<u8>>, PatternError> {
        use std::os::unix::ffi::OsStrExt;
        let name = String::from_utf8_lossy(&pattern.text).into_owned();
        if depth >= LIST_DEPTH {
            return Err(PatternError::ListDepth(name));
        }
        let path = self
            .request
            .cwd
            .join(std::ffi::OsStr::from_bytes(&pattern.text));
        let text = std::fs::read(path).map_err(|_| PatternError::List(name))?;
        let end = if pattern.kind == Kind::ListFile {
            b'\n'
        } else {
            0
        };
        let lines = text.split(|byte| *byte == end);
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        Ok(lines
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }
}
