//! Server and keys of a store: the variables of the environment that other programs for S3 read, too.

use crate::error::S3Error;
use std::fmt;
use std::path::PathBuf;
use url::Url;

/// Variables that are read.
const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";
const REGION: &str = "AWS_REGION";
const DEFAULT_REGION: &str = "AWS_DEFAULT_REGION";
const ENDPOINT: &str = "AWS_ENDPOINT_URL";
const S3_ENDPOINT: &str = "AWS_ENDPOINT_URL_S3";
const ALLOW_HTTP: &str = "AWS_ALLOW_HTTP";
const AUTHORITIES: &str = "AWS_CA_BUNDLE";

/// Region of stores that have none.
const ANY_REGION: &str = "us-east-1";

/// Other sources of keys, which count only where a program finds no keys in the environment.
const OTHER_KEYS: &[&str] = &[
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
/// Switches that would send requests elsewhere.
const OTHER_SERVERS: &[&str] = &["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"];

/// Keys and server of a store.
#[derive(Clone)]
pub struct S3Settings {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) session_token: Option<String>,
    pub(crate) region: String,
    /// Without a slash at its end.
    pub(crate) endpoint: String,
    /// PEM file of authorities that are trusted beside those of the web.
    pub(crate) authorities: Option<PathBuf>,
}

impl fmt::Debug for S3Settings {
    /// Shows no secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("S3Settings")
            .field("access_key", &self.access_key)
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl S3Settings {
    /// The settings of this process.
    ///
    /// # Errors
    /// [`S3Error::MissingVariable`], [`S3Error::BadVariable`], [`S3Error::UnsupportedVariable`]
    pub fn from_environment() -> Result<S3Settings, S3Error> {
        S3Settings::from_variables(|name| std::env::var(name).ok())
    }

    /// The settings of an environment. An empty variable counts as one that is not set.
    ///
    /// # Errors
    /// As [`S3Settings::from_environment`].
    pub fn from_variables(
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Result<S3Settings, S3Error> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let (access_key, secret_key) = keys(&variable)?;
        for name in OTHER_SERVERS {
            if variable(name).is_some_and(|value| !value.eq_ignore_ascii_case("false")) {
                let instead = "name the server with AWS_ENDPOINT_URL";
                return Err(S3Error::UnsupportedVariable {
                    variable: name,
                    instead,
                });
            }
        }
        let region = variable(REGION).or_else(|| variable(DEFAULT_REGION));
        let (region, endpoint) = match endpoint(&variable)? {
            Some(endpoint) => (region.unwrap_or_else(|| ANY_REGION.to_owned()), endpoint),
            None => aws(region)?,
        };
        Ok(S3Settings {
            access_key,
            secret_key,
            session_token: variable(SESSION_TOKEN),
            region,
            endpoint,
            authorities: variable(AUTHORITIES).map(PathBuf::from),
        })
    }
}

fn keys(variable: &impl Fn(&'static str) -> Option<String>) -> Result<(String, String), S3Error> {
    let missing = |name, purpose| S3Error::MissingVariable {
        variable: name,
        purpose,
    };
    let Some(access_key) = variable(ACCESS_KEY) else {
        if let Some(name) = OTHER_KEYS.iter().find(|name| variable(name).is_some()) {
            let instead = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN if the keys have one";
            return Err(S3Error::UnsupportedVariable {
                variable: name,
                instead,
            });
        }
        return Err(missing(
            ACCESS_KEY,
            "the name of the key that may use the bucket",
        ));
    };
    let secret_key = variable(SECRET_KEY);
    let secret_key =
        secret_key.ok_or_else(|| missing(SECRET_KEY, "the secret of the key AWS_ACCESS_KEY_ID"))?;
    Ok((access_key, secret_key))
}

/// The server that the user names.
fn endpoint(variable: &impl Fn(&'static str) -> Option<String>) -> Result<Option<String>, S3Error> {
    let allows_http = switch(ALLOW_HTTP, variable(ALLOW_HTTP))?;
    let named = [S3_ENDPOINT, ENDPOINT].into_iter();
    let mut named = named.filter_map(|name| Some((name, variable(name)?)));
    let Some((name, text)) = named.next() else {
        return Ok(None);
    };
    let refused = |expected| S3Error::BadVariable {
        variable: name,
        expected,
        found: text.clone(),
    };
    let is_plain = |url: &Url| {
        url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    let url = Url::parse(&text).ok().filter(is_plain);
    let url = url.ok_or_else(|| refused("the URL of a server, such as https://s3.example.com"))?;
    match url.scheme() {
        "https" => {}
        "http" if allows_http => {}
        "http" => {
            return Err(refused(
                "a URL with https (or set AWS_ALLOW_HTTP=true: all that is stored can be read on the way)",
            ));
        }
        _ => return Err(refused("a URL with https")),
    }
    Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
}

/// The server of AWS for a region, which becomes a part of its name.
fn aws(region: Option<String>) -> Result<(String, String), S3Error> {
    let region = region.ok_or(S3Error::MissingVariable {
        variable: REGION,
        purpose: "the region of AWS that has the bucket; for another server than those of AWS set AWS_ENDPOINT_URL",
    })?;
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !region.bytes().all(is_part) {
        return Err(S3Error::BadVariable {
            variable: REGION,
            expected: "a region such as eu-central-1",
            found: region,
        });
    }
    let endpoint = format!("https://s3.{region}.amazonaws.com");
    Ok((region, endpoint))
}

fn switch(name: &'static str, value: Option<String>) -> Result<bool, S3Error> {
    match value.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => Err(S3Error::BadVariable {
            variable: name,
            expected: "true or false",
            found: value.unwrap_or_default(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] = [(ACCESS_KEY, "key"), (SECRET_KEY, "hidden")];

    fn read(more: &[(&str, &str)]) -> Result<S3Settings, String> {
        let all: Vec<_> = KEYS.iter().chain(more).collect();
        let find = |name: &str| {
            let mut found = all.iter().rev().filter(|(variable, _)| *variable == name);
            found.next().map(|(_, value)| (*value).to_owned())
        };
        S3Settings::from_variables(find).map_err(|error| error.to_string())
    }

    #[test]
    fn the_server_is_the_one_that_is_named_or_that_of_the_region() {
        for (variables, region, endpoint) in [
            (
                &[("AWS_REGION", "eu-west-1")][..],
                "eu-west-1",
                "https://s3.eu-west-1.amazonaws.com",
            ),
            (
                &[("AWS_DEFAULT_REGION", "x")],
                "x",
                "https://s3.x.amazonaws.com",
            ),
            (
                &[("AWS_ENDPOINT_URL", "https://h:1/")],
                "us-east-1",
                "https://h:1",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL", "https://h"),
                    ("AWS_ENDPOINT_URL_S3", "https://s"),
                    ("AWS_REGION", "r"),
                ],
                "r",
                "https://s",
            ),
            (
                &[("AWS_ENDPOINT_URL", "http://h"), ("AWS_ALLOW_HTTP", "TRUE")],
                "us-east-1",
                "http://h",
            ),
        ] {
            let settings = read(variables).unwrap();
            assert_eq!(
                (settings.region.as_str(), settings.endpoint.as_str()),
                (region, endpoint)
            );
            assert!(!format!("{settings:?}").contains("hidden"));
        }
    }

    #[test]
    fn what_is_missing_wrong_or_unsupported_is_named() {
        let https = ("AWS_ENDPOINT_URL", "https://h");
        for (variables, said) in [
            (&[][..], "AWS_REGION is not set"),
            (&[(ACCESS_KEY, ""), https], "AWS_ACCESS_KEY_ID is not set"),
            (
                &[(SECRET_KEY, ""), https],
                "AWS_SECRET_ACCESS_KEY is not set",
            ),
            (
                &[(ACCESS_KEY, ""), ("AWS_PROFILE", "x"), https],
                "AWS_PROFILE is set, which is not supported",
            ),
            (
                &[("AWS_REGION", "evil.example/")],
                "AWS_REGION must be a region",
            ),
            (&[("AWS_ENDPOINT_URL", "http://h")], "AWS_ALLOW_HTTP=true"),
            (
                &[
                    ("AWS_ENDPOINT_URL", "http://h"),
                    ("AWS_ALLOW_HTTP", "false"),
                ],
                "AWS_ALLOW_HTTP=true",
            ),
            (
                &[("AWS_ALLOW_HTTP", "maybe"), https],
                "AWS_ALLOW_HTTP must be true or false, not \"maybe\"",
            ),
            (&[("AWS_ENDPOINT_URL", "h:80")], "AWS_ENDPOINT_URL must be"),
            (
                &[("AWS_ENDPOINT_URL_S3", "https://u:p@h")],
                "AWS_ENDPOINT_URL_S3 must be",
            ),
            (
                &[("AWS_ENDPOINT_URL", "ftp://h")],
                "must be a URL with https",
            ),
            (
                &[("AWS_USE_FIPS_ENDPOINT", "true"), https],
                "AWS_USE_FIPS_ENDPOINT is set",
            ),
        ] {
            let refused = read(variables).unwrap_err();
            assert!(refused.contains(said), "{said}: {refused}");
        }
    }
}
