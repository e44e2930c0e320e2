//! What a page of another site, a name that points here, and the proxy header of an untrusted address cannot do.

use crate::client::{ADMIN, Running};

const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=xyz");
const TEXT: (&str, &str) = ("content-type", "text/plain");
const FOREIGN: (&str, &str) = ("origin", "https://evil.test");
const OWN: (&str, &str) = ("origin", "http://varve.test");
const DOC: &str =
    "--xyz\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{\"y\":2}\r\n--xyz--";

const DESIGN: &str =
    r#"{"updates": {"set": "function (doc, req) { return [{_id: req.body}, 'set']; }"}}"#;

/// A server with a database and an update function, and the admin's cookie.
fn served(settings: &str) -> (Running, String) {
    let server = Running::start_with(settings);
    assert_eq!(server.send("PUT", "/d", &[ADMIN], "").status, 201);
    assert_eq!(
        server.send("PUT", "/d/_design/u", &[ADMIN], DESIGN).status,
        201
    );
    let form = ("content-type", "application/x-www-form-urlencoded");
    let reply = server.send("POST", "/_session", &[form], "name=adm&password=pass");
    assert_eq!(reply.status, 200, "{}", reply.body);
    let cookie = reply.header("set-cookie").unwrap().to_owned();
    (server, cookie)
}

#[test]
fn forms_of_other_sites_change_nothing() {
    let (server, cookie) = served("");
    let cookie = ("cookie", cookie.split(';').next().unwrap());
    let form = |login, origin: &[(&str, &str)], path| {
        let reply = server.send("POST", path, &[&[login, FORM], origin].concat(), DOC);
        (reply.status, reply.body)
    };
    let update = |login, origin: &[(&str, &str)], id: &str| {
        let headers = [&[login, TEXT], origin].concat();
        let reply = server.send("POST", "/d/_design/u/_update/set", &headers, id);
        (reply.status, reply.body)
    };
    for login in [cookie, ADMIN] {
        for (status, body) in [
            form(login, &[FOREIGN], "/d/a"),
            update(login, &[FOREIGN], "a"),
        ] {
            assert_eq!(status, 400, "{body}");
            assert!(body.contains("Origin header must match host."), "{body}");
        }
        let foreign = [("referer", "http://evil.test/d/a")];
        assert!(
            form(login, &foreign, "/d/a")
                .1
                .contains("Referer header must match host.")
        );
    }
    assert_eq!(server.send("GET", "/d/a", &[ADMIN], "").status, 404);
    let (status, body) = form(cookie, &[], "/d/a");
    assert_eq!(status, 400);
    assert!(body.contains("Referer header required."), "{body}");
    // Browsers of the server's own pages say so; other programs say nothing.
    assert_eq!(form(cookie, &[OWN], "/d/own").0, 201);
    assert_eq!(form(ADMIN, &[], "/d/program").0, 201);
    assert_eq!(update(cookie, &[OWN], "b").0, 201);
    assert_eq!(update(ADMIN, &[], "c").0, 201);
    let json = [cookie, ("content-type", "application/json")];
    assert_eq!(server.send("POST", "/d", &json, "{}").status, 201);
}

#[test]
fn pages_cannot_push() {
    let (server, _) = served("");
    let reply = server.send(
        "POST",
        "/hg/a?cmd=unbundle&heads=force",
        &[ADMIN, TEXT, FOREIGN],
        "HG20",
    );
    assert_eq!(reply.status, 400, "{}", reply.body);
}

#[test]
fn cookies_are_for_this_site_and_under_tls_for_tls() {
    let (_server, cookie) = served("");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax"), "{cookie}");
    assert!(!cookie.contains("Secure"), "{cookie}");
    let (server, cookie) = served(
        "same_site = strict\ncookie_domain = varve.test\n[chttpd]\ntrusted_proxies = 127.0.0.1\n",
    );
    assert!(
        cookie.ends_with(" Domain=varve.test; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let json = ("content-type", "application/json");
    let proxied = ("x-forwarded-proto", "https");
    let body = r#"{"name":"adm","password":"pass"}"#;
    let reply = server.send("POST", "/_session", &[json, proxied], body);
    assert!(reply.header("set-cookie").unwrap().contains("; Secure; "));
}

#[test]
fn only_named_proxies_say_how_a_request_came() {
    let said = [
        ADMIN,
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "db.example"),
    ];
    let location = |server: &Running| {
        let made = server.send("PUT", "/e", &said, "");
        assert_eq!(made.status, 201);
        made.header("location").unwrap().to_owned()
    };
    assert_eq!(location(&Running::start()), "http://varve.test/e");
    let trusting = Running::start_with("[chttpd]\ntrusted_proxies = 127.0.0.0/8\n");
    assert_eq!(location(&trusting), "https://db.example/e");
}

#[test]
fn names_that_point_here_are_not_answered() {
    let server = Running::start();
    let raw = |host: &str| {
        use std::io::{Read, Write};
        let mut socket = std::net::TcpStream::connect(server.address).unwrap();
        let head = format!("GET / HTTP/1.1\r\n{host}connection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        socket.read_to_string(&mut reply).unwrap();
        reply[9..12].to_owned()
    };
    for (host, status) in [
        ("host: varve.test\r\n", "200"),
        ("host: localhost:5984\r\n", "200"),
        ("host: [::1]:5984\r\n", "200"),
        ("host: evil.test\r\n", "403"),
        ("host: varve.test\r\nhost: varve.test\r\n", "400"),
        ("", "400"),
    ] {
        assert_eq!(raw(host), status, "{host:?}");
    }
}

#[test]
fn strangers_do_not_learn_which_databases_there_are() {
    let (server, _) = served("");
    for path in ["/d", "/missing"] {
        let reply = server.send("DELETE", path, &[], "");
        assert_eq!(reply.status, 401, "{path}: {}", reply.body);
    }
    assert_eq!(server.send("DELETE", "/missing", &[ADMIN], "").status, 404);
}
