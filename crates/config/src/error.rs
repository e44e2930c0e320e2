//! Configuration that is refused: place, expected form, and found text.

use std::path::PathBuf;

/// A configuration file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value is not of its setting's type.
    #[error("{file}:{line}: {key} must be {expected}, not {found:?}", file = file.display())]
    Value {
        /// Path of the file, as it was opened.
        file: PathBuf,
        /// Line of the key, from 1 on.
        line: usize,
        /// Section and key with a dot between them.
        key: String,
        /// The expected form, as a phrase.
        expected: String,
        /// The value as written.
        found: String,
    },
    /// A line is neither a section, a setting, a continuation nor a comment.
    #[error("{file}:{line}: expected {expected}, found {found:?}", file = file.display())]
    Syntax {
        /// Path of the file, as it was opened.
        file: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The expected form, as a phrase.
        expected: &'static str,
        /// The line as written.
        found: String,
    },
    /// No section or key has this name, and none is close to it.
    #[error("{file}:{line}: there is no setting {key}", file = file.display())]
    Unknown {
        /// Path of the file, as it was opened.
        file: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// Section and key with a dot between them.
        key: String,
    },
    /// No section or key has this name; most likely it is misspelled.
    #[error("{file}:{line}: there is no setting {key}; did you mean {nearest}?",
            file = file.display())]
    Misspelled {
        /// Path of the file, as it was opened.
        file: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// Section and key with a dot between them.
        key: String,
        /// The most similar name.
        nearest: String,
    },
}

impl ConfigError {
    /// The message without the place in the file, for clients that sent the value.
    pub fn reason(&self) -> String {
        match self {
            ConfigError::Value {
                key,
                expected,
                found,
                ..
            } => format!("{key} must be {expected}, not {found:?}"),
            ConfigError::Syntax {
                expected, found, ..
            } => format!("expected {expected}, found {found:?}"),
            ConfigError::Unknown { key, .. } => format!("there is no setting {key}"),
            ConfigError::Misspelled { key, nearest, .. } => {
                format!("there is no setting {key}; did you mean {nearest}?")
            }
        }
    }
}
