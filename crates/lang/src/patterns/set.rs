//! Many patterns as one set.

use super::kind::{Kind, Pattern};
use super::python::{self, Refusal};
use super::{PatternError, glob};
use crate::fileset::Fileset;
use regex::bytes::{Regex, RegexBuilder};
use std::collections::HashSet;

/// Where a glob must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the end of the path, as in arguments of commands.
    File,
    /// There or at a slash, as with `-I`, `-X` and in `.hgignore`.
    FileOrFolder,
}

impl End {
    fn regex(self) -> &'static str {
        match self {
            End::File => "$",
            End::FileOrFolder => "(?:/|$)",
        }
    }
}

/// Memory that one expression may take when compiled, and how deep its groups may be nested.
const SIZE_LIMIT: usize = 16 << 20;
const NEST_LIMIT: u32 = 200;

/// Patterns that were compiled together.
#[derive(Clone, Debug, Default)]
pub struct PatternSet {
    all: bool,
    /// Files and folders with all that is below.
    trees: HashSet<Vec<u8>>,
    files: HashSet<Vec<u8>>,
    /// Folders of which the files match that lie directly in them.
    folders: HashSet<Vec<u8>>,
    /// Several only where one would be too large.
    regexes: Vec<Regex>,
    filesets: Vec<Fileset>,
    /// Folders outside of which nothing matches; one that is empty is the root.
    roots: Vec<Vec<u8>>,
}

impl PatternSet {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn compile(patterns: &[Pattern], end: End) -> Result<PatternSet, PatternError> {
        let mut set = PatternSet::default();
        let mut expressions = Vec::new();
        for pattern in patterns {
            set.roots.push(pattern.root().to_vec());
            let text = pattern.text.clone();
            match pattern.kind {
                _ if is_everything(pattern) => set.all = true,
                Kind::Path | Kind::RelPath => drop(set.trees.insert(text)),
                Kind::FilePath => drop(set.files.insert(text)),
                Kind::RootFilesIn => drop(set.folders.insert(pattern.root().to_vec())),
                _ => expressions.push((pattern, expression(pattern, end)?)),
            }
        }
        if !expressions.is_empty() {
            set.add_regexes(&expressions)?;
        }
        Ok(set)
    }

    /// Adds what filesets match.
    pub(super) fn add_filesets(&mut self, filesets: Vec<Fileset>) {
        self.roots.extend(filesets.iter().map(|_| Vec::new()));
        self.filesets.extend(filesets);
    }

    fn add_regexes(&mut self, expressions: &[(&Pattern, String)]) -> Result<(), PatternError> {
        let texts: Vec<&str> = expressions.iter().map(|(_, text)| text.as_str()).collect();
        let whole = format!("^(?:{})", texts.join("|"));
        let built = RegexBuilder::new(&whole)
            .unicode(false)
            .size_limit(SIZE_LIMIT)
            .nest_limit(NEST_LIMIT)
            .build();
        match (built, expressions) {
            (Ok(regex), _) => self.regexes.push(regex),
            (Err(regex::Error::CompiledTooBig(_)), [(pattern, _)]) => {
                return Err(PatternError::TooLarge(shown(&pattern.text)));
            }
            (Err(_), [(pattern, _)]) => return Err(invalid(pattern)),
            (Err(_), _) => {
                // Too large together, or one of them is wrong: the halves will tell.
                let (left, right) = expressions.split_at(expressions.len() / 2);
                self.add_regexes(left)?;
                self.add_regexes(right)?;
            }
        }
        Ok(())
    }

    /// Whether there is no pattern in it, so that nothing matches.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Whether everything matches.
    pub fn is_everything(&self) -> bool {
        self.all
    }

    /// Whether a path matches.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.all
            || self.files.contains(path)
            || self.is_in_tree(path)
            || (!self.folders.is_empty() && self.folders.contains(folder_of(path)))
            || self.regexes.iter().any(|regex| regex.is_match(path))
            || self.filesets.iter().any(|set| set.matches(path))
    }

    fn is_in_tree(&self, path: &[u8]) -> bool {
        !self.trees.is_empty()
            && (self.trees.contains(path) || folders(path).any(|above| self.trees.contains(above)))
    }

    /// Whether all that lies in a folder matches, as far as names alone tell.
    pub fn matches_all_below(&self, folder: &[u8]) -> bool {
        self.all || self.is_in_tree(folder)
    }

    /// Whether anything in a folder or below may match.
    pub fn may_match_below(&self, folder: &[u8]) -> bool {
        self.all || folder.is_empty() || {
            let related = |root: &Vec<u8>| {
                root.is_empty() || is_below(folder, root) || is_below(root, folder)
            };
            self.roots.iter().any(related)
        }
    }
}

/// Whether `path` is `folder` or lies below.
pub(super) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

fn folder_of(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

/// The folders above a path, without the root.
fn folders(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}

fn is_everything(pattern: &Pattern) -> bool {
    match pattern.kind {
        Kind::Path | Kind::RelPath => matches!(&pattern.text[..], b"" | b"."),
        Kind::Glob | Kind::Re | Kind::RelRe => pattern.text.is_empty(),
        _ => false,
    }
}

fn expression(pattern: &Pattern, end: End) -> Result<String, PatternError> {
    let text = &pattern.text;
    // Each stands in a group of its own, so that its flags end with it.
    let mut out = String::from("(?:");
    match pattern.kind {
        Kind::Glob | Kind::RootGlob => {
            glob::push_regex(text, &mut out).ok_or_else(|| invalid(pattern))?;
            out.push_str(end.regex());
        }
        Kind::RelGlob => {
            out.push_str("(?:|.*/)");
            glob::push_regex(text, &mut out).ok_or_else(|| invalid(pattern))?;
            out.push_str(end.regex());
        }
        Kind::Re | Kind::RelRe => {
            if pattern.kind == Kind::RelRe && !text.starts_with(b"^") {
                out.push_str(".*");
            }
            python::push_regex(text, &mut out).map_err(|refusal| match refusal {
                Refusal::Invalid => invalid(pattern),
                Refusal::Unsupported(what) => PatternError::Unsupported {
                    kind: pattern.kind.name(),
                    text: shown(text),
                    what,
                },
            })?;
        }
        kind => {
            let (kind, text) = (kind.name(), shown(text));
            return Err(PatternError::UnsupportedKind { kind, text });
        }
    }
    out.push(')');
    Ok(out)
}

/// An expression of Python that is looked for anywhere in a text; `None` if it cannot be used.
pub(crate) fn search_regex(text: &[u8]) -> Option<Regex> {
    let mut out = String::new();
    python::push_regex(text, &mut out).ok()?;
    RegexBuilder::new(&out)
        .unicode(false)
        .size_limit(SIZE_LIMIT)
        .nest_limit(NEST_LIMIT)
        .build()
        .ok()
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
