//! `[history]`: repositories as databases.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// `[history]`: which documents the databases of repositories have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// `databases`: whether repositories are shown as databases; default true.
    pub databases: bool,
    /// `include`: whether draft changesets are documents (`draft`), or public ones only (`public`, the default).
    pub includes_drafts: bool,
    /// `line_counts`: whether lines that were added and removed are counted; default false.
    pub counts_lines: bool,
    /// `files`: whether the files of the default head are documents; default false.
    pub lists_files: bool,
    /// `data`: globs of the files whose items are documents; default none.
    pub data: Vec<String>,
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
            data: Vec::new(),
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
        data: or(of("data"), data, Vec::new())?,
        poll: Duration::from_secs(poll.unsigned_abs()),
    })
}

/// Form of the globs that [`is_data_glob`] takes, for messages.
pub const DATA_GLOBS: &str =
    "globs of paths below the root, such as data/*.json, without braces, .. and kinds";

/// Returns whether a word is a glob that `data` takes. A comma within braces would part two globs, so there are none; of the
/// kinds of Mercurial's patterns only globs are known, and not by that name.
pub fn is_data_glob(word: &str) -> bool {
    let has_kind = word.split_once(':').is_some_and(|(kind, _)| {
        let kinds = [
            "re",
            "relre",
            "glob",
            "rootglob",
            "relglob",
            "path",
            "filepath",
            "relpath",
            "rootfilesin",
            "set",
            "listfile",
            "listfile0",
            "include",
            "subinclude",
        ];
        kinds.contains(&kind)
    });
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    !has_kind && !word.contains(['{', '}', '\\']) && word.split('/').all(is_name)
}

fn data(setting: &Setting) -> Result<Vec<String>, ConfigError> {
    let globs = setting.list();
    match globs.iter().all(|glob| is_data_glob(glob)) {
        true => Ok(globs),
        false => Err(setting.refuse(DATA_GLOBS)),
    }
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
        let globs = [
            "data/*.json",
            "*.ndjson",
            "**/x?.csv",
            "a:b.json",
            "[ab].csv",
        ];
        let set = history(&format!("data = {}\n", globs.join(", "))).unwrap();
        assert_eq!(set.data, globs);
        for glob in [
            "*.{json,csv}",
            "/a.json",
            "../a.json",
            "a//b",
            "re:x",
            "d/",
            "a\\b",
        ] {
            assert!(history(&format!("data = {glob}")).is_err(), "{glob}");
        }
    }
}
