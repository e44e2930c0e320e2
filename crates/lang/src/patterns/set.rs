//! Patterns compiled into one set.

use super::backtracking::BacktrackingRegex;
use super::kind::{Pattern, PatternKind};
use super::python::{self, GroupNames, PythonRegexError, RegexEngine};
use super::{PathPredicate, PatternError, glob, regex as python_regex};
use regex::bytes::Regex;
use std::collections::HashSet;

/// Where a match of a glob must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternEnd {
    /// At the end of the path, as in arguments of commands.
    File,
    /// There or at a slash, as with `-I`, `-X` and in `.hgignore`.
    FileOrDirectory,
}

impl PatternEnd {
    fn regex(self) -> &'static str {
        match self {
            PatternEnd::File => "$",
            PatternEnd::FileOrDirectory => "(?:/|$)",
        }
    }
}

/// Patterns compiled into one set.
#[derive(Clone, Debug, Default)]
pub struct PatternSet {
    all: bool,
    /// Files, and directories with everything below.
    trees: HashSet<Vec<u8>>,
    files: HashSet<Vec<u8>>,
    /// Directories of which the files match that lie directly in them.
    directories: HashSet<Vec<u8>>,
    /// More than one only where one would be too large.
    regexes: Vec<Regex>,
    /// Those that cannot be matched in linear time.
    backtracking: Vec<BacktrackingRegex>,
    predicates: Vec<PathPredicate>,
    /// Directories outside of which nothing matches; one that is empty is the root.
    roots: Vec<Vec<u8>>,
}

impl PatternSet {
    /// Compiles patterns, all of which match in linear time.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn compile(patterns: &[Pattern], end: PatternEnd) -> Result<PatternSet, PatternError> {
        PatternSet::compile_for(RegexEngine::Linear, patterns, end)
    }

    /// Compiles patterns of which some may need the engine.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn compile_for(
        engine: RegexEngine,
        patterns: &[Pattern],
        end: PatternEnd,
    ) -> Result<PatternSet, PatternError> {
        let mut set = PatternSet::default();
        let mut expressions = Vec::new();
        for pattern in patterns {
            set.roots.push(pattern.root().to_vec());
            let text = pattern.text.clone();
            match pattern.kind {
                _ if is_everything(pattern) => set.all = true,
                PatternKind::Path | PatternKind::RelPath => drop(set.trees.insert(text)),
                PatternKind::FilePath => drop(set.files.insert(text)),
                PatternKind::RootFilesIn => drop(set.directories.insert(pattern.root().to_vec())),
                _ => match expression(pattern, end, RegexEngine::Linear) {
                    Err(PatternError::Unsupported { .. })
                        if engine == RegexEngine::Backtracking =>
                    {
                        let text = expression(pattern, end, engine)?;
                        let regex = BacktrackingRegex::compile(&text);
                        set.backtracking
                            .push(regex.ok_or_else(|| invalid(pattern))?);
                    }
                    linear => expressions.push((pattern, linear?)),
                },
            }
        }
        if !expressions.is_empty() {
            set.add_regexes(&expressions)?;
        }
        Ok(set)
    }

    /// Adds the paths for which any of `predicates` holds.
    pub(super) fn add_predicates(&mut self, predicates: Vec<PathPredicate>) {
        self.roots.extend(predicates.iter().map(|_| Vec::new()));
        self.predicates.extend(predicates);
    }

    fn add_regexes(&mut self, expressions: &[(&Pattern, String)]) -> Result<(), PatternError> {
        let texts: Vec<&str> = expressions.iter().map(|(_, text)| text.as_str()).collect();
        let whole = format!("^(?:{})", texts.join("|"));
        match (python_regex::build(&whole), expressions) {
            (Ok(regex), _) => self.regexes.push(regex),
            (Err(regex::Error::CompiledTooBig(_)), [(pattern, _)]) => {
                return Err(PatternError::TooLarge(shown(&pattern.text)));
            }
            (Err(_), [(pattern, _)]) => return Err(invalid(pattern)),
            (Err(_), _) => {
                // Too large together, or one of them is invalid: each half is compiled on its own.
                let (left, right) = expressions.split_at(expressions.len() / 2);
                self.add_regexes(left)?;
                self.add_regexes(right)?;
            }
        }
        Ok(())
    }

    /// Whether the set has no pattern, so that nothing matches.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Whether every path matches.
    pub fn is_everything(&self) -> bool {
        self.all
    }

    /// Whether a path matches.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.all
            || self.files.contains(path)
            || self.is_in_tree(path)
            || (!self.directories.is_empty() && self.directories.contains(parent_of(path)))
            || self.regexes.iter().any(|regex| regex.is_match(path))
            || self.backtracking.iter().any(|regex| regex.is_match(path))
            || self.predicates.iter().any(|test| test.matches(path))
    }

    fn is_in_tree(&self, path: &[u8]) -> bool {
        !self.trees.is_empty()
            && (self.trees.contains(path)
                || directories(path).any(|above| self.trees.contains(above)))
    }

    /// Whether every path below a directory matches, as far as names alone decide.
    pub fn matches_all_below(&self, directory: &[u8]) -> bool {
        self.all || self.is_in_tree(directory)
    }

    /// Whether anything in a directory or below may match.
    pub fn may_match_below(&self, directory: &[u8]) -> bool {
        self.all || directory.is_empty() || {
            let related = |root: &Vec<u8>| {
                root.is_empty() || is_below(directory, root) || is_below(root, directory)
            };
            self.roots.iter().any(related)
        }
    }
}

/// Whether `path` is `directory` or lies below.
pub(super) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

fn parent_of(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

/// The directories above a path, without the root.
fn directories(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}

fn is_everything(pattern: &Pattern) -> bool {
    match pattern.kind {
        PatternKind::Path | PatternKind::RelPath => matches!(&pattern.text[..], b"" | b"."),
        PatternKind::Glob | PatternKind::Re | PatternKind::RelRe => pattern.text.is_empty(),
        _ => false,
    }
}

fn expression(
    pattern: &Pattern,
    end: PatternEnd,
    engine: RegexEngine,
) -> Result<String, PatternError> {
    let text = &pattern.text;
    // Each stands in a group of its own, so that its flags end with it.
    let mut out = String::from("(?:");
    match pattern.kind {
        PatternKind::Glob | PatternKind::RootGlob => {
            glob::push_regex(text, &mut out).ok_or_else(|| invalid(pattern))?;
            out.push_str(end.regex());
        }
        PatternKind::RelGlob => {
            out.push_str("(?:|.*/)");
            glob::push_regex(text, &mut out).ok_or_else(|| invalid(pattern))?;
            out.push_str(end.regex());
        }
        PatternKind::Re | PatternKind::RelRe => {
            if pattern.kind == PatternKind::RelRe && !text.starts_with(b"^") {
                out.push_str(".*");
            }
            python::push_regex(text, (GroupNames::Dropped, engine), &mut out).map_err(
                |refusal| match refusal {
                    PythonRegexError::Invalid => invalid(pattern),
                    PythonRegexError::Unsupported(what) => PatternError::Unsupported {
                        kind: pattern.kind.name(),
                        text: shown(text),
                        what,
                    },
                },
            )?;
        }
        kind => {
            let (kind, text) = (kind.name(), shown(text));
            return Err(PatternError::UnsupportedKind { kind, text });
        }
    }
    out.push(')');
    Ok(out)
}

fn invalid(pattern: &Pattern) -> PatternError {
    PatternError::Invalid {
        kind: pattern.kind.name(),
        text: shown(&pattern.text),
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
