//! `/_node/_local/_config`: the configuration as clients see it.
//!
//! It shows `varve.ini` as it was read at the start. Settings of sections that Varve reads take
//! effect at a start only, so changing one here is refused instead of being accepted without
//! effect; sections of others are kept in memory until the server stops.

use crate::couch::admin::json;
use crate::{Answer, CouchContext, Failure, Request};
use hyper::{Method, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use varve_config::{Ini, is_known_section};
use varve_json::{Object, Value};

type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// All settings by section and key.
#[derive(Debug, Default)]
pub(crate) struct NodeConfig(Mutex<Sections>);

impl NodeConfig {
    /// The settings of the file.
    pub(crate) fn of(ini: &Ini) -> Self {
        let mut sections = Sections::new();
        for setting in ini.settings() {
            let section = sections.entry(setting.section.clone()).or_default();
            if setting.value.is_empty() {
                section.remove(&setting.key);
            } else {
                section.insert(setting.key.clone(), setting.value.clone());
            }
        }
        NodeConfig(Mutex::new(sections))
    }

    fn lock(&self) -> MutexGuard<'_, Sections> {
        self.0.lock()
    }

    fn get(&self, section: &str, key: &str) -> Option<String> {
        self.lock().get(section)?.get(key).cloned()
    }

    fn set(&self, section: &str, key: &str, value: &str) -> String {
        let mut sections = self.lock();
        let section = sections.entry(section.to_owned()).or_default();
        let old = section.insert(key.to_owned(), value.to_owned());
        old.unwrap_or_default()
    }

    fn remove(&self, section: &str, key: &str) -> Option<String> {
        self.lock().get_mut(section)?.remove(key)
    }
}

/// Answers requests below `/_node/NAME`; the caller is an admin.
pub(super) fn route(
    app: &CouchContext,
    request: &Request,
    path: &[&str],
) -> Result<Answer, Failure> {
    match path {
        [] if request.is_read() => {
            let mut node = Object::new();
            node.insert("name", crate::runtime::NODE_NAME);
            Ok(json(&node.into()))
        }
        ["_prometheus"] => read(request, || {
            let text = app.server().metrics.encode();
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            Ok(Answer::whole(StatusCode::OK, kind, text.into_bytes()))
        }),
        ["_config"] => read(request, || Ok(whole(app))),
        ["_config", section] => read(request, || Ok(section_of(app, section))),
        ["_config", section, key] => one(app, request, section, key),
        _ => Err(Failure::not_found("missing")),
    }
}

fn read(
    request: &Request,
    answer: impl FnOnce() -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    if request.is_read() {
        answer()
    } else {
        Err(Failure::method_not_allowed("GET"))
    }
}

fn whole(app: &CouchContext) -> Answer {
    let sections = app.config.lock();
    let named = sections
        .iter()
        .map(|(name, keys)| (name.clone(), object(keys)));
    json(&named.collect::<Object>().into())
}

fn section_of(app: &CouchContext, section: &str) -> Answer {
    let sections = app.config.lock();
    json(
        &sections
            .get(section)
            .map_or_else(|| Object::new().into(), object),
    )
}

fn object(keys: &BTreeMap<String, String>) -> Value {
    let members = keys
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    members.collect::<Object>().into()
}

fn one(app: &CouchContext, request: &Request, section: &str, key: &str) -> Result<Answer, Failure> {
    let unknown = || Failure::not_found("unknown_config_value");
    match request.method {
        Method::GET | Method::HEAD => {
            let value = app.config.get(section, key).ok_or_else(unknown)?;
            Ok(json(&value.into()))
        }
        Method::PUT => {
            let value = given_value(request)?;
            changeable(section, key)?;
            Ok(json(&app.config.set(section, key, &value).into()))
        }
        Method::DELETE => {
            changeable(section, key)?;
            let old = app.config.remove(section, key).ok_or_else(unknown)?;
            Ok(json(&old.into()))
        }
        _ => Err(Failure::method_not_allowed("GET,PUT,DELETE")),
    }
}

fn given_value(request: &Request) -> Result<String, Failure> {
    if request.query("raw") == Some("true") {
        let text = std::str::from_utf8(&request.body);
        let text = text.map_err(|_| Failure::bad_request("the value is not UTF-8"))?;
        return Ok(text.to_owned());
    }
    let value = varve_json::parse(&request.body);
    let value = value.map_err(|error| Failure::bad_request(error.to_string()))?;
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| Failure::bad_request("the value must be a JSON string"))
}

fn changeable(section: &str, key: &str) -> Result<(), Failure> {
    if !is_known_section(section) {
        return Ok(());
    }
    Err(Failure::forbidden(format!(
        "{section}.{key} takes effect at a start only: change it in varve.ini and start again"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn values_of_the_file_are_seen_and_new_ones_replace_them() {
        let ini = Ini::parse(Path::new("t"), "[a]\nb = 1\nb = 2\nc = 3\nc =\n").unwrap();
        let config = NodeConfig::of(&ini);
        assert_eq!(config.get("a", "b").as_deref(), Some("2"));
        assert_eq!(config.get("a", "c"), None);
        assert_eq!(config.set("a", "b", "4"), "2");
        assert_eq!(config.set("z", "k", "v"), "");
        assert_eq!(config.remove("a", "b").as_deref(), Some("4"));
        assert_eq!(config.remove("a", "b"), None);
        assert!(changeable("couchdb", "max_document_size").is_err());
        assert!(changeable("z", "k").is_ok());
    }
}
