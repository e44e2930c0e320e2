//! The files that a command works on, by its arguments, `-I` and `-X`.

use super::kind::{Pattern, PatternKind};
use super::names::{PathCheck, normalise, relative_to_root};
use super::set::{PatternEnd, PatternSet, is_below};
use super::{FileResolver, PathPredicate, PatternError, RegexEngine};
use crate::fileset::{self, Expr, FilesetError};
use std::collections::HashSet;
use std::path::Path;

/// Deepest nesting of list files and filesets.
const LIST_DEPTH: u32 = 20;

/// The patterns of a command, as typed, and the directory that they are relative to.
#[derive(Clone, Copy)]
pub struct MatchRequest<'a> {
    /// The repository's directory, absolute.
    pub root: &'a Path,
    /// The directory that names are relative to, absolute.
    pub cwd: &'a Path,
    /// The arguments.
    pub patterns: &'a [Vec<u8>],
    /// The values of `-I`.
    pub include: &'a [Vec<u8>],
    /// The values of `-X`.
    pub exclude: &'a [Vec<u8>],
    /// The kind of arguments without one.
    pub default: PatternKind,
    /// The engine of regular expressions.
    pub engine: RegexEngine,
    /// Resolves `set:` and `include:`; without it these kinds are refused.
    pub files: Option<&'a dyn FileResolver>,
}

impl<'a> MatchRequest<'a> {
    /// A request for patterns of a setting: globs from the directory `root` on, unless they name another kind.
    pub fn of_setting(root: &'a Path, patterns: &'a [Vec<u8>]) -> MatchRequest<'a> {
        MatchRequest {
            root,
            cwd: root,
            patterns,
            include: &[],
            exclude: &[],
            default: PatternKind::Glob,
            engine: RegexEngine::Linear,
            files: None,
        }
    }
}

/// Patterns with paths from the root on.
#[derive(Default)]
struct ResolvedPatterns {
    patterns: Vec<Pattern>,
    predicates: Vec<PathPredicate>,
    has_filesets: bool,
}

impl ResolvedPatterns {
    fn compile(self, engine: RegexEngine, end: PatternEnd) -> Result<PatternSet, PatternError> {
        let mut set = PatternSet::compile_for(engine, &self.patterns, end)?;
        set.add_predicates(self.predicates);
        Ok(set)
    }
}

/// Selects the files that a command works on.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// `None` matches everything.
    patterns: Option<PatternSet>,
    include: Option<PatternSet>,
    exclude: Option<PatternSet>,
    /// A file or directory outside of which nothing matches.
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
        let kind = PatternKind::FilePath;
        let files = files.into_iter().map(|text| Pattern { kind, text });
        let files: Vec<Pattern> = files.collect();
        // Patterns of this kind are always valid.
        let set = PatternSet::compile(&files, PatternEnd::File).unwrap_or_default();
        let mut matcher = Matcher::everything();
        matcher.patterns = Some(set);
        matcher.add_named(&files);
        matcher
    }

    /// Compiles the patterns of a command.
    ///
    /// # Errors
    /// The first pattern that is invalid.
    pub fn new(request: &MatchRequest<'_>, paths: &dyn PathCheck) -> Result<Matcher, PatternError> {
        let mut matcher = Matcher::everything();
        let resolver = Resolver { request, paths };
        if !request.patterns.is_empty() {
            let mut found = ResolvedPatterns::default();
            resolver.resolve(request.patterns, request.default, 0, &mut found)?;
            matcher.wild =
                !found.predicates.is_empty() || found.patterns.iter().any(Pattern::is_wild);
            // Beside a fileset, no argument counts as a name.
            if !found.has_filesets {
                matcher.add_named(&found.patterns);
                if !found.predicates.is_empty() && matcher.exact.insert(Vec::new()) {
                    matcher.named.insert(0, Vec::new());
                }
            }
            matcher.patterns = Some(found.compile(request.engine, PatternEnd::File)?);
        }
        let set = |texts: &[Vec<u8>]| {
            let mut found = ResolvedPatterns::default();
            resolver.resolve(texts, PatternKind::Glob, 0, &mut found)?;
            found.compile(request.engine, PatternEnd::FileOrDirectory)
        };
        if !request.include.is_empty() {
            matcher.include = Some(set(request.include)?);
        }
        if !request.exclude.is_empty() {
            matcher.exclude = Some(set(request.exclude)?);
        }
        Ok(matcher)
    }

    /// Restricts the matcher to the file `path`, or the files below it.
    pub fn keep_below(&mut self, path: Vec<u8>) {
        self.named.push(path.clone());
        self.named.sort_unstable();
        self.named.dedup();
        self.below = Some(path);
    }

    fn add_named(&mut self, patterns: &[Pattern]) {
        let are_names = |pattern: &&Pattern| pattern.kind != PatternKind::RootFilesIn;
        for pattern in patterns.iter().filter(are_names) {
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

    /// Whether anything in a directory or below may match; the empty directory is the root.
    pub fn may_match_below(&self, directory: &[u8]) -> bool {
        let may = |set: &Option<PatternSet>| {
            set.as_ref()
                .is_none_or(|set| set.may_match_below(directory))
        };
        let excluded = |set: &PatternSet| set.matches_all_below(directory);
        let related = |below: &Vec<u8>| {
            is_below(directory, below) || is_below(below, directory) || directory.is_empty()
        };
        self.below.as_ref().is_none_or(related)
            && may(&self.patterns)
            && may(&self.include)
            && !self.exclude.as_ref().is_some_and(excluded)
    }

    /// The files and directories that arguments name, and the directories at the beginning of
    /// globs, each from the root on and sorted; empty for the root. A walk reports each of them
    /// that does not exist. There are none where an argument is a fileset, and none of the kind
    /// `rootfilesin`.
    pub fn named(&self) -> &[Vec<u8>] {
        &self.named
    }

    /// Whether an argument names this file, not a directory above it or a pattern.
    pub fn is_exact(&self, path: &[u8]) -> bool {
        self.exact.contains(path)
    }

    /// Whether any argument is more than a name.
    pub fn is_wild(&self) -> bool {
        self.wild
    }
}

/// `kind:text`, or `text` without a kind.
fn whole_pattern(kind: Option<&[u8]>, text: &[u8]) -> Result<Vec<u8>, PatternError> {
    let Some(kind) = kind else {
        return Ok(text.to_vec());
    };
    if PatternKind::of_name(kind).is_none() {
        let kind = String::from_utf8_lossy(kind);
        return Err(FilesetError::new(format!("invalid pattern kind: {kind}")).into());
    }
    Ok([kind, b":", text].concat())
}

struct Resolver<'a> {
    request: &'a MatchRequest<'a>,
    paths: &'a dyn PathCheck,
}

impl Resolver<'_> {
    /// Adds the patterns `texts` to `found`, with paths from the root on.
    fn resolve(
        &self,
        texts: &[Vec<u8>],
        default: PatternKind,
        depth: u32,
        found: &mut ResolvedPatterns,
    ) -> Result<(), PatternError> {
        for text in texts {
            let mut pattern = Pattern::parse(text, default);
            let MatchRequest { root, cwd, .. } = *self.request;
            match (pattern.kind, self.request.files) {
                (PatternKind::Glob | PatternKind::RelPath, _) => {
                    pattern.text = relative_to_root(root, cwd, &pattern.text)?;
                    if !pattern.text.is_empty() {
                        self.paths.check(&pattern.text)?;
                    }
                }
                (PatternKind::ListFile | PatternKind::ListFile0, _) => {
                    let list = self.list(&pattern, depth)?;
                    self.resolve(&list, default, depth + 1, found)?;
                    continue;
                }
                (PatternKind::Set, Some(files)) => {
                    self.fileset(&pattern.text, files, depth, found)?;
                    continue;
                }
                (PatternKind::Include, Some(files)) => {
                    found.predicates.push(files.pattern_file(&pattern.text)?);
                    continue;
                }
                (
                    PatternKind::RelGlob
                    | PatternKind::Path
                    | PatternKind::RootFilesIn
                    | PatternKind::RootGlob
                    | PatternKind::FilePath,
                    _,
                ) => pattern.text = normalise(&pattern.text),
                _ => {}
            }
            found.patterns.push(pattern);
        }
        Ok(())
    }

    /// Adds a fileset. One that is a single pattern is added as that pattern.
    fn fileset(
        &self,
        text: &[u8],
        files: &dyn FileResolver,
        depth: u32,
        found: &mut ResolvedPatterns,
    ) -> Result<(), PatternError> {
        if depth >= LIST_DEPTH {
            let text = String::from_utf8_lossy(text).into_owned();
            return Err(PatternError::ListDepth(text));
        }
        let resolve = |kind: Option<&[u8]>, text: &[u8], found: &mut ResolvedPatterns| {
            let text = whole_pattern(kind, text)?;
            self.resolve(&[text], PatternKind::Glob, depth + 1, found)
        };
        let compile = |kind: Option<&[u8]>, text: &[u8]| {
            let mut inner = ResolvedPatterns::default();
            resolve(kind, text, &mut inner)?;
            inner.compile(self.request.engine, PatternEnd::File)
        };
        match fileset::parse(text)? {
            Expr::Symbol(text) | Expr::Text(text) => resolve(None, &text, found),
            Expr::Kind(kind, text) => resolve(Some(&kind), &text, found),
            expr => {
                found.predicates.push(files.fileset(&expr, &compile)?);
                found.has_filesets = true;
                Ok(())
            }
        }
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
        let end = if pattern.kind == PatternKind::ListFile {
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
