//! `/_node/NAME/_config`: the settings as admins see and change them.

use crate::couch::admin::json;
use crate::couch::admin::node::secrets::shown;
use crate::couch::admin::node::store::{Change, reload};
use crate::http::FailureKind;
use crate::{Answer, CouchContext, Failure, Request};
use hyper::{Method, StatusCode};
use std::collections::BTreeMap;
use varve_json::{Object, Value};

/// Says that a change has its effect at the next start only.
const RESTART: &str = "x-varve-restart";
/// Sections that CouchDB lets no client change: they name programs.
const CLOSED: &[&str] = &[
    "daemons",
    "external",
    "httpd_db_handlers",
    "httpd_design_handlers",
    "httpd_global_handlers",
    "native_query_servers",
    "os_daemons",
    "query_servers",
];

/// Answers requests below `_config`; the caller is an admin.
pub(super) fn route(
    app: &CouchContext,
    request: &Request,
    path: &[&str],
    user: &str,
) -> Result<Answer, Failure> {
    match path {
        ["_reload"] if request.method == Method::POST => {
            let needs_restart = reload(app, user)?;
            Ok(marked(Answer::ok(StatusCode::OK), needs_restart))
        }
        ["_reload"] => Err(Failure::method_not_allowed("POST")),
        [] | [_] if !request.is_read() => Err(Failure::method_not_allowed("GET")),
        [] => {
            let sections = app.config.sections();
            let named = sections.iter();
            let named = named.map(|(name, keys)| (name.clone(), object(name, keys)));
            Ok(json(&named.collect::<Object>().into()))
        }
        [section] => {
            let sections = app.config.sections();
            let keys = sections.get(*section).cloned().unwrap_or_default();
            Ok(json(&object(section, &keys)))
        }
        [section, key] => one(app, request, (section, key), user),
        _ => Err(Failure::not_found("missing")),
    }
}

fn object(section: &str, keys: &BTreeMap<String, String>) -> Value {
    let members = keys
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(shown(section, key, value))));
    members.collect::<Object>().into()
}

fn one(
    app: &CouchContext,
    request: &Request,
    (section, key): (&str, &str),
    user: &str,
) -> Result<Answer, Failure> {
    let value = match request.method {
        Method::GET | Method::HEAD => {
            let value = app.config.get(section, key);
            let value = value.ok_or_else(|| Failure::not_found("unknown_config_value"))?;
            return Ok(value_answer(request, shown(section, key, &value)));
        }
        Method::PUT => Some(given_value(request)?),
        Method::DELETE => None,
        _ => return Err(Failure::method_not_allowed("GET,PUT,DELETE")),
    };
    check_changeable(app, section, key)?;
    let change = Change {
        section,
        key,
        value,
        persists: request.header("x-couch-persist") != Some("false"),
    };
    let changed = change.make(app, user)?;
    let old = changed.old.unwrap_or_default();
    let old = if old.is_empty() {
        ""
    } else {
        shown(section, key, &old)
    };
    Ok(marked(json(&old.into()), changed.needs_restart))
}

/// Says whether the change waits for a start.
pub(in crate::couch::admin) fn marked(answer: Answer, needs_restart: bool) -> Answer {
    match needs_restart {
        true => answer.with_header(RESTART, "required"),
        false => answer,
    }
}

fn value_answer(request: &Request, value: &str) -> Answer {
    match request.query("raw") {
        Some("true") => Answer::text(StatusCode::OK, value),
        _ => json(&value.into()),
    }
}

fn given_value(request: &Request) -> Result<String, Failure> {
    if request.query("raw") == Some("true") {
        let text = std::str::from_utf8(&request.body);
        let text = text.map_err(|_| Failure::bad_request("the value is not UTF-8"))?;
        return Ok(text.trim().to_owned());
    }
    let value = varve_json::parse(&request.body);
    let value = value.map_err(|error| Failure::bad_request(error.to_string()))?;
    let text = value.as_str().map(|text| text.trim().to_owned());
    text.ok_or_else(|| Failure::bad_request("the value must be a JSON string"))
}

/// # Errors
/// 403 for sections that are closed; 400 for settings that the whitelist leaves out.
fn check_changeable(app: &CouchContext, section: &str, key: &str) -> Result<(), Failure> {
    if CLOSED.contains(&section) {
        let words = "Config section blacklisted for modification over HTTP API.";
        return Err(Failure::forbidden(words));
    }
    let settings = app.settings();
    match &settings.changeable {
        Some(list) if !is_listed(list, section, key) => Err(Failure::new(
            FailureKind::BadRequest,
            "modification_not_allowed",
            "This config variable is read-only",
        )),
        _ => Ok(()),
    }
}

/// Whether a list such as `[{log, level}, {"cors", "origins"}]` has the setting.
fn is_listed(list: &str, section: &str, key: &str) -> bool {
    let name = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    list.split('{').skip(1).any(|entry| {
        let entry = entry.split('}').next().unwrap_or_default();
        let pair = entry.split_once(',');
        pair.is_some_and(|(of, named)| name(of) == section && name(named) == key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whitelist_names_settings_as_erlang_does() {
        let list = "[{log, level}, {\"cors\", \"origins\"},{ chttpd , 'config_whitelist' }]";
        assert!(is_listed(list, "log", "level"));
        assert!(is_listed(list, "cors", "origins"));
        assert!(is_listed(list, "chttpd", "config_whitelist"));
        assert!(!is_listed(list, "log", "file"));
        assert!(!is_listed("level", "log", "level"));
    }
}
