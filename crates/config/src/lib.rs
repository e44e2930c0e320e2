//! INI configuration in the spellings of both ancestors, typed, refused with file and line.
//!
//! [`Ini`] reads the text and keeps where each setting was written; [`Setting`] has one reader per
//! type; [`Settings`] is what a server needs, all of it checked before anything starts; [`edit`]
//! changes single values and leaves the rest of the file as its owner wrote it.

pub mod edit;
mod error;
mod ini;
mod known;
mod setting;
mod settings;

pub use error::ConfigError;
pub use ini::Ini;
pub use known::is_known_section;
pub use setting::Setting;
pub use settings::{Cors, HgServer, Sessions, Settings};

/// Bodies for fuzzing; see the crate's tests for saved inputs.
pub mod fuzzing {
    use crate::{Ini, Settings, edit};
    use std::path::Path;

    /// Never panics; a value that is read from an accepted file can be set anew and is then read
    /// back.
    pub fn ini(data: &[u8]) {
        let Ok(text) = std::str::from_utf8(data) else {
            return;
        };
        let Ok(ini) = Ini::parse(Path::new("fuzz.ini"), text) else {
            return;
        };
        // Whether the settings are acceptable is not the question here; that they never panic is.
        let _ = Settings::read(&ini);
        for setting in ini.settings() {
            let changed = edit::set(text, &setting.section, &setting.key, "new value");
            let again = Ini::parse(Path::new("fuzz.ini"), &changed);
            let read = again.ok().and_then(|ini| {
                let found = ini.get(&setting.section, &setting.key)?;
                Some(found.value.clone())
            });
            assert_eq!(read.as_deref(), Some("new value"), "in {changed:?}");
        }
    }

    #[cfg(test)]
    mod tests {
        use super::ini;

        #[test]
        fn saved_and_cut_inputs_keep_the_promise() {
            let samples = [
                "[a]\nb = c\n d\n;x\n[a]\nb=e",
                "[chttpd]\r\nport = 99999\r\n",
                "[a]\nkey\n",
                "x = y",
                "[",
                "[]\n=\n",
                "[a]\nb = 1 ; c\n  ; d\n\n  e\nc=",
                "\u{feff}[a]\nk = \u{a0}v",
            ];
            for sample in samples {
                for end in 0..=sample.len() {
                    ini(&sample.as_bytes()[..end]);
                }
            }
        }
    }
}
