use super::*;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use std::path::Path;
use varve_config::{Ini, Settings};

/// Public keys, and the secret [`SECRET`].
const KEYS: &str = include_str!("../../../tests/tokens/keys.ini");
/// Tokens that another library signed, each behind its name.
const TOKENS: &str = include_str!("../../../tests/tokens/tokens.txt");
const SECRET: &[u8] = b"a secret of the tests";
const NOW: u64 = 1_800_000_000;

fn check(settings: &str) -> TokenCheck {
    let ini = Ini::parse(Path::new("t.ini"), &format!("{settings}\n{KEYS}")).unwrap();
    TokenCheck::new(&Settings::read(&ini).unwrap().jwt).unwrap()
}

fn login(check: &TokenCheck, token: &str) -> Result<UserContext, String> {
    let value = format!("Bearer {token}").parse().unwrap();
    let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
    match check.user(&headers, NOW) {
        Ok(user) => Ok(user.unwrap()),
        Err(failure) => Err(format!("{} {}", failure.status().as_u16(), failure.reason)),
    }
}

fn signed(header: &str, claims: &str) -> String {
    let encode = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
    let message = format!(
        "{}.{}",
        encode(header.as_bytes()),
        encode(claims.as_bytes())
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
    let signature = encode(hmac::sign(&key, message.as_bytes()).as_ref());
    format!("{message}.{signature}")
}

/// The user by claims that are signed as they should be.
fn claimed(settings: &str, claims: &str) -> Result<UserContext, String> {
    login(&check(settings), &signed(r#"{"alg":"HS256"}"#, claims))
}

fn refused(settings: &str, claims: &str) -> String {
    claimed(settings, claims).unwrap_err()
}

#[test]
fn tokens_of_all_algorithms_count_with_their_own_keys_only() {
    let check = check("");
    let tokens = TOKENS.lines().filter_map(|line| line.split_once(' '));
    let mut good = 0;
    for (name, token) in tokens {
        let found = login(&check, token);
        match name {
            "bad-none" => assert_eq!(found, Err("400 Invalid alg header parameter".into())),
            "bad-confusion" => assert_eq!(found, Err("400 Unknown kid".into())),
            "bad-curve" => assert_eq!(found, Err("400 Bad signature".into())),
            _ => {
                let user = found.unwrap();
                assert_eq!(user.name.as_deref(), Some("ada"), "{name}");
                assert_eq!(user.roles, ["crew", "cook"], "{name}");
                let (message, signature) = token.rsplit_once('.').unwrap();
                let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
                bytes[9] ^= 1;
                let other = format!("{message}.{}", URL_SAFE_NO_PAD.encode(bytes));
                let told = login(&check, &other).unwrap_err();
                assert!(told.starts_with("400 Bad "), "{name}: {told}");
                good += 1;
            }
        }
    }
    assert_eq!(good, 13);
}

#[test]
fn headers_are_refused_in_the_peers_words() {
    let usual = check("");
    let claims = format!(r#"{{"sub":"ada","exp":{}}}"#, NOW + 1);
    for (header, words) in [
        (r#"{}"#, "400 Missing alg header parameter"),
        (r#"{"alg":"NONE"}"#, "400 Invalid alg header parameter"),
        (r#"{"alg":["HS256"]}"#, "400 Invalid alg header parameter"),
        (r#"{"alg":"ES512"}"#, "400 Invalid alg header parameter"),
        (r#"{"alg":"HS256","kid":"other"}"#, "400 Unknown kid"),
        (r#"{"alg":"HS256","kid":1}"#, "400 Malformed token"),
        (r#"{"alg":"HS384"}"#, "400 Bad HMAC"),
        (r#"[]"#, "400 Not an object"),
        (r#"{"#, "400 Malformed token"),
    ] {
        let found = login(&usual, &signed(header, &claims));
        assert_eq!(found.unwrap_err(), words, "{header}");
    }
    for token in ["", "a", "a.b", "a.b.c.d", "e30.e30.!", "=.=.="] {
        let told = login(&usual, token).unwrap_err();
        assert!(told.starts_with("400 M"), "{token}: {told}");
    }
    let strict = check("[jwt_auth]\nrequired_claims = kid, typ");
    for (header, words) in [
        (
            r#"{"alg":"HS256","kid":"_default"}"#,
            "400 Missing typ header parameter",
        ),
        (
            r#"{"alg":"HS256","typ":"JWE"}"#,
            "400 Invalid typ header parameter",
        ),
        (r#"{"alg":"HS256","typ":"JWT"}"#, "400 Missing kid claim"),
    ] {
        let found = login(&strict, &signed(header, r#"{"sub":"ada"}"#));
        assert_eq!(found.unwrap_err(), words, "{header}");
    }
}

#[test]
fn claims_are_looked_at_if_they_are_required() {
    let exp = |time: u64| format!(r#"{{"sub":"ada","exp":{time}}}"#);
    assert!(claimed("", &exp(NOW + 1)).is_ok());
    assert_eq!(refused("", &exp(NOW)), "401 exp not in future");
    assert_eq!(refused("", r#"{"sub":"ada"}"#), "400 Missing exp claim");
    let text = r#"{"sub":"ada","exp":"later"}"#;
    assert_eq!(refused("", text), "400 Invalid exp claim");
    let all = "[jwt_auth]\nrequired_claims = iat, nbf, {iss, \"a.test\"}";
    let right = format!(
        r#"{{"sub":"ada","iat":1,"nbf":{}.5,"iss":"a.test"}}"#,
        NOW - 1
    );
    assert!(claimed(all, &right).is_ok());
    for (from, to, words) in [
        ("\"iss\":\"a.test\"", "\"a\":1", "400 Missing iss claim"),
        ("a.test", "b.test", "400 Invalid iss claim"),
        ("\"iat\":1", "\"a\":1", "400 Missing iat claim"),
        ("\"iat\":1", "\"iat\":1.5", "400 Invalid iat claim"),
        ("\"nbf\"", "\"a\"", "400 Missing nbf claim"),
        ("\"nbf\":1", "\"nbf\":2", "401 nbf not in past"),
    ] {
        assert_eq!(refused(all, &right.replace(from, to)), words);
    }
}

#[test]
fn users_and_roles_are_texts() {
    let with = |claims: &str| format!(r#"{{"exp":{},{claims}}}"#, NOW + 1);
    let roles = |settings: &str, claims: &str| {
        let text = format!(r#""sub":"ada",{claims}"#);
        claimed(&format!("[jwt_auth]\n{settings}"), &with(&text)).map(|user| user.roles)
    };
    assert_eq!(
        refused("", &with("\"a\":1")),
        "401 Token missing sub claim."
    );
    assert_eq!(refused("", &with("\"sub\":1")), "400 Malformed token");
    assert_eq!(roles("", r#""a":1"#), Ok(vec![]));
    let both = Ok(vec!["a".to_owned(), "b c".to_owned()]);
    assert_eq!(roles("", r#""_couchdb.roles":["a","b c"]"#), both);
    assert_eq!(roles("roles_claim_name = r", r#""r":"a , b c,""#), both);
    let path = "roles_claim_path = x\\.y.z";
    assert_eq!(roles(path, r#""x.y":{"z":["a","b c"]}"#), both);
    let missing = Err("404 missing_json_key".to_owned());
    assert_eq!(roles(path, r#""x.y":{"z":null}"#), missing);
    assert_eq!(roles(path, r#""x.y":["z"]"#), missing);
    for wrong in ["{}", "1", "[1]", "null"] {
        let claims = format!(r#""_couchdb.roles":{wrong}"#);
        assert_eq!(roles("", &claims), Err("400 Malformed token".to_owned()));
    }
}

#[test]
fn keys_of_another_form_are_refused_and_not_shown() {
    let refused = |line: &str| {
        let text = format!("[jwt_keys]\n{line}");
        let ini = Ini::parse(Path::new("t.ini"), &text).unwrap();
        let jwt = Settings::read(&ini).unwrap().jwt;
        TokenCheck::new(&jwt).unwrap_err().to_string()
    };
    let key = |name: &str| {
        KEYS.lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap()
    };
    for (line, words) in [
        (
            "hmac:a = !secret".to_owned(),
            "hmac:a must be a secret in base64",
        ),
        (
            format!("rsa:a{}", key("ec:e ")),
            "rsa:a must be an RSA public key",
        ),
        (
            format!("ec:a{}", key("eddsa:d ")),
            "ec:a must be a public key of P-256",
        ),
        (
            format!("eddsa:a{}", key("rsa:r ")),
            "eddsa:a must be a public key of Ed25519",
        ),
        (
            format!("rsa:a = {SHORT_RSA}"),
            "rsa:a must be an RSA public key",
        ),
        ("ec:a = secret".to_owned(), "ec:a must be a public key"),
    ] {
        let told = refused(&line);
        assert!(told.contains(words), "{told}");
        assert!(
            !told.contains("secret\"") && !told.contains("BEGIN"),
            "{told}"
        );
    }
    assert!(
        STANDARD
            .decode(key("hmac:_default = "))
            .is_ok_and(|key| key == SECRET)
    );
}

/// Of 1024 bits.
const SHORT_RSA: &str = "-----BEGIN PUBLIC KEY-----\\nMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDCwMzCmMat1d7mN4zxQy/lmjdn\\nTpNamGIIP9lPuEjEw/XM8UESRlgKTGF0FCi9Na8UrpiM7EJl931f/l08bFRCV57a\\nJzhuWWn0lFpyzsB5G60i0OvVSytOE5cl4TWNPumAIf1TSvxUcIASt0HClmGjI5d2\\nPc7Oo4wuc0QZnHSpNQIDAQAB\\n-----END PUBLIC KEY-----\\n";
