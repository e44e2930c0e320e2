//! `[jwt_auth]` and `[jwt_keys]`: logins by JSON Web Tokens.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};

/// `[jwt_auth]` and `[jwt_keys]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwt {
    /// `required_claims`; default `exp`. Other claims are not looked at.
    pub required: RequiredClaims,
    /// `roles_claim_path`, or else `roles_claim_name`; default the claim `_couchdb.roles`.
    pub roles: RolesClaim,
    /// `[jwt_keys]`, not decoded yet.
    pub keys: Vec<JwtKey>,
}

/// Members that a token must have, and whose value must be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredClaims {
    /// `exp`: the token has not expired.
    pub exp: bool,
    /// `iat`: a whole number.
    pub iat: bool,
    /// `nbf`: the token counts already.
    pub nbf: bool,
    /// `kid`: the header names the key.
    pub kid: bool,
    /// `typ`: the header says that this is a `JWT`.
    pub typ: bool,
    /// `{iss, "NAME"}`: the issuer.
    pub iss: Option<String>,
}

/// The place of the roles in a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolesClaim {
    /// A claim, which need not be there.
    Name(String),
    /// Names of nested members, which have to be there.
    Path(Vec<String>),
}

/// Kind of a key, which decides the algorithms that it may be used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JwtKeyKind {
    /// A shared secret, in base64.
    Hmac,
    /// A public key, as all that follow, in PEM.
    Rsa,
    /// Of the curve P-256 or P-384.
    Ec,
    /// Of the curve Ed25519.
    EdDsa,
}

impl JwtKeyKind {
    fn named(name: &str) -> Option<JwtKeyKind> {
        match name {
            "hmac" => Some(JwtKeyKind::Hmac),
            "rsa" => Some(JwtKeyKind::Rsa),
            "ec" => Some(JwtKeyKind::Ec),
            "eddsa" => Some(JwtKeyKind::EdDsa),
            _ => None,
        }
    }
}

/// One line of `[jwt_keys]`: `KIND:KID = KEY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtKey {
    /// The type of the key: the part of the setting's name before the colon.
    pub kind: JwtKeyKind,
    /// Name by which tokens refer to the key; `_default` if they name none.
    pub kid: String,
    /// As written.
    pub setting: Setting,
}

impl JwtKey {
    /// The error that names the expected form; it does not show the key, which may be a secret.
    pub fn refuse(&self, expected: &str) -> ConfigError {
        hidden(&self.setting).refuse(expected)
    }
}

fn hidden(setting: &Setting) -> Setting {
    Setting {
        value: "****".to_owned(),
        ..setting.clone()
    }
}

/// # Errors
/// The first value or key that is not of its form.
pub(crate) fn read(ini: &Ini) -> Result<Jwt, ConfigError> {
    let exp = RequiredClaims {
        exp: true,
        ..RequiredClaims::default()
    };
    let name = ini.get("jwt_auth", "roles_claim_name");
    let name = name.map_or("_couchdb.roles", |setting| setting.value.as_str());
    let path = ini.get("jwt_auth", "roles_claim_path");
    let keys = ini.section("jwt_keys").into_iter().map(key);
    Ok(Jwt {
        required: or(ini.get("jwt_auth", "required_claims"), required, exp)?,
        roles: match path {
            Some(path) => RolesClaim::Path(members(&path.value)),
            None => RolesClaim::Name(name.to_owned()),
        },
        keys: keys.collect::<Result<_, _>>()?,
    })
}

fn key(setting: &Setting) -> Result<JwtKey, ConfigError> {
    const EXPECTED: &str = "named hmac:KID, rsa:KID, ec:KID or eddsa:KID";
    let split = setting.key.split_once(':');
    let known = split.and_then(|(kind, kid)| Some((JwtKeyKind::named(kind)?, kid)));
    let known = known.filter(|(_, kid)| !kid.is_empty());
    let (kind, kid) = known.ok_or_else(|| hidden(setting).refuse(EXPECTED))?;
    Ok(JwtKey {
        kind,
        kid: kid.to_owned(),
        setting: setting.clone(),
    })
}

/// Names between commas, and `{iss, "NAME"}`.
fn required(setting: &Setting) -> Result<RequiredClaims, ConfigError> {
    const EXPECTED: &str = "a list of exp, iat, nbf, kid, typ and {iss, \"NAME\"}";
    let mut required = RequiredClaims::default();
    let mut rest = setting.value.as_str();
    while let Some(text) = Some(rest.trim_start()).filter(|text| !text.is_empty()) {
        let end = match text.strip_prefix('{') {
            Some(_) => text.find('}').map(|at| at + 1),
            None => Some(text.find(',').unwrap_or(text.len())),
        };
        let (claim, after) = text.split_at(end.ok_or_else(|| setting.refuse(EXPECTED))?);
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after);
        match claim.trim() {
            "exp" => required.exp = true,
            "iat" => required.iat = true,
            "nbf" => required.nbf = true,
            "kid" => required.kid = true,
            "typ" => required.typ = true,
            tuple => {
                let name = issuer(tuple).ok_or_else(|| setting.refuse(EXPECTED))?;
                required.iss = Some(name.to_owned());
            }
        }
    }
    Ok(required)
}

fn issuer(tuple: &str) -> Option<&str> {
    let inside = tuple.strip_prefix('{')?.strip_suffix('}')?;
    let (claim, name) = inside.split_once(',')?;
    let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
    (claim.trim() == "iss" && !name.is_empty() && !name.contains('"')).then_some(name)
}

/// Names between dots; a dot behind a backslash belongs to a name.
fn members(path: &str) -> Vec<String> {
    const DOT: &str = "\0";
    let path = path.replace("\\.", DOT);
    let names = path.split('.');
    names.map(|name| name.replace(DOT, ".")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn jwt(text: &str) -> Result<Jwt, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn tokens_expire_unless_the_settings_ask_for_something_else() {
        let required = |text: &str| {
            let read = jwt(&format!("[jwt_auth]\nrequired_claims = {text}"));
            read.map(|jwt| jwt.required)
        };
        assert!(jwt("").unwrap().required.exp);
        assert!(!required("iat").unwrap().exp);
        let all = required("exp, {iss , \"https://a.test/{b\"},nbf,  kid,typ").unwrap();
        assert_eq!(all.iss.as_deref(), Some("https://a.test/{b"));
        assert!(all.exp && all.nbf && all.kid && all.typ && !all.iat);
        for wrong in [
            "aud",
            "iss",
            "{iss, x}",
            "{iss, \"x\"",
            "{exp, \"1\"}",
            "exp iat",
            "{iss, \"\"}",
        ] {
            let told = required(wrong).unwrap_err();
            assert!(
                told.contains("must be a list of exp, iat"),
                "{wrong}: {told}"
            );
        }
    }

    #[test]
    fn roles_stand_in_a_claim_or_below_a_path() {
        let roles = |text: &str| jwt(&format!("[jwt_auth]\n{text}")).unwrap().roles;
        let name = |name: &str| RolesClaim::Name(name.to_owned());
        assert_eq!(roles(""), name("_couchdb.roles"));
        assert_eq!(roles("roles_claim_name = a.b"), name("a.b"));
        let path = roles("roles_claim_name = a\nroles_claim_path = a\\.b.c");
        assert_eq!(
            path,
            RolesClaim::Path(vec!["a.b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn keys_are_named_after_their_kind_and_not_shown() {
        let keys = jwt("[jwt_keys]\nhmac:_default = c2VjcmV0\nrsa:a:b = x\n")
            .unwrap()
            .keys;
        let names: Vec<_> = keys
            .iter()
            .map(|key| (key.kind, key.kid.as_str()))
            .collect();
        assert_eq!(
            names,
            [(JwtKeyKind::Hmac, "_default"), (JwtKeyKind::Rsa, "a:b")]
        );
        for wrong in ["secret", "hmac:", "oct:a"] {
            let told = jwt(&format!("[jwt_keys]\n{wrong} = c2VjcmV0")).unwrap_err();
            assert!(
                told.contains("hmac:KID") && !told.contains("c2VjcmV0"),
                "{told}"
            );
        }
    }
}
