//! Users whom a JSON Web Token names: `Authorization: Bearer HEADER.CLAIMS.SIGNATURE`, each part in base64url.
//!
//! As in CouchDB, only claims that `[jwt_auth] required_claims` lists are looked at, and each refusal has CouchDB's
//! words. The signature is always checked.

mod keys;
#[cfg(test)]
mod tests;

use crate::auth::UserContext;
use crate::{Failure, ServerError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{AUTHORIZATION, HeaderMap};
use keys::{Algorithm, Keys};
use varve_config::{Jwt, RequiredClaims, RolesClaim};
use varve_json::{Object, Value};

/// Name of the key for tokens that name none.
const DEFAULT_KEY: &str = "_default";

/// Checks tokens as the settings ask for it.
#[derive(Debug)]
pub(super) struct TokenCheck {
    required: RequiredClaims,
    roles: RolesClaim,
    keys: Keys,
}

impl TokenCheck {
    /// # Errors
    /// [`ServerError::Config`] for a key that is not of its form.
    pub(super) fn new(settings: &Jwt) -> Result<TokenCheck, ServerError> {
        Ok(TokenCheck {
            required: settings.required.clone(),
            roles: settings.roles.clone(),
            keys: Keys::read(&settings.keys)?,
        })
    }

    /// The user of a request with a token; `None` without one.
    ///
    /// # Errors
    /// 400 or 401 for a token that does not count, 404 if it has no roles where they are asked for.
    pub(super) fn user(
        &self,
        headers: &HeaderMap,
        now: u64,
    ) -> Result<Option<UserContext>, Failure> {
        let Some(token) = bearer(headers) else {
            return Ok(None);
        };
        let claims = self.claims(token, now)?;
        let roles = self.roles(&claims)?;
        let name = match claims.get("sub") {
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(malformed()),
            None => return Err(Failure::unauthorized("Token missing sub claim.")),
        };
        Ok(Some(UserContext {
            name: Some(name),
            roles,
        }))
    }

    /// The claims of a token whose signature is good.
    fn claims(&self, token: &str, now: u64) -> Result<Object, Failure> {
        let (message, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
        let (header, claims) = message.split_once('.').ok_or_else(malformed)?;
        let header = object(header)?;
        let algorithm = self.check_header(&header)?;
        let claims = object(claims)?;
        self.check_claims(&claims, now)?;
        let kid = match header.get("kid") {
            Some(Value::String(kid)) => kid,
            Some(_) => return Err(malformed()),
            None if self.required.kid => return Err(missing("kid claim")),
            None => DEFAULT_KEY,
        };
        let signature = decode(signature)?;
        self.keys
            .verify(kid, algorithm, message.as_bytes(), &signature)?;
        Ok(claims)
    }

    fn check_header(&self, header: &Object) -> Result<&'static Algorithm, Failure> {
        if self.required.typ {
            match header.get("typ") {
                None => return Err(missing("typ header parameter")),
                Some(kind) if kind.as_str() != Some("JWT") => {
                    return Err(invalid("typ header parameter"));
                }
                Some(_) => (),
            }
        }
        const ALG: &str = "alg header parameter";
        let name = header.get("alg").ok_or_else(|| missing(ALG))?;
        let known = name.as_str().and_then(Algorithm::named);
        known.ok_or_else(|| invalid(ALG))
    }

    fn check_claims(&self, claims: &Object, now: u64) -> Result<(), Failure> {
        let required = &self.required;
        if let Some(issuer) = &required.iss {
            let given = claims.get("iss").ok_or_else(|| missing("iss claim"))?;
            if given.as_str() != Some(issuer) {
                return Err(invalid("iss claim"));
            }
        }
        if required.iat {
            let given = claims.get("iat").ok_or_else(|| missing("iat claim"))?;
            given.as_i64().ok_or_else(|| invalid("iat claim"))?;
        }
        if required.nbf && time(claims, "nbf")? >= seconds(now) {
            return Err(Failure::unauthorized("nbf not in past"));
        }
        if required.exp && time(claims, "exp")? <= seconds(now) {
            return Err(Failure::unauthorized("exp not in future"));
        }
        Ok(())
    }

    fn roles(&self, claims: &Object) -> Result<Vec<String>, Failure> {
        let roles = match &self.roles {
            RolesClaim::Name(name) => match claims.get(name) {
                Some(roles) => roles,
                None => return Ok(Vec::new()),
            },
            RolesClaim::Path(names) => {
                let mut members = names.iter();
                let first = members.next().and_then(|name| claims.get(name));
                let found = members.try_fold(first, |value, name| Some(value?.get(name)));
                let found = found.flatten().filter(|found| !found.is_null());
                found.ok_or_else(|| Failure::not_found("missing_json_key"))?
            }
        };
        let texts = match roles {
            Value::Array(roles) => roles.iter().map(Value::as_str).collect(),
            Value::String(roles) => {
                let roles = roles.split(',').map(str::trim);
                Some(roles.filter(|role| !role.is_empty()).collect())
            }
            _ => None,
        };
        let texts: Vec<&str> = texts.ok_or_else(malformed)?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// A time in seconds, which JSON may write with a fraction.
fn time(claims: &Object, name: &str) -> Result<f64, Failure> {
    let given = claims.get(name);
    let given = given.ok_or_else(|| missing(&format!("{name} claim")))?;
    let given = given.as_f64();
    given.ok_or_else(|| invalid(&format!("{name} claim")))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact for the next 285 million years"
)]
fn seconds(now: u64) -> f64 {
    now as f64
}

fn object(part: &str) -> Result<Object, Failure> {
    let value = varve_json::parse(&decode(part)?).map_err(|_| malformed())?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Failure::bad_request("Not an object")),
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Failure> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed())
}

fn malformed() -> Failure {
    Failure::bad_request("Malformed token")
}

fn missing(member: &str) -> Failure {
    Failure::bad_request(format!("Missing {member}"))
}

fn invalid(member: &str) -> Failure {
    Failure::bad_request(format!("Invalid {member}"))
}
