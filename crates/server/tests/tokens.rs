//! Logins by JSON Web Tokens.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
const KEYS: &str = include_str!("tokens/keys.ini");
/// The first is signed with the secret, and its user is ada with the roles crew and cook.
const TOKENS: &str = include_str!("tokens/tokens.txt");
const HANDLERS: &str = "[chttpd]\nrequire_valid_user = true\nauthentication_handlers = \
                        {chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}\n";

fn token(name: &str) -> String {
    let mut lines = TOKENS.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    format!("Bearer {}", found.unwrap())
}

fn get(server: &Running, path: &str, token: &str) -> Reply {
    server.send("GET", path, &[("authorization", token)], "")
}

fn answer(reply: &Reply) -> (u16, Value) {
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn set(server: &Running, name: &str, value: &str) -> Reply {
    let path = format!("/_node/_local/_config/{name}");
    server.send("PUT", &path, &[ADMIN, JSON], &json!(value).to_string())
}

#[test]
fn users_of_tokens_have_their_roles_in_databases_and_repositories() {
    let server = Running::start_with(&format!("{HANDLERS}{KEYS}"));
    for name in ["HS256", "RS256", "PS512", "ES256", "ES384", "EdDSA"] {
        let (status, session) = answer(&get(&server, "/_session", &token(name)));
        assert_eq!(status, 200, "{name}: {session}");
        assert_eq!(
            session["userCtx"],
            json!({"name": "ada", "roles": ["crew", "cook"]})
        );
        assert_eq!(session["info"]["authenticated"], "jwt");
        assert_eq!(
            session["info"]["authentication_handlers"],
            json!(["jwt", "default"])
        );
    }
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    assert_eq!(get(&server, "/db", &token("RS256")).status, 403);
    let security = r#"{"members":{"roles":["cook"]}}"#;
    let put = server.send("PUT", "/db/_security", &[ADMIN, JSON], security);
    assert_eq!(put.status, 200);
    assert_eq!(get(&server, "/db", &token("RS256")).status, 200);
    assert_eq!(get(&server, "/hg/", &token("RS256")).status, 200);
    assert_eq!(get(&server, "/hg/", &token("bad-none")).status, 400);
    assert_eq!(server.get("/hg/").status, 401);
    assert_eq!(get(&server, "/_session", ADMIN.1).status, 200);
}

#[test]
fn forged_tokens_are_refused_in_the_peers_words() {
    let server = Running::start_with(&format!("{HANDLERS}{KEYS}"));
    for (name, reason) in [
        ("bad-none", "Invalid alg header parameter"),
        ("bad-confusion", "Unknown kid"),
        ("bad-curve", "Bad signature"),
    ] {
        let refused = answer(&get(&server, "/_session", &token(name)));
        let words = json!({"error": "bad_request", "reason": reason});
        assert_eq!(refused, (400, words), "{name}");
    }
    // Where tokens are no way to log in they are not looked at.
    let usual = Running::start_with(KEYS);
    let (status, session) = answer(&get(&usual, "/_session", &token("HS256")));
    assert_eq!((status, &session["userCtx"]["name"]), (200, &Value::Null));
}

#[test]
fn keys_and_claims_change_while_the_server_runs() {
    let server = Running::start_with(HANDLERS);
    let refused = || answer(&get(&server, "/_session", &token("HS256")));
    assert_eq!(refused().1["reason"], "Unknown kid");
    let wrong = set(&server, "jwt_keys/hmac:_default", "!secret");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("a secret in base64"), "{}", wrong.body);
    assert!(!wrong.body.contains("!secret"), "{}", wrong.body);
    let key = KEYS
        .lines()
        .find_map(|line| line.strip_prefix("hmac:_default = "));
    let put = set(&server, "jwt_keys/hmac:_default", key.unwrap());
    assert_eq!(put.status, 200, "{}", put.body);
    assert_eq!(put.header("x-varve-restart"), None);
    assert_eq!(get(&server, "/_session", &token("HS256")).status, 200);
    let all = server
        .send("GET", "/_node/_local/_config", &[ADMIN], "")
        .body;
    assert!(!all.contains(key.unwrap()), "{all}");
    assert_eq!(
        set(&server, "jwt_auth/required_claims", "exp, nbf").status,
        200
    );
    assert_eq!(refused().1["reason"], "Missing nbf claim");
    assert_eq!(set(&server, "jwt_auth/required_claims", "aud").status, 400);
    assert_eq!(set(&server, "jwt_auth/required_claims", "exp").status, 200);
    assert_eq!(set(&server, "jwt_auth/roles_claim_path", "a.b").status, 200);
    let missing = json!({"error": "not_found", "reason": "missing_json_key"});
    assert_eq!(refused(), (404, missing));
}
