//! `[history]`: repositories as databases.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// `[history]`: which documents the databases of repositories have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// `databases`: whether repositories are shown as databases; default true.
    pub databases: bool,
    /// `include`: whether draft changesets are documents (`draft`), or public ones only (`public`, the default).
    pub includes_drafts: bool,
    /// `line_counts`: whether lines that were added and removed are counted; default false.
    pub counts_lines: bool,
    /// `files`: whether the files of the default head are documents; default false.
    pub lists_files: bool,
    /// `poll_secs`: how often repositories are looked at for changes by other programs; default 2.
    pub poll: Duration,
}

impl Default for History {
    fn default() -> History {
        History {
            databases: true,
            includes_drafts: false,
            counts_lines: false,
            lists_files: false,
            poll: Duration::from_secs(2),
        }
    }
}

pub(crate) fn read(ini: &Ini) -> Result<History, ConfigError> {
    let of = |key| ini.get("history", key);
    let usual = History::default();
    let poll = or(of("poll_secs"), |setting| setting.number(1..=86_400), 2)?;
    Ok(History {
        databases: or(of("databases"), Setting::boolean, usual.databases)?,
        includes_drafts: or(of("include"), includes_drafts, usual.includes_drafts)?,
        counts_lines: or(of("line_counts"), Setting::boolean, usual.counts_lines)?,
        lists_files: or(of("files"), Setting::boolean, usual.lists_files)?,
        poll: Duration::from_secs(poll.unsigned_abs()),
    })
}

fn includes_drafts(setting: &Setting) -> Result<bool, ConfigError> {
    match setting.value.as_str() {
        "draft" => Ok(true),
        "public" => Ok(false),
        _ => Err(setting.refuse("public or draft")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn history(text: &str) -> Result<History, String> {
        let text = format!("[history]\n{text}");
        let ini = Ini::parse(Path::new("varve.ini"), &text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn repositories_are_databases_by_default() {
        assert_eq!(history("").unwrap(), History::default());
        let set = history("databases = no\ninclude = draft\nline_counts = true\npoll_secs = 60\n");
        let set = set.unwrap();
        assert!(!set.databases && set.includes_drafts && set.counts_lines && !set.lists_files);
        assert_eq!(set.poll.as_secs(), 60);
        assert_eq!(
            history("include = secret").unwrap_err(),
            "varve.ini:2: history.include must be public or draft, not \"secret\""
        );
        assert!(history("poll_secs = 0").is_err());
    }
}
