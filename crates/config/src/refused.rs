//! Settings of CouchDB that open or close something which Varve does not have: ignoring one would leave its user with
//! another server than the file says, so that values other than CouchDB's own are refused. The same for Mercurial's of
//! `[server]`.

use crate::{ConfigError, Setting};

struct Refused {
    sections: &'static [&'static str],
    key: &'static str,
    /// Values that may stand there, as they change nothing.
    allowed: &'static [&'static str],
    expected: &'static str,
}

const AUTH: &[&str] = &["chttpd_auth", "couch_httpd_auth"];
const HTTP: &[&str] = &["chttpd", "httpd"];

const HG: &[&str] = &["server"];
const OFF: &[&str] = &["", "false", "no", "off", "0"];
const ON: &[&str] = &["", "true", "yes", "on", "1"];

const REFUSED: &[Refused] = &[
    Refused {
        sections: HG,
        key: "view",
        allowed: &["", "served"],
        expected: "served, the only view that clients get here",
    },
    Refused {
        sections: HG,
        key: "validate",
        allowed: OFF,
        expected: "false, as this server does not look for file revisions that a push lacks",
    },
    Refused {
        sections: HG,
        key: "streamunbundle",
        allowed: OFF,
        expected: "false, as this server has all of a push before it applies it",
    },
    Refused {
        sections: HG,
        key: "bookmarks-pushkey-compat",
        allowed: ON,
        expected: "true, as this server calls the hooks of keys for pushed bookmarks",
    },
    Refused {
        sections: HG,
        key: "bundle1",
        allowed: ON,
        expected: "true, as each repository's .hg/hgrc says whether it serves old clients",
    },
    Refused {
        sections: AUTH,
        key: "public_fields",
        allowed: &[""],
        expected: "empty, as no user sees the documents of others in _users",
    },
    Refused {
        sections: AUTH,
        key: "users_db_public",
        allowed: &["", "false"],
        expected: "false, as no user sees the documents of others in _users",
    },
    Refused {
        sections: AUTH,
        key: "authentication_db",
        allowed: &["", "_users"],
        expected: "_users",
    },
    Refused {
        sections: &["couchdb"],
        key: "users_db_suffix",
        allowed: &["", "_users"],
        expected: "_users",
    },
    Refused {
        sections: &["couchdb"],
        key: "enable_database_recovery",
        allowed: &["", "false"],
        expected: "false, as a deleted database is gone",
    },
    Refused {
        sections: HTTP,
        key: "client_ip_header",
        allowed: &[""],
        expected: "absent, as trusted_proxies says whose X-Forwarded-For is believed",
    },
    Refused {
        sections: HTTP,
        key: "x_forwarded_host",
        allowed: &["", "X-Forwarded-Host"],
        expected: "X-Forwarded-Host, of trusted_proxies",
    },
    Refused {
        sections: HTTP,
        key: "x_forwarded_proto",
        allowed: &["", "X-Forwarded-Proto"],
        expected: "X-Forwarded-Proto, of trusted_proxies",
    },
    Refused {
        sections: HTTP,
        key: "x_forwarded_ssl",
        allowed: &["", "X-Forwarded-Ssl"],
        expected: "absent, as X-Forwarded-Proto of trusted_proxies says it",
    },
    Refused {
        sections: HTTP,
        key: "enable_xframe_options",
        allowed: &["", "false"],
        expected: "false, as [csp] says in whose frames pages may be",
    },
];

/// # Errors
/// The setting is one of these, with another value than may stand there.
pub(crate) fn check(setting: &Setting) -> Result<(), ConfigError> {
    let is_it = |refused: &&Refused| {
        refused.key == setting.key && refused.sections.contains(&setting.section.as_str())
    };
    match REFUSED.iter().find(is_it) {
        Some(refused) if !refused.allowed.contains(&setting.value.as_str()) => {
            Err(setting.refuse(refused.expected))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ini, Settings};
    use std::path::Path;

    fn read(text: &str) -> Result<Settings, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        Settings::read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn what_would_open_other_users_documents_is_refused_by_name() {
        let told = read("[couch_httpd_auth]\nusers_db_public = true\n").unwrap_err();
        assert_eq!(
            told,
            "varve.ini:2: couch_httpd_auth.users_db_public must be false, as no user sees the documents of others in \
             _users, not \"true\""
        );
    }

    #[test]
    fn couchdbs_own_values_pass_and_others_do_not() {
        for refused in REFUSED {
            for section in refused.sections {
                let with = |value: &str| format!("[{section}]\n{} = {value}\n", refused.key);
                for value in refused.allowed {
                    read(&with(value)).unwrap();
                }
                assert!(read(&with("other")).is_err(), "{section}.{}", refused.key);
            }
        }
    }
}
