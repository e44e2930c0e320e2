//! `[cors]`: which pages of other sites may use a server.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// `[cors]`: which pages of other sites may use this server from a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// `origins`; `*` allows all.
    pub origins: Vec<String>,
    /// `credentials`: whether cookies may be sent along.
    pub credentials: bool,
    /// `headers` that scripts may send, besides those every CouchDB client needs.
    pub headers: Vec<String>,
    /// `methods` that scripts may use.
    pub methods: Vec<String>,
    /// `max_age` of a permission, in seconds.
    pub max_age: Duration,
}

impl Cors {
    /// Whether every origin is allowed.
    pub fn allows_any(&self) -> bool {
        self.origins.iter().any(|origin| origin == "*")
    }
}

/// # Errors
/// A value that is not of its type; `credentials` for every origin.
pub(crate) fn read(ini: &Ini) -> Result<Option<Cors>, ConfigError> {
    let cors = |key| ini.get("cors", key);
    let list = |key| cors(key).map(Setting::list).unwrap_or_default();
    let settings = Cors {
        origins: list("origins"),
        credentials: or(cors("credentials"), Setting::boolean, false)?,
        headers: list("headers"),
        methods: list("methods"),
        max_age: or(cors("max_age"), Setting::seconds, Duration::from_secs(600))?,
    };
    // The older section counts where the newer one says nothing; Fauxton's page writes to it.
    let enabled = ini.get("chttpd", "enable_cors");
    let enabled = enabled.or_else(|| ini.get("httpd", "enable_cors"));
    let enabled = or(enabled, Setting::boolean, false)?;
    match cors("credentials") {
        Some(credentials) if enabled && settings.credentials && settings.allows_any() => {
            Err(credentials.refuse("false as long as cors.origins has *"))
        }
        _ => Ok(enabled.then_some(settings)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn credentials_for_every_origin_are_refused() {
        let cors = |text: &str| {
            let ini = Ini::parse(Path::new("varve.ini"), &format!("[cors]\n{text}")).unwrap();
            read(&ini).map_err(|error| error.to_string())
        };
        let open = "origins = https://a.test, *\ncredentials = true\n";
        let words = "varve.ini:3: cors.credentials must be false as long as cors.origins has *, not \"true\"";
        let enabled = "[chttpd]\nenable_cors = true\n";
        assert_eq!(cors(&format!("{open}{enabled}")), Err(words.to_owned()));
        assert_eq!(cors(open), Ok(None), "they do not count");
        let older = "[httpd]\nenable_cors = true\n";
        assert!(cors(older).unwrap().is_some());
        let both = format!("{older}[chttpd]\nenable_cors = false\n");
        assert_eq!(cors(&both), Ok(None), "the newer name counts");
        let named = format!("origins = https://a.test\ncredentials = true\n{enabled}");
        assert!(cors(&named).unwrap().unwrap().credentials);
        assert!(
            cors(&format!("origins = *\n{enabled}"))
                .unwrap()
                .unwrap()
                .allows_any()
        );
    }
}
