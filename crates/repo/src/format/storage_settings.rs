//! Settings that decide how new revisions are stored.
//!
//! The engine of a new repository comes from `format.revlog-compression` and is then written among
//! its requirements. From there on the requirements decide, and only the level may change.

use crate::format::{RepoError, Requirements};
use varve_codec::{CodecId, EngineSetting};
use varve_revlog::WriteOptions;

/// Engines in revlogs, each with the requirement that names it.
const ENGINES: [(CodecId, Option<&str>); 3] = [
    (CodecId::Zlib, None),
    (CodecId::Zstd, Some("revlog-compression-zstd")),
    (CodecId::None, Some("exp-compression-none")),
];

/// Settings of `[format]` and `[storage]` for revlogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageSettings {
    /// `format.revlog-compression`: names in order of preference.
    compression: Vec<String>,
    zlib: EngineSetting,
    zstd: EngineSetting,
    /// `storage.revlog.reuse-external-delta`.
    reuse_delta: bool,
    /// `storage.revlog.reuse-external-delta-parent`.
    reuse_delta_parent: bool,
}

impl Default for StorageSettings {
    /// As Mercurial 7.2: new repositories use zstd, all levels are the engines' own.
    fn default() -> Self {
        StorageSettings {
            compression: vec!["zstd".to_owned(), "zlib".to_owned()],
            zlib: EngineSetting::ZLIB,
            zstd: EngineSetting::ZSTD,
            reuse_delta: true,
            reuse_delta_parent: true,
        }
    }
}

impl StorageSettings {
    /// Reads the settings; `lookup` gives the value of a section and name, if there is one.
    ///
    /// # Errors
    /// [`RepoError::SettingNotInteger`], [`RepoError::SettingNotBoolean`] and
    /// [`RepoError::SettingOutOfRange`], in Mercurial's words.
    pub fn read(
        lookup: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Result<StorageSettings, RepoError> {
        let storage = |name: &str| lookup("storage", name);
        let default = StorageSettings::default();
        Ok(StorageSettings {
            compression: match lookup("format", "revlog-compression") {
                Some(list) => names(&list),
                None => default.compression,
            },
            zlib: level(&storage, "revlog.zlib.level", default.zlib)?,
            zstd: level(&storage, "revlog.zstd.level", default.zstd)?,
            reuse_delta: boolean(&storage, "revlog.reuse-external-delta", true)?,
            reuse_delta_parent: boolean(&storage, "revlog.reuse-external-delta-parent", true)?,
        })
    }

    /// Engine of a repository that is made now: the first of the list that this program has.
    ///
    /// # Errors
    /// [`RepoError::UnknownEngines`] if it has none of them.
    pub fn engine_of_new(&self) -> Result<CodecId, RepoError> {
        let known = |name: &String| {
            let engine = ENGINES.iter().find(|(engine, _)| engine.name() == name)?;
            Some(engine.0)
        };
        let found = self.compression.iter().find_map(known);
        found.ok_or_else(|| RepoError::UnknownEngines {
            names: self.compression.clone(),
        })
    }

    /// An engine at its configured level.
    pub fn engine(&self, engine: CodecId) -> EngineSetting {
        match engine {
            CodecId::Zstd => self.zstd,
            CodecId::None | CodecId::Snappy => EngineSetting::NONE,
            CodecId::Zlib => self.zlib,
        }
    }

    /// How revisions of a repository with these requirements are written.
    pub fn write_options(&self, requirements: &Requirements) -> WriteOptions {
        WriteOptions {
            engine: self.engine(engine_of(requirements)),
            general_delta: requirements.has("generaldelta"),
            sparse: requirements.has("sparserevlog"),
            reuse_delta: self.reuse_delta,
            reuse_delta_parent: self.reuse_delta_parent,
        }
    }
}

/// The engine that new chunks of a repository are compressed with.
pub fn engine_of(requirements: &Requirements) -> CodecId {
    let required = |(_, name): &&(CodecId, Option<&str>)| name.is_some_and(|n| requirements.has(n));
    let engine = ENGINES.iter().find(required);
    engine.map_or(CodecId::Zlib, |(engine, _)| *engine)
}

/// The requirement that names an engine; zlib, the oldest one, needs none.
pub(crate) fn requirement_of(engine: CodecId) -> Option<&'static str> {
    let known = ENGINES.iter().find(|(known, _)| *known == engine);
    known.and_then(|(_, requirement)| *requirement)
}

fn names(list: &str) -> Vec<String> {
    let names = list.split(|c: char| c == ',' || c.is_whitespace());
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Looks a name of the section `storage` up.
type Lookup<'l> = dyn Fn(&str) -> Option<String> + 'l;

fn level(
    lookup: &Lookup<'_>,
    name: &str,
    default: EngineSetting,
) -> Result<EngineSetting, RepoError> {
    let Some(value) = lookup(name) else {
        return Ok(default);
    };
    let Some(level) = integer(&value) else {
        return Err(RepoError::SettingNotInteger {
            key: format!("storage.{name}"),
            value,
        });
    };
    let fits = i32::try_from(level).ok();
    let setting = fits.and_then(|level| EngineSetting::new(default.codec(), level).ok());
    setting.ok_or_else(|| RepoError::SettingOutOfRange {
        key: format!("storage.{name}"),
        value: level,
    })
}

/// Digits as Mercurial takes them: with blanks around, a sign, and single underscores between.
fn integer(value: &str) -> Option<i64> {
    let value = value.trim();
    let odd = value.ends_with('_')
        || value.contains("__")
        || value.trim_start_matches(['+', '-']).starts_with('_');
    if odd {
        return None;
    }
    value.replace('_', "").parse().ok()
}

fn boolean(lookup: &Lookup<'_>, name: &str, default: bool) -> Result<bool, RepoError> {
    let Some(value) = lookup(name) else {
        return Ok(default);
    };
    match value.to_ascii_lowercase().as_str() {
        "1" | "yes" | "true" | "on" | "always" => Ok(true),
        "0" | "no" | "false" | "off" | "never" => Ok(false),
        _ => Err(RepoError::SettingNotBoolean {
            key: format!("storage.{name}"),
            value,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(section: &str, name: &str, value: &str) -> Result<StorageSettings, String> {
        let lookup = |s: &str, n: &str| (s == section && n == name).then(|| value.to_owned());
        StorageSettings::read(&lookup).map_err(|error| error.to_string())
    }

    fn new_engine(list: &str) -> Result<CodecId, String> {
        let settings = read("format", "revlog-compression", list)?;
        settings.engine_of_new().map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_known_engine_of_the_list_is_taken() {
        assert_eq!(
            StorageSettings::default().engine_of_new().unwrap(),
            CodecId::Zstd
        );
        for (list, engine) in [
            ("zlib", CodecId::Zlib),
            ("unknown,zlib", CodecId::Zlib),
            ("none zstd", CodecId::None),
            ("lz4, zstd", CodecId::Zstd),
        ] {
            assert_eq!(new_engine(list), Ok(engine), "{list}");
        }
        assert_eq!(
            new_engine("lz4, foo").unwrap_err(),
            "compression engines \"lz4\", \"foo\" defined by format.revlog-compression not available"
        );
    }

    #[test]
    fn levels_are_refused_in_mercurials_words() {
        let zlib = |value| read("storage", "revlog.zlib.level", value);
        let zstd = |value| read("storage", "revlog.zstd.level", value);
        assert_eq!(
            zlib("foobar").unwrap_err(),
            "storage.revlog.zlib.level is not a valid integer ('foobar')"
        );
        assert_eq!(
            zlib("42").unwrap_err(),
            "invalid value for `storage.revlog.zlib.level` config: 42"
        );
        assert_eq!(
            zstd("23").unwrap_err(),
            "invalid value for `storage.revlog.zstd.level` config: 23"
        );
        assert!(zlib("1_0").unwrap_err().ends_with("config: 10"));
        for wrong in ["", "0x7", "1__0", "_1", "1_", "٣"] {
            assert!(zlib(wrong).unwrap_err().contains("not a valid integer"));
        }
        assert_eq!(zlib(" 7").unwrap().zlib.level(), 7);
        assert_eq!(zlib("6").unwrap(), StorageSettings::default());
        assert_eq!(zstd("22").unwrap().zstd.level(), 22);
    }

    #[test]
    fn booleans_are_those_of_mercurial() {
        let reuse = |value| read("storage", "revlog.reuse-external-delta", value);
        assert!(!reuse("Off").unwrap().reuse_delta);
        assert!(reuse("always").unwrap().reuse_delta);
        assert_eq!(
            reuse("foo").unwrap_err(),
            "storage.revlog.reuse-external-delta is not a boolean ('foo')"
        );
    }

    #[test]
    fn requirements_decide_the_engine_and_settings_its_level() {
        let settings = read("storage", "revlog.zlib.level", "9").unwrap();
        for (engine, written) in [
            (CodecId::Zlib, "deflate_9"),
            (CodecId::Zstd, "zstd_3"),
            (CodecId::None, "none"),
        ] {
            let requirements = Requirements::of_new_repository(engine);
            let options = settings.write_options(&requirements);
            assert_eq!(options.engine.to_string(), written);
            assert!(options.sparse);
        }
    }
}
