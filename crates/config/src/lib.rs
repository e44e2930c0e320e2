//! INI configuration in the spellings of both ancestors, typed, refused with file and line.
//!
//! [`Ini`] reads the text and keeps where each setting was written; [`Setting`] has one reader per
//! type; [`Settings`] is what a server needs, all of it checked before anything starts; [`edit`]
//! changes single values and leaves the rest of the file as its owner wrote it. [`hgrc`] is
//! Mercurial's own form, in layers.

mod absent;
mod answers;
mod cors;
mod csp;
pub mod edit;
mod error;
mod functions;
mod hg_server;
pub mod hgrc;
mod history;
mod ini;
mod jwt;
mod ken;
mod known;
mod limits;
mod lockout;
mod log;
mod passwords;
mod per_user;
mod refused;
mod replicator;
mod requests;
mod sessions;
mod setting;
mod settings;
mod shared;
mod smoosh;
mod trust;
mod uuids;
mod varve;

pub use answers::Answers;
pub use cors::Cors;
pub use csp::Csp;
pub use error::ConfigError;
pub use functions::Functions;
pub use hg_server::HgServer;
pub use history::{DATA_GLOBS, History, is_data_glob};
pub use ini::Ini;
pub use jwt::{Jwt, JwtKey, JwtKeyKind, RequiredClaims, RolesClaim};
pub use ken::Ken;
pub use known::is_read_at_start;
pub use limits::Limits;
pub use lockout::{Lockout, LockoutMode};
pub use log::{LOG_PARTS, Log, LogFormat, LogLevel};
pub use passwords::{PasswordRule, PasswordScheme, Passwords};
pub use per_user::PerUser;
pub use replicator::Replicator;
pub use requests::{DefaultSecurity, Requests};
pub use sessions::{HashAlgorithm, LoginHandler, ProxyLogin, SameSite, Sessions};
pub use setting::Setting;
pub use settings::{Attachments, Compaction, Maintenance, RequiredUser, Settings, bind_address};
pub use smoosh::{Channel, Priority, Smoosh, Window};
pub use trust::{Network, Trust};
pub use uuids::{Algorithm, Uuids};
pub use varve::SHUTDOWN_TIMEOUT;

/// Bodies for fuzzing; see the crate's tests for saved inputs.
pub mod fuzzing {
    use crate::hgrc::{Files, Hgrc};
    use crate::{Ini, Settings, edit};
    use std::io;
    use std::path::{Path, PathBuf};

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }

        fn expand(&self, path: &[u8]) -> PathBuf {
            String::from_utf8_lossy(path).into_owned().into()
        }
    }

    /// Never panics; every value that was read has its line in the text.
    pub fn hgrc(data: &[u8]) {
        let mut hgrc = Hgrc::default();
        if hgrc.add_text(&NoFiles, Path::new("fuzz"), data).is_err() {
            return;
        }
        let lines = data.split(|byte| *byte == b'\n').count();
        for item in hgrc.sections().flat_map(|(_, items)| items) {
            let crate::hgrc::SettingSource::Line(_, line) = item.source else {
                panic!("{item:?} is of no line");
            };
            assert!((1..=lines).contains(&line), "{item:?}");
            let _ = crate::hgrc::list(&item.value);
            let _ = crate::hgrc::bytes(&item.value);
        }
    }

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
        use super::{hgrc, ini};

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
                "[a]\nb = \"c d\\\" e\", f\n  g\n%unset b\n%include x\n%unset\n",
                "[s]\nsize = 99999999999999999999gb\n",
            ];
            for sample in samples {
                for end in 0..=sample.len() {
                    ini(&sample.as_bytes()[..end]);
                    hgrc(&sample.as_bytes()[..end]);
                }
            }
        }
    }
}
