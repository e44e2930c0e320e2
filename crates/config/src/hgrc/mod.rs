//! Mercurial's configuration: files in layers, each of which overrides the ones before it.
//!
//! Values are bytes, because names of users and files need not be UTF-8. Where a value was written
//! is kept with it. Files are read through [`Files`]: this crate knows no disk and no environment.

mod parse;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use value::{boolean, bytes, list};

/// How the files of a configuration are reached.
pub trait Files {
    /// The bytes of a file.
    ///
    /// # Errors
    /// Errors of the system; a file that is not there is passed over.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// A path as written, with `~` and `$VARIABLE` replaced.
    fn expand(&self, path: &[u8]) -> PathBuf;
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// In a file, in a line from 1 on.
    Line(PathBuf, usize),
    /// Elsewhere, such as `--config` or `$HGUSER`.
    Named(String),
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingSource::Line(file, line) => write!(f, "{}:{line}", file.display()),
            SettingSource::Named(name) => f.write_str(name),
        }
    }
}

/// One value with its name and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigItem {
    /// The name within its section.
    pub key: Vec<u8>,
    /// The value, with `\n` between the lines of a continued one.
    pub value: Vec<u8>,
    /// Where it was written.
    pub source: SettingSource,
}

/// All settings that count.
#[derive(Clone, Debug, Default)]
pub struct Hgrc {
    sections: BTreeMap<Vec<u8>, Vec<ConfigItem>>,
    read: Vec<PathBuf>,
}

/// A configuration that Mercurial refuses, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HgrcError {
    /// A line is neither a section, a value, a continuation, a directive nor a comment.
    #[error("config error at {place}: {text}")]
    Syntax {
        /// File and line.
        place: SettingSource,
        /// The line, or its error.
        text: String,
    },
    /// A value is not of its setting's type.
    #[error("{section}.{key} is not {expected} ('{found}')")]
    Value {
        /// Name without brackets.
        section: String,
        /// The name within it.
        key: String,
        /// `a boolean`, for instance.
        expected: &'static str,
        /// The value as written.
        found: String,
    },
    /// An argument of `--config` is not `section.name=value`.
    #[error("malformed --config option: '{0}' (use --config section.name=value)")]
    Argument(String),
    /// A file is there but cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
}

impl Hgrc {
    /// Adds the settings of a file; a missing one has none.
    ///
    /// # Errors
    /// [`HgrcError::Syntax`], also for included files; [`HgrcError::Unreadable`].
    pub fn add_file(&mut self, files: &dyn Files, path: &Path) -> Result<(), HgrcError> {
        match files.read(path) {
            Ok(text) => {
                self.read.push(path.to_owned());
                self.add_text(files, path, &text)
            }
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(HgrcError::Unreadable {
                path: path.to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// Adds the settings in the text of a file.
    ///
    /// # Errors
    /// As [`Hgrc::add_file`].
    pub fn add_text(
        &mut self,
        files: &dyn Files,
        path: &Path,
        text: &[u8],
    ) -> Result<(), HgrcError> {
        parse::add(self, files, path, text, 0)
    }

    /// Adds one argument of `--config`.
    ///
    /// # Errors
    /// [`HgrcError::Argument`].
    pub fn add_argument(&mut self, argument: &[u8]) -> Result<(), HgrcError> {
        let wrong = || HgrcError::Argument(String::from_utf8_lossy(argument).into_owned());
        let equals = argument.iter().position(|byte| *byte == b'=');
        let equals = equals.ok_or_else(wrong)?;
        let (name, value) = (argument[..equals].trim_ascii(), &argument[equals + 1..]);
        let dot = name.iter().position(|byte| *byte == b'.');
        let dot = dot.filter(|dot| *dot > 0 && dot + 1 < name.len());
        let dot = dot.ok_or_else(wrong)?;
        let source = SettingSource::Named("--config".to_owned());
        self.set(&name[..dot], &name[dot + 1..], value.trim_ascii(), source);
        Ok(())
    }

    /// Sets a value; it moves to the end of its section.
    pub fn set(&mut self, section: &[u8], key: &[u8], value: &[u8], source: SettingSource) {
        let items = self.sections.entry(section.to_vec()).or_default();
        items.retain(|item| item.key != key);
        items.push(ConfigItem {
            key: key.to_vec(),
            value: value.to_vec(),
            source,
        });
    }

    /// Forgets a value.
    pub fn unset(&mut self, section: &[u8], key: &[u8]) {
        if let Some(items) = self.sections.get_mut(section) {
            items.retain(|item| item.key != key);
        }
    }

    /// Notes that a section is there, even if nothing is in it.
    fn begin_section(&mut self, section: &[u8]) {
        self.sections.entry(section.to_vec()).or_default();
    }

    /// Returns whether a file has the section, which may be empty, or a value of it is set.
    pub fn has_section(&self, name: &str) -> bool {
        self.sections.contains_key(name.as_bytes())
    }

    /// Forgets all other sections.
    pub fn keep_sections(&mut self, names: &[&str]) {
        let is_kept = |section: &[u8]| names.iter().any(|name| name.as_bytes() == section);
        self.sections.retain(|section, _| is_kept(section));
    }

    /// Forgets a section.
    pub fn unset_section(&mut self, section: &str) {
        self.sections.remove(section.as_bytes());
    }

    /// Lets the values of `later` replace those of the same names.
    pub fn add_all(&mut self, later: &Hgrc) {
        for (section, items) in &later.sections {
            self.begin_section(section);
            for item in items {
                self.set(section, &item.key, &item.value, item.source.clone());
            }
        }
        self.read.extend(later.read.iter().cloned());
    }

    /// A value with its place.
    pub fn item(&self, section: &str, key: &str) -> Option<&ConfigItem> {
        self.section(section)
            .iter()
            .find(|item| item.key == key.as_bytes())
    }

    /// A value.
    pub fn get(&self, section: &str, key: &str) -> Option<&[u8]> {
        Some(&self.item(section, key)?.value)
    }

    /// A value as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self, section: &str, key: &str) -> Option<String> {
        let value = self.get(section, key)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// A truth value: `1 yes true on always`, `0 no false off never`.
    ///
    /// # Errors
    /// [`HgrcError::Value`].
    pub fn boolean(&self, section: &str, key: &str, default: bool) -> Result<bool, HgrcError> {
        self.typed(section, key, "a boolean", boolean)
            .map(|value| value.unwrap_or(default))
    }

    /// A whole number; `None` if it is not set.
    ///
    /// # Errors
    /// [`HgrcError::Value`].
    pub fn integer(&self, section: &str, key: &str) -> Result<Option<i64>, HgrcError> {
        self.typed(section, key, "a valid integer", value::integer)
    }

    /// A number that may have a fraction; `None` if it is not set.
    ///
    /// # Errors
    /// [`HgrcError::Value`].
    pub fn number(&self, section: &str, key: &str) -> Result<Option<f64>, HgrcError> {
        self.typed(section, key, "a valid float", value::number)
    }

    /// A number of bytes, such as `10 MB`; `None` if it is not set.
    ///
    /// # Errors
    /// [`HgrcError::Value`].
    pub fn bytes(&self, section: &str, key: &str) -> Result<Option<u64>, HgrcError> {
        self.typed(section, key, "a byte quantity", bytes)
    }

    /// A list of words; empty if it is not set.
    pub fn list(&self, section: &str, key: &str) -> Vec<Vec<u8>> {
        self.get(section, key).map(list).unwrap_or_default()
    }

    /// A path, of which a relative one is meant from the directory of the file it is written in.
    pub fn path(&self, files: &dyn Files, section: &str, key: &str) -> Option<PathBuf> {
        let item = self.item(section, key)?;
        let path = files.expand(&item.value);
        Some(match &item.source {
            SettingSource::Line(file, _) => {
                file.parent().map_or(path.clone(), |dir| dir.join(&path))
            }
            SettingSource::Named(_) => path,
        })
    }

    /// The values of a section, in the order in which they were set.
    pub fn section(&self, name: &str) -> &[ConfigItem] {
        let items = self.sections.get(name.as_bytes());
        items.map(Vec::as_slice).unwrap_or_default()
    }

    /// All values by section, sorted.
    pub fn sections(&self) -> impl Iterator<Item = (&[u8], &[ConfigItem])> {
        let sections = self.sections.iter();
        sections.map(|(name, items)| (name.as_slice(), items.as_slice()))
    }

    /// Files that were read, in that order.
    pub fn files_read(&self) -> &[PathBuf] {
        &self.read
    }

    fn typed<T>(
        &self,
        section: &str,
        key: &str,
        expected: &'static str,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, HgrcError> {
        let Some(value) = self.get(section, key) else {
            return Ok(None);
        };
        let wrong = || HgrcError::Value {
            section: section.to_owned(),
            key: key.to_owned(),
            expected,
            found: String::from_utf8_lossy(value).into_owned(),
        };
        read(value).map(Some).ok_or_else(wrong)
    }
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

#[cfg(test)]
mod tests;
