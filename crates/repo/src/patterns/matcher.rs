//! What a command works on: its arguments, `-I` and `-X`.

use super::PatternError;
use super::kind::{Kind, Pattern};
use super::names::{Audit, normalise, relative_to_root};
use super::set::{End, PatternSet, is_below};
use std::collections::HashSet;
use std::path::Path;

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
            let patterns = reader.read(request.patterns, request.default, 0)?;
            matcher.patterns = Some(PatternSet::compile(&patterns, End::File)?);
            matcher.wild = patterns.iter().any(Pattern::is_wild);
            matcher.add_named(&patterns);
        }
        let set = |texts: &[Vec<u8>]| {
            let patterns = reader.read(texts, Kind::Glob, 0)?;
            PatternSet::compile(&patterns, End::FileOrFolder)
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

struct Reader<'a> {
    request: &'a Request<'a>,
    audit: &'a dyn Audit,
}

impl Reader<'_> {
    /// Patterns with names from the root on.
    fn read(
        &self,
        texts: &[Vec<u8>],
        default: Kind,
        depth: u32,
    ) -> Result<Vec<Pattern>, PatternError> {
        let mut patterns = Vec::new();
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
                    patterns.append(&mut self.read(&list, default, depth + 1)?);
                    continue;
                }
                Kind::RelGlob
                | Kind::Path
                | Kind::RootFilesIn
                | Kind::RootGlob
                | Kind::FilePath => pattern.text = normalise(&pattern.text),
                _ => {}
            }
            patterns.push(pattern);
        }
        Ok(patterns)
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
