//! Ignored files: `.hgignore` and the files that the configuration adds.
//!
//! ```text
//! # a comment; \# is the character
//! syntax: glob             from here on lines are globs; before, expressions
//! *.o
//! re:^build/               one line of another syntax
//! include:other            lines of another file, by its name from the root
//! subinclude:lib/.hgignore the same, for paths in the directory of that file
//! ```

use crate::WorkdirError;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_lang::patterns::{
    Pattern, PatternEnd, PatternError, PatternKind, PatternSet, RegexEngine, normalise,
};

/// How deep files may include files.
const INCLUDE_DEPTH: u32 = 20;

/// Compiled ignore files.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    set: PatternSet,
    /// Directories with their slash, and the patterns for paths below each.
    below: Vec<(Vec<u8>, Ignore)>,
}

/// An [`Ignore`] with warnings about skipped lines, in Mercurial's words.
#[derive(Clone, Debug, Default)]
pub struct IgnoreFiles {
    /// The compiled patterns.
    pub ignore: Ignore,
    /// One line each, without its end.
    pub warnings: Vec<String>,
}

impl IgnoreFiles {
    /// Reads `.hgignore` at `root`, if there is one, and the `further` files.
    ///
    /// # Errors
    /// [`WorkdirError::Ignore`] for a pattern that is wrong.
    pub fn read(root: &Path, further: &[PathBuf]) -> Result<IgnoreFiles, WorkdirError> {
        let mut reader = Reader::of_files(root, further)?;
        let warnings = std::mem::take(&mut reader.warnings);
        let ignore = reader.compile()?;
        Ok(IgnoreFiles { ignore, warnings })
    }

    /// The first rule that ignores the path itself, not a directory above it.
    ///
    /// # Errors
    /// [`WorkdirError::Ignore`] for a pattern that is wrong.
    pub fn rule_for(
        root: &Path,
        further: &[PathBuf],
        path: &[u8],
    ) -> Result<Option<IgnoreRule>, WorkdirError> {
        Reader::of_files(root, further)?.rule_for(path)
    }

    /// The patterns of the file that `include:` names from the root on.
    ///
    /// # Errors
    /// [`WorkdirError::Ignore`] for a pattern that is wrong.
    pub fn of_file(root: &Path, name: &[u8]) -> Result<Ignore, WorkdirError> {
        let mut reader = Reader::new(root);
        reader.include(name, 0)?;
        reader.compile()
    }
}

impl Ignore {
    /// Whether this path itself is ignored.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.set.matches(path)
            || self.below.iter().any(|(directory, ignore)| {
                path.strip_prefix(&directory[..])
                    .is_some_and(|rest| ignore.matches(rest))
            })
    }

    /// Whether this path or a directory above it is ignored.
    pub fn matches_from_above(&self, path: &[u8]) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut above = slashes.map(|(at, _)| &path[..at]);
        self.matches(path) || above.any(|directory| self.matches(directory))
    }
}

/// One line of a file that ignores paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreRule {
    /// The file's path; of one that `subinclude:` names, too.
    pub file: String,
    /// Number of the line, counted from 1.
    pub line: usize,
    /// The pattern as it is written, without the name of its syntax.
    pub text: Vec<u8>,
}

/// A pattern with the rule that it is told as.
struct RulePattern {
    pattern: Pattern,
    rule: IgnoreRule,
}

/// Patterns that came from one file.
type PatternFile = (String, Vec<RulePattern>);

struct Reader<'a> {
    root: &'a Path,
    sources: Vec<PatternFile>,
    /// Directories with their slash and readers, still to be compiled.
    below: Vec<(Vec<u8>, Reader<'a>)>,
    warnings: Vec<String>,
}

/// The kind of pattern that a word before a colon, or in a line `syntax:`, selects.
fn syntax(word: &[u8]) -> Option<PatternKind> {
    Some(match word {
        b"re" | b"regexp" | b"relre" => PatternKind::RelRe,
        b"glob" | b"relglob" => PatternKind::RelGlob,
        b"rootglob" => PatternKind::RootGlob,
        b"include" => PatternKind::Include,
        b"subinclude" => PatternKind::SubInclude,
        _ => return None,
    })
}

/// A line without its comment and trailing space.
fn without_comment(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match (byte, rest) {
            (b'\\', [b'#', behind @ ..]) => {
                out.push(b'#');
                rest = behind;
            }
            (b'\\', [other, behind @ ..]) => {
                out.extend_from_slice(&[b'\\', *other]);
                rest = behind;
            }
            (b'#', _) => break,
            _ => out.push(*byte),
        }
    }
    out.truncate(out.trim_ascii_end().len());
    out
}

impl<'a> Reader<'a> {
    fn new(root: &'a Path) -> Reader<'a> {
        Reader {
            root,
            sources: Vec::new(),
            below: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads `.hgignore` at `root`, if there is one, and the `further` files.
    fn of_files(root: &'a Path, further: &[PathBuf]) -> Result<Reader<'a>, WorkdirError> {
        let mut reader = Reader::new(root);
        let own = root.join(".hgignore");
        let own = own.exists().then_some(&own);
        for path in own.into_iter().chain(further) {
            let name = path.display().to_string();
            reader.file(path, &name, 0)?;
        }
        Ok(reader)
    }

    fn rule_for(&self, path: &[u8]) -> Result<Option<IgnoreRule>, WorkdirError> {
        for (name, patterns) in &self.sources {
            for RulePattern { pattern, rule } in patterns {
                if compiled(name, std::slice::from_ref(pattern))?.matches(path) {
                    return Ok(Some(rule.clone()));
                }
            }
        }
        for (directory, reader) in &self.below {
            if let Some(path) = path.strip_prefix(&directory[..])
                && let Some(rule) = reader.rule_for(path)?
            {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }

    /// Reads a file; one that cannot be read is skipped with a warning.
    fn file(&mut self, path: &Path, name: &str, depth: u32) -> Result<(), WorkdirError> {
        match std::fs::read(path) {
            Ok(text) => self.text(path, name, &text, depth),
            Err(error) => {
                let reason = system_words(&error);
                let line = format!("skipping unreadable pattern file '{name}': {reason}");
                self.warnings.push(line);
                Ok(())
            }
        }
    }

    fn text(
        &mut self,
        path: &Path,
        name: &str,
        text: &[u8],
        depth: u32,
    ) -> Result<(), WorkdirError> {
        if depth > INCLUDE_DEPTH {
            let path = path.to_owned();
            return Err(WorkdirError::IgnoreDepth { path });
        }
        let mut default = PatternKind::RelRe;
        let mut patterns = Vec::new();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(word) = line.strip_prefix(b"syntax:") {
                let word = word.trim_ascii();
                match syntax(word) {
                    Some(kind) => default = kind,
                    None => self.warnings.push(format!(
                        "{name}: ignoring invalid syntax '{}'",
                        String::from_utf8_lossy(word)
                    )),
                }
                continue;
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let of_line = colon.and_then(|at| Some((syntax(&line[..at])?, &line[at + 1..])));
            let (kind, text) = of_line.unwrap_or((default, &line));
            let rule = |text: &[u8]| IgnoreRule {
                file: name.to_owned(),
                line: at + 1,
                text: text.to_vec(),
            };
            match kind {
                PatternKind::Include => {
                    let first = self.sources.len();
                    self.include(text, depth)?;
                    // As in Mercurial, included patterns are told as the line that includes them.
                    let rule = rule(&[b":", text].concat());
                    let included = self.sources[first..].iter_mut();
                    included
                        .flat_map(|(_, patterns)| patterns)
                        .for_each(|included| included.rule = rule.clone());
                }
                PatternKind::SubInclude => self.subinclude(path, text, depth)?,
                kind => patterns.push(RulePattern {
                    pattern: pattern(kind, text),
                    rule: rule(text),
                }),
            }
        }
        self.sources.push((name.to_owned(), patterns));
        Ok(())
    }

    fn include(&mut self, name: &[u8], depth: u32) -> Result<(), WorkdirError> {
        let path = self.root.join(OsStr::from_bytes(name));
        self.file(&path, &String::from_utf8_lossy(name), depth + 1)
    }

    fn subinclude(&mut self, from: &Path, name: &[u8], depth: u32) -> Result<(), WorkdirError> {
        let directory = from.parent().unwrap_or(self.root);
        let path = directory.join(OsStr::from_bytes(name));
        let inner = path.parent().unwrap_or(directory).to_owned();
        let Ok(text) = std::fs::read(&path) else {
            return Ok(());
        };
        let mut prefix = inner
            .strip_prefix(self.root)
            .map(|below| below.as_os_str().as_bytes().to_vec())
            .unwrap_or_default();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let mut reader = Reader::new(self.root);
        reader.text(&path, &path.display().to_string(), &text, depth + 1)?;
        self.warnings.append(&mut reader.warnings);
        self.below.push((prefix, reader));
        Ok(())
    }

    fn compile(self) -> Result<Ignore, WorkdirError> {
        let of_file = |source: &PatternFile| -> Vec<Pattern> {
            let patterns = source.1.iter();
            patterns.map(|one| one.pattern.clone()).collect()
        };
        let all: Vec<Pattern> = self.sources.iter().flat_map(of_file).collect();
        let set = match compile(&all) {
            Ok(set) => set,
            Err(error) => {
                // The error names the file with the wrong pattern.
                for source in &self.sources {
                    compiled(&source.0, &of_file(source))?;
                }
                let name = String::new();
                return Err(WorkdirError::Ignore { name, error });
            }
        };
        let below = self.below.into_iter();
        let below = below.map(|(directory, reader)| Ok((directory, reader.compile()?)));
        let below = below.collect::<Result<_, WorkdirError>>()?;
        Ok(Ignore { set, below })
    }
}

/// The pattern of a line. `build/` means the directory, as in Mercurial.
fn pattern(kind: PatternKind, text: &[u8]) -> Pattern {
    let text = match kind {
        PatternKind::RelGlob | PatternKind::RootGlob => normalise(text),
        _ => text.to_vec(),
    };
    Pattern { kind, text }
}

/// Patterns of the file `name`.
fn compiled(name: &str, patterns: &[Pattern]) -> Result<PatternSet, WorkdirError> {
    compile(patterns).map_err(|error| WorkdirError::Ignore {
        name: name.to_owned(),
        error,
    })
}

/// With all forms of Python: the working copy is its user's.
fn compile(patterns: &[Pattern]) -> Result<PatternSet, PatternError> {
    PatternSet::compile_for(
        RegexEngine::Backtracking,
        patterns,
        PatternEnd::FileOrDirectory,
    )
}

/// The system's words without Rust's ` (os error 2)`.
pub(crate) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Never panics on any text of an ignore file.
pub(crate) fn fuzz(data: &[u8]) {
    let root = Path::new("/nowhere/at/all");
    let mut reader = Reader::new(root);
    if reader.text(root, "ignore", data, 0).is_ok()
        && let Ok(ignore) = reader.compile()
    {
        let _ = ignore.matches_from_above(b"a/b/c.o");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(text: &str, files: &[(&str, &str)]) -> Result<(String, Vec<String>), String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        for (name, text) in files.iter().chain([&(".hgignore", text)]) {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let own = |text: String| text.replace(directory.path().to_str().unwrap(), "/r");
        let read =
            IgnoreFiles::read(directory.path(), &[]).map_err(|error| own(error.to_string()))?;
        let paths = [
            "a.o",
            "d/b",
            "d/b.o",
            "d/e/c",
            "d/e/ign",
            "ign/deep/y",
            "#x",
        ];
        let found = paths
            .into_iter()
            .filter(|path| read.ignore.matches_from_above(path.as_bytes()));
        let found = found.collect::<Vec<_>>().join(" ");
        Ok((found, read.warnings.into_iter().map(own).collect()))
    }

    /// Each was tried with Mercurial.
    #[test]
    fn lines_ignore_what_mercurial_ignores() {
        for (text, expected) in [
            ("ign$\n", "d/e/ign ign/deep/y"),
            ("syntax: glob\n*.o\nign\n", "a.o d/b.o d/e/ign ign/deep/y"),
            ("syntax:glob\nd/*.o # comment\n\\#x\n", "d/b.o #x"),
            ("glob:*.o\nre:^ign\n", "a.o d/b.o ign/deep/y"),
            ("rootglob:*.o\nrelglob:e\n", "a.o d/e/c d/e/ign"),
            ("glob:ign/\nrootglob:./d//b\n", "d/b d/e/ign ign/deep/y"),
            ("relre:x\nfoo:bar\n", "#x"),
            ("path:d\nrootfilesin:d\n", ""),
            (
                "syntax: re\n^d/\nsyntax: glob\na*",
                "a.o d/b d/b.o d/e/c d/e/ign",
            ),
            ("x\r\nsyntax: glob\r\n*.o\r\n", "a.o d/b.o #x"),
            ("include:inc\n", "a.o d/b.o"),
            ("subinclude:d/sub\n", "d/b.o d/e/c"),
            ("subinclude:nope\n", ""),
        ] {
            let files = [
                ("inc", "glob:*.o"),
                ("d/sub", "^e/c\nsyntax: rootglob\n*.o"),
            ];
            let (found, warnings) = ignored(text, &files).unwrap();
            assert_eq!((found.as_str(), warnings.len()), (expected, 0), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_file() {
        let (_, warnings) = ignored("syntax: foo\ninclude:inc\n", &[]).unwrap();
        assert_eq!(
            warnings,
            [
                "/r/.hgignore: ignoring invalid syntax 'foo'",
                "skipping unreadable pattern file 'inc': No such file or directory"
            ]
        );
        let error = ignored("include:inc\nx", &[("inc", "*.o")]).unwrap_err();
        assert_eq!(error, "inc: invalid pattern (relre): *.o");
        let error = ignored("[\n", &[]).unwrap_err();
        assert_eq!(error, "/r/.hgignore: invalid pattern (relre): [");
        assert!(
            ignored("include:.hgignore", &[])
                .unwrap_err()
                .contains("too deeply")
        );
    }

    #[test]
    fn any_text_is_read_without_panic() {
        for text in [
            "\\",
            "syntax:",
            "include:",
            "subinclude:",
            "re:(",
            ":\0",
            "glob:{{",
        ] {
            fuzz(text.as_bytes());
        }
    }
}
