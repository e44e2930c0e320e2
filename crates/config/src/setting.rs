//! One setting and where it was written; one reader per type, one phrase for what it expects.

use crate::ConfigError;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A value as written, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The file it stands in, for messages.
    pub file: PathBuf,
    /// Line of the key, from 1 on.
    pub line: usize,
    /// Name between the brackets above it.
    pub section: String,
    /// Name left of the equals sign.
    pub key: String,
    /// Text right of it, without surrounding space; continued lines are joined by `\n`.
    pub value: String,
}

impl Setting {
    /// The error that names the expected form.
    pub fn refuse(&self, expected: impl Display) -> ConfigError {
        ConfigError::Value {
            file: self.file.clone(),
            line: self.line,
            key: self.name(),
            expected: expected.to_string(),
            found: self.value.clone(),
        }
    }

    /// Section and key with a dot between them.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Any type whose parse error names the expected form, such as an engine setting.
    ///
    /// # Errors
    /// [`ConfigError::Value`] with that error as the expectation.
    pub fn parse<T: FromStr>(&self) -> Result<T, ConfigError>
    where
        T::Err: Display,
    {
        self.value.parse().map_err(|expected| self.refuse(expected))
    }

    /// A whole number within a range.
    ///
    /// # Errors
    /// [`ConfigError::Value`].
    pub fn number(&self, range: RangeInclusive<i64>) -> Result<i64, ConfigError> {
        let number = self.value.parse().ok().filter(|n| range.contains(n));
        let (low, high) = range.into_inner();
        number.ok_or_else(|| self.refuse(format_args!("a number from {low} to {high}")))
    }

    /// A truth value in any spelling of the two ancestors.
    ///
    /// # Errors
    /// [`ConfigError::Value`].
    pub fn boolean(&self) -> Result<bool, ConfigError> {
        match self.value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" | "always" => Ok(true),
            "false" | "no" | "off" | "0" | "never" => Ok(false),
            _ => Err(self.refuse("true or false")),
        }
    }

    /// A size in bytes: digits, then an optional kb, mb or gb (powers of 1024), or `infinity`.
    ///
    /// # Errors
    /// [`ConfigError::Value`].
    pub fn size(&self) -> Result<u64, ConfigError> {
        let wrong = || self.refuse("a size such as 8mb");
        let text = self.value.to_ascii_lowercase();
        if text == "infinity" {
            return Ok(u64::MAX);
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale = match text[digits.len()..].trim() {
            "" | "b" => 1u64,
            "kb" => 1 << 10,
            "mb" => 1 << 20,
            "gb" => 1 << 30,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.trim_end().parse().map_err(|_| wrong())?;
        number.checked_mul(scale).ok_or_else(wrong)
    }

    /// A whole number of seconds, at least one.
    ///
    /// # Errors
    /// [`ConfigError::Value`].
    pub fn seconds(&self) -> Result<Duration, ConfigError> {
        let seconds = self.value.parse().ok().filter(|&n: &u32| n > 0);
        let seconds = seconds.ok_or_else(|| self.refuse("a number of seconds from 1 on"))?;
        Ok(Duration::from_secs(u64::from(seconds)))
    }

    /// Text that can be the value of a header.
    ///
    /// # Errors
    /// [`ConfigError::Value`].
    pub fn header_value(&self) -> Result<String, ConfigError> {
        match self.value.chars().all(|c| (' '..='~').contains(&c)) {
            true => Ok(self.value.clone()),
            false => Err(self.refuse("printable ASCII")),
        }
    }

    /// Words between commas or white space.
    pub fn list(&self) -> Vec<String> {
        let words = self.value.split([',', ' ', '\t', '\n']);
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }
}

/// The typed value of a setting, or a default if it is not there.
pub(crate) fn or<T>(
    setting: Option<&Setting>,
    read: impl FnOnce(&Setting) -> Result<T, ConfigError>,
    default: T,
) -> Result<T, ConfigError> {
    setting.map_or(Ok(default), read)
}

pub(crate) fn level(
    setting: Option<&Setting>,
    low: i64,
    high: i64,
) -> Result<Option<i32>, ConfigError> {
    let number = setting
        .map(|setting| setting.number(low..=high))
        .transpose()?;
    Ok(number.and_then(|number| i32::try_from(number).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: &str) -> Setting {
        Setting {
            file: "varve.ini".into(),
            line: 12,
            section: "couchdb".into(),
            key: "max_document_size".into(),
            value: value.into(),
        }
    }

    fn words<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn sizes_and_the_exact_words_for_bad_ones() {
        assert_eq!(setting("8mb").size(), Ok(8 << 20));
        assert_eq!(setting("12").size(), Ok(12));
        assert_eq!(setting("3 GB").size(), Ok(3 << 30));
        assert_eq!(setting("infinity").size(), Ok(u64::MAX));
        let message = "varve.ini:12: couchdb.max_document_size must be a size such as 8mb, not ";
        assert_eq!(
            words(setting("8 apples").size()),
            format!("{message}\"8 apples\"")
        );
        assert_eq!(
            words(setting("99999999999gb").size()),
            format!("{message}\"99999999999gb\"")
        );
    }

    #[test]
    fn numbers_truths_seconds_and_lists() {
        assert_eq!(setting("22").number(0..=22), Ok(22));
        let message =
            "varve.ini:12: couchdb.max_document_size must be a number from 0 to 22, not \"23\"";
        assert_eq!(words(setting("23").number(0..=22)), message);
        assert_eq!(setting("Yes").boolean(), Ok(true));
        assert_eq!(setting("off").boolean(), Ok(false));
        assert!(
            words(setting("maybe").boolean()).ends_with("must be true or false, not \"maybe\"")
        );
        assert_eq!(setting("600").seconds(), Ok(Duration::from_secs(600)));
        assert!(setting("0").seconds().is_err());
        assert_eq!(setting("a, b  c").list(), ["a", "b", "c"]);
        let message = words(setting("x").parse::<u8>());
        assert!(message.contains("must be invalid digit"), "{message}");
    }
}
