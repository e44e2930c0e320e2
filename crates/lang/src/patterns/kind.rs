//! The kinds of patterns.

/// What stands before the colon of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `re:` an expression that must match from the beginning of the path.
    Re,
    /// `relre:` an expression that may match anywhere.
    RelRe,
    /// `glob:` from the current folder on.
    Glob,
    /// `rootglob:` from the root on.
    RootGlob,
    /// `relglob:` from any folder on.
    RelGlob,
    /// `path:` a file or folder, from the root.
    Path,
    /// `filepath:` a file, from the root.
    FilePath,
    /// `relpath:` a file or folder, from the current folder.
    RelPath,
    /// `rootfilesin:` the files of a folder, but not those of folders below.
    RootFilesIn,
    /// `set:` an expression over files.
    Set,
    /// `listfile:` more patterns, one per line of a file.
    ListFile,
    /// `listfile0:` the same with zero bytes between them.
    ListFile0,
    /// `include:` more patterns from a file in the syntax of `.hgignore`.
    Include,
    /// `subinclude:` the same, for the folder of that file.
    SubInclude,
}

const NAMES: &[(&str, Kind)] = &[
    ("re", Kind::Re),
    ("relre", Kind::RelRe),
    ("glob", Kind::Glob),
    ("rootglob", Kind::RootGlob),
    ("relglob", Kind::RelGlob),
    ("path", Kind::Path),
    ("filepath", Kind::FilePath),
    ("relpath", Kind::RelPath),
    ("rootfilesin", Kind::RootFilesIn),
    ("set", Kind::Set),
    ("listfile", Kind::ListFile),
    ("listfile0", Kind::ListFile0),
    ("include", Kind::Include),
    ("subinclude", Kind::SubInclude),
];

impl Kind {
    /// The kind that a name means.
    pub fn of_name(name: &[u8]) -> Option<Kind> {
        let found = NAMES.iter().find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, kind)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }
}

/// One pattern, its names already relative to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// How the text is to be read.
    pub kind: Kind,
    /// What follows the colon.
    pub text: Vec<u8>,
}

impl Pattern {
    /// Takes `kind:text` apart. What begins with no known kind is a text of the kind `default`.
    pub fn parse(text: &[u8], default: Kind) -> Pattern {
        let colon = text.iter().position(|byte| *byte == b':');
        let known = colon.and_then(|at| Some((Kind::of_name(&text[..at])?, &text[at + 1..])));
        let (kind, text) = known.unwrap_or((default, text));
        Pattern {
            kind,
            text: text.to_vec(),
        }
    }

    /// The folder or file that everything which matches lies in; empty for the root.
    pub fn root(&self) -> &[u8] {
        match self.kind {
            Kind::Glob | Kind::RootGlob => super::glob::fixed_folders(&self.text),
            Kind::Path | Kind::RelPath | Kind::FilePath | Kind::RootFilesIn => {
                if self.text == b"." { b"" } else { &self.text }
            }
            _ => b"",
        }
    }

    /// Whether it can match more than a file or folder that it names.
    pub fn is_wild(&self) -> bool {
        !matches!(self.kind, Kind::Path | Kind::RelPath | Kind::FilePath)
    }
}
