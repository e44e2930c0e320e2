//! Databases that `_replicate` names without a URL: those of the asked server, with the rights of the user who asks.

use super::{ADMIN, JSON, ask, get, put_docs, replicate, wait_for};
use crate::client::Running;
use serde_json::{Value, json};

fn with_reader() -> Running {
    let here = Running::start_with("[chttpd]\nrequire_valid_user = false\n");
    for database in ["_users", "a", "b%2Fc", "closed"] {
        let path = format!("/{database}");
        assert_eq!(ask(&here, "PUT", &path, &Value::Null).0, 201);
    }
    let ann = json!({"name": "ann", "password": "secret", "roles": [], "type": "user"});
    let path = "/_users/org.couchdb.user:ann";
    assert_eq!(ask(&here, "PUT", path, &ann).0, 201);
    for database in ["a", "b%2Fc"] {
        let members = json!({"admins": {"names": [], "roles": []}, "members": {"names": ["ann"], "roles": []}});
        let path = format!("/{database}/_security");
        assert_eq!(ask(&here, "PUT", &path, &members).0, 200);
    }
    put_docs(&here, "a", &json!([{"_id": "one"}, {"_id": "two"}]));
    here
}

/// `_replicate` by a user who is known by a header.
fn asked(on: &Running, who: (&str, &str), body: &Value) -> (u16, Value) {
    let reply = on.send("POST", "/_replicate", &[who, JSON], &body.to_string());
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn cookie_of_ann(server: &Running) -> String {
    let login = r#"{"name":"ann","password":"secret"}"#;
    let reply = server.send("POST", "/_session", &[JSON], login);
    let cookie = reply.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn names_are_databases_of_the_asked_server() {
    let here = with_reader();
    let (status, answer) = replicate(&here, "a", "b/c", &json!({}));
    assert_eq!(
        (status, &answer["history"][0]["docs_written"]),
        (200, &json!(2))
    );
    assert_eq!(get(&here, "/b%2Fc")["doc_count"], 2);
    let (status, made) = replicate(&here, "a", "made", &json!({"create_target": true}));
    assert_eq!(status, 200, "{made}");
    // A URL and a name of the same database are one replication, which has nothing to do again.
    let url = format!("http://adm:pass@{}/a", here.address);
    let (_, again) = replicate(&here, &url, "b/c", &json!({}));
    assert_eq!(again["no_changes"], true, "{again}");
}

#[test]
fn names_are_used_with_the_rights_of_the_user_who_asks() {
    let here = with_reader();
    let cookie = cookie_of_ann(&here);
    let basic = ("authorization", "Basic YW5uOnNlY3JldA==");
    for who in [("cookie", &*cookie), basic] {
        let (status, answer) = asked(&here, who, &json!({"source": "a", "target": "b/c"}));
        assert_eq!(status, 200, "{answer}");
        for (source, target) in [("closed", "a"), ("a", "closed"), ("closed", "b/c")] {
            let body = json!({"source": source, "target": target});
            let (status, answer) = asked(&here, who, &body);
            assert_eq!(status, 401, "{source} {target}: {answer}");
        }
        let new = json!({"source": "a", "target": "new", "create_target": true});
        let (status, answer) = asked(&here, who, &new);
        assert_eq!(status, 401, "only admins make databases: {answer}");
    }
    // The second login finds the checkpoint of its own replication only; what is there already is not written again.
    assert_eq!(get(&here, "/b%2Fc")["doc_count"], 2);
    let own = json!({"url": "a", "auth": {"basic": {"username": "ann", "password": "wrong"}}});
    let (status, answer) = asked(&here, ADMIN, &json!({"source": own, "target": "closed"}));
    assert_eq!(status, 401, "a login beside a name counts alone: {answer}");
    let url = format!("http://{}/a", here.address);
    let (status, answer) = asked(&here, ADMIN, &json!({"source": url, "target": "closed"}));
    assert_eq!(status, 401, "a URL gets nothing of the user's: {answer}");
}

#[test]
fn continuous_ones_are_shown_with_their_urls_and_ended_by_the_same_request() {
    let here = with_reader();
    let cookie = cookie_of_ann(&here);
    let who = ("cookie", &*cookie);
    let body = json!({"source": "a", "target": "b/c", "continuous": true});
    assert_eq!(asked(&here, who, &body).0, 202);
    put_docs(&here, "a", &json!([{"_id": "late"}]));
    wait_for("the late document", || {
        get(&here, "/b%2Fc")["doc_count"] == 3
    });
    let jobs = get(&here, "/_scheduler/jobs");
    let job = &jobs["jobs"][0];
    let url = |name: &str| format!("http://{}/{name}/", here.address);
    assert_eq!(
        (&job["source"], &job["target"]),
        (&json!(url("a")), &json!(url("b%2Fc")))
    );
    assert!(!jobs.to_string().contains("AuthSession"), "{jobs}");
    let again = cookie_of_ann(&here);
    let mut end = body;
    end["cancel"] = json!(true);
    let (status, answer) = asked(&here, ("cookie", &again), &end);
    assert_eq!(status, 200, "another session of the user: {answer}");
    assert_eq!(get(&here, "/_scheduler/jobs")["total_rows"], 0);
}
