//! The kinds of patterns.

/// How the text of a pattern is read; written before a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternKind {
    /// `re:` an expression that must match from the beginning of the path.
    Re,
    /// `relre:` an expression that may match anywhere.
    RelRe,
    /// `glob:` from the current directory on.
    Glob,
    /// `rootglob:` from the root on.
    RootGlob,
    /// `relglob:` from any directory on.
    RelGlob,
    /// `path:` a file or directory, from the root.
    Path,
    /// `filepath:` a file, from the root.
    FilePath,
    /// `relpath:` a file or directory, from the current directory.
    RelPath,
    /// `rootfilesin:` the files of a directory, but not those of directories below.
    RootFilesIn,
    /// `set:` an expression over files.
    Set,
    /// `listfile:` more patterns, one per line of a file.
    ListFile,
    /// `listfile0:` the same with zero bytes between them.
    ListFile0,
    /// `include:` more patterns from a file in the syntax of `.hgignore`.
    Include,
    /// `subinclude:` the same, for the directory of that file.
    SubInclude,
}

const NAMES: &[(&str, PatternKind)] = &[
    ("re", PatternKind::Re),
    ("relre", PatternKind::RelRe),
    ("glob", PatternKind::Glob),
    ("rootglob", PatternKind::RootGlob),
    ("relglob", PatternKind::RelGlob),
    ("path", PatternKind::Path),
    ("filepath", PatternKind::FilePath),
    ("relpath", PatternKind::RelPath),
    ("rootfilesin", PatternKind::RootFilesIn),
    ("set", PatternKind::Set),
    ("listfile", PatternKind::ListFile),
    ("listfile0", PatternKind::ListFile0),
    ("include", PatternKind::Include),
    ("subinclude", PatternKind::SubInclude),
];

impl PatternKind {
    /// The kind with a name.
    pub fn of_name(name: &[u8]) -> Option<PatternKind> {
        let found = NAMES.iter().find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, kind)| *kind)
    }

    /// The name that is written before the colon.
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }
}

/// One pattern, its names already relative to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// How the text is read.
    pub kind: PatternKind,
    /// The part behind the colon.
    pub text: Vec<u8>,
}

impl Pattern {
    /// Splits `kind:text`. A text without a known kind is of the kind `default`.
    pub fn parse(text: &[u8], default: PatternKind) -> Pattern {
        let colon = text.iter().position(|byte| *byte == b':');
        let known =
            colon.and_then(|at| Some((PatternKind::of_name(&text[..at])?, &text[at + 1..])));
        let (kind, text) = known.unwrap_or((default, text));
        Pattern {
            kind,
            text: text.to_vec(),
        }
    }

    /// The directory or file that everything which matches lies in; empty for the root.
    pub fn root(&self) -> &[u8] {
        match self.kind {
            PatternKind::Glob | PatternKind::RootGlob => super::glob::fixed_prefix(&self.text),
            PatternKind::Path
            | PatternKind::RelPath
            | PatternKind::FilePath
            | PatternKind::RootFilesIn => {
                if self.text == b"." {
                    b""
                } else {
                    &self.text
                }
            }
            _ => b"",
        }
    }

    /// Whether it can match more than a file or directory that it names.
    pub fn is_wild(&self) -> bool {
        !matches!(
            self.kind,
            PatternKind::Path | PatternKind::RelPath | PatternKind::FilePath
        )
    }
}
