//! The settings as they are written, and their change while the server runs.
//!
//! A change is made in the text that counts and in the file, which may have been edited meanwhile: only this setting
//! is taken from the request, all others of the file wait for a reload or a start. The file is written before the
//! change counts, and what a start would refuse changes nothing.

use crate::auth::{self, password};
use crate::couch::admin::node::secrets::is_secret;
use crate::directory::{CONFIG, complete, compression};
use crate::http::FailureKind;
use crate::{CouchContext, Failure, ServerError};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::Path;
use varve_base::storage::{read_if_there, replace};
use varve_config::{Ini, Settings, edit, is_read_at_start};

/// Settings by section and key.
pub(super) type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// The text of the settings that count.
#[derive(Debug)]
pub(crate) struct NodeConfig(Mutex<Written>);

#[derive(Debug, Default)]
struct Written {
    text: String,
    ini: Ini,
}

/// One setting gets another value, or none.
pub(in crate::couch::admin) struct Change<'c> {
    pub(in crate::couch::admin) section: &'c str,
    pub(in crate::couch::admin) key: &'c str,
    pub(in crate::couch::admin) value: Option<String>,
    /// Whether the file is changed, too.
    pub(in crate::couch::admin) persists: bool,
}

/// How a change went.
pub(in crate::couch::admin) struct Changed {
    /// The value before.
    pub(in crate::couch::admin) old: Option<String>,
    /// Whether it has its effect at the next start only.
    pub(in crate::couch::admin) needs_restart: bool,
}

impl NodeConfig {
    /// The text of a file that was read already.
    pub(crate) fn new(text: &str) -> Self {
        let ini = Ini::parse(Path::new(CONFIG), text).unwrap_or_default();
        NodeConfig(Mutex::new(Written {
            text: text.to_owned(),
            ini,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock()
    }

    pub(super) fn get(&self, section: &str, key: &str) -> Option<String> {
        let written = self.lock();
        written
            .ini
            .get(section, key)
            .map(|found| found.value.clone())
    }

    /// All settings that have a value.
    pub(super) fn sections(&self) -> Sections {
        let written = self.lock();
        let mut sections = Sections::new();
        for setting in written.ini.settings() {
            let section = sections.entry(setting.section.clone()).or_default();
            section.remove(&setting.key);
            if !setting.value.is_empty() {
                section.insert(setting.key.clone(), setting.value.clone());
            }
        }
        sections
    }
}

impl Change<'_> {
    /// The text with the change, which must be read back as it was meant: names and values that the form cannot hold
    /// are refused.
    fn apply_to(&self, text: &str) -> Result<Written, Failure> {
        let (section, key) = (self.section, self.key);
        let text = match &self.value {
            Some(value) => edit::set(text, section, key, value),
            None => edit::remove(text, section, key),
        };
        let ini = Ini::parse(Path::new(CONFIG), &text);
        let ini = ini.map_err(|_| Failure::bad_request("Invalid configuration key"))?;
        let read = ini.get(section, key).map(|found| found.value.as_str());
        let meant = self.value.as_deref().filter(|value| !value.is_empty());
        match read == meant {
            true => Ok(Written { text, ini }),
            false => Err(Failure::bad_request("Invalid configuration value")),
        }
    }

    fn log_by(&self, user: &str) {
        let name = format!("{}.{}", self.section, self.key);
        match &self.value {
            None => tracing::warn!("admin {user} removed the setting {name}"),
            Some(_) if is_secret(self.section, self.key) => {
                tracing::warn!("admin {user} changed the setting {name}");
            }
            Some(value) => tracing::warn!("admin {user} set {name} to {value:?}"),
        }
        if is_read_at_start(self.section, self.key) {
            tracing::warn!("{name} has its effect at the next start");
        }
    }

    /// Makes the change, for `user`.
    ///
    /// # Errors
    /// 400 for a value that a start would refuse; 404 if there is nothing to remove.
    pub(in crate::couch::admin) fn make(
        mut self,
        app: &CouchContext,
        user: &str,
    ) -> Result<Changed, Failure> {
        self.hash_password(app)?;
        let mut running = app.config.lock();
        let old = running.ini.get(self.section, self.key);
        let old = old.map(|found| found.value.clone());
        if self.value.is_none() && old.is_none() {
            return Err(Failure::not_found("unknown_config_value"));
        }
        let next = self.apply_to(&running.text)?;
        let settings = acceptable(app, &next.ini)?;
        if self.persists {
            let file = file_text(app)?;
            let changed = self.apply_to(&file)?.text;
            write(app, &file, &changed)?;
        }
        app.log().scope(|| self.log_by(user));
        app.change_settings(settings).map_err(Failure::internal)?;
        *running = next;
        let needs_restart = is_read_at_start(self.section, self.key) && old != self.value;
        Ok(Changed { old, needs_restart })
    }

    /// No admin's password is kept as it came.
    fn hash_password(&mut self, app: &CouchContext) -> Result<(), Failure> {
        let Some(value) = self.value.as_mut().filter(|_| self.section == "admins") else {
            return Ok(());
        };
        if value.is_empty() {
            return Err(Failure::bad_request("an admin needs a password"));
        }
        if password::Stored::parse(value).is_none() {
            let iterations = app.settings().sessions.iterations;
            *value = password::hash(value, iterations).map_err(Failure::internal)?;
        }
        Ok(())
    }
}

/// Reads the file again, hashes plain passwords in it, and has all of it count. Returns whether something of it has
/// its effect at the next start only.
///
/// # Errors
/// 400 for a file that a start would refuse; nothing has changed then.
pub(super) fn reload(app: &CouchContext, user: &str) -> Result<bool, Failure> {
    let mut running = app.config.lock();
    let file = file_text(app)?;
    let parse = |text: &str| {
        let ini = Ini::parse(Path::new(CONFIG), text);
        ini.map_err(|error| Failure::bad_request(error.to_string()))
    };
    acceptable(app, &parse(&file)?)?;
    let (text, _) = complete(Path::new(CONFIG), &file).map_err(refused)?;
    let ini = parse(&text)?;
    let settings = acceptable(app, &ini)?;
    write(app, &file, &text)?;
    let waiting = waiting(&running.ini, &ini);
    app.log().scope(|| {
        tracing::warn!("admin {user} had {CONFIG} read again");
        for name in &waiting {
            tracing::warn!("{name} has its effect at the next start");
        }
    });
    app.change_settings(settings).map_err(Failure::internal)?;
    *running = Written { text, ini };
    Ok(!waiting.is_empty())
}

/// Names of the settings that differ and are read at a start only.
fn waiting(before: &Ini, after: &Ini) -> Vec<String> {
    let mut names = Vec::new();
    for setting in before.settings().chain(after.settings()) {
        let (section, key) = (setting.section.as_str(), setting.key.as_str());
        let value = |ini: &Ini| ini.get(section, key).map(|found| found.value.clone());
        let name = setting.name();
        if is_read_at_start(section, key) && value(before) != value(after) && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The settings, if a start would take them.
fn acceptable(app: &CouchContext, ini: &Ini) -> Result<Settings, Failure> {
    let settings = Settings::read(ini).map_err(|error| Failure::bad_request(error.reason()))?;
    compression(&settings).map_err(refused)?;
    auth::check_settings(&settings).map_err(refused)?;
    app.directory.check_shared(&settings).map_err(refused)?;
    match settings.admins.is_empty() {
        true => Err(Failure::bad_request("the last admin cannot be removed")),
        false => Ok(settings),
    }
}

fn refused(error: ServerError) -> Failure {
    match error {
        ServerError::Config(error) => Failure::bad_request(error.reason()),
        error @ (ServerError::NotShared { .. } | ServerError::OtherIdentity { .. }) => {
            Failure::bad_request(error.to_string())
        }
        other => Failure::internal(other),
    }
}

fn file_text(app: &CouchContext) -> Result<String, Failure> {
    let bytes = read_if_there(app.storage().as_ref(), Path::new(CONFIG));
    let bytes = bytes.map_err(Failure::internal)?.unwrap_or_default();
    let text = String::from_utf8(bytes);
    text.map_err(|_| {
        Failure::new(
            FailureKind::BadRequest,
            "bad_request",
            format!("{CONFIG} is not UTF-8"),
        )
    })
}

fn write(app: &CouchContext, before: &str, text: &str) -> Result<(), Failure> {
    if before == text {
        return Ok(());
    }
    let written = replace(app.storage().as_ref(), Path::new(CONFIG), text.as_bytes());
    written.map_err(Failure::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change<'c>(section: &'c str, key: &'c str, value: Option<&str>) -> Change<'c> {
        Change {
            section,
            key,
            value: value.map(str::to_owned),
            persists: true,
        }
    }

    #[test]
    fn values_of_the_file_are_seen_and_unset_ones_are_not() {
        let config = NodeConfig::new("[a]\nb = 1\nb = 2\nc = 3\nc =\n");
        assert_eq!(config.get("a", "b").as_deref(), Some("2"));
        assert_eq!(config.get("a", "c"), None);
        let all = config.sections();
        assert_eq!(all["a"].len(), 1);
    }

    #[test]
    fn what_the_form_cannot_hold_is_refused() {
        let text = "; mine\n[a]\nb = 1\n";
        let set = change("a", "b", Some("2 3")).apply_to(text).unwrap();
        assert_eq!(set.text, "; mine\n[a]\nb = 2 3\n");
        for (section, key, value) in [
            ("a", "b", "x\n[admins]\neve = e"),
            ("a", "b", " x"),
            ("a", "b", "x ; y"),
            ("a", "b", ";"),
            ("a", "b\nc", "x"),
            ("a", "b=c", "x"),
            ("a", ";b", "x"),
            ("a", "[b", "x"),
            ("a", "", "x"),
            ("a]\n[admins", "eve", "x"),
            ("", "eve", "x"),
        ] {
            let refused = change(section, key, Some(value)).apply_to(text);
            let refused = refused.err().map(|failure| failure.status().as_u16());
            assert_eq!(refused, Some(400), "{section:?} {key:?} {value:?}");
        }
        assert_eq!(
            change("a", "b", None).apply_to(text).unwrap().text,
            "; mine\n[a]\n"
        );
    }

    #[test]
    fn settings_that_wait_for_a_start_are_named_once() {
        let ini = |text: &str| Ini::parse(Path::new("t"), text).unwrap();
        let before = ini("[chttpd]\nport = 1\n[couchdb]\nmax_document_size = 1\n");
        let after = ini("[chttpd]\nport = 2\nport = 3\n[server]\nzliblevel = 1\n");
        assert_eq!(
            waiting(&before, &after),
            ["chttpd.port", "server.zliblevel"]
        );
        assert!(waiting(&before, &before).is_empty());
    }
}
