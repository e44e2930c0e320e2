//! HTTP itself: connections, HEAD, methods, headers that all answers have.

use crate::client::{Connection, Running};

#[test]
fn one_connection_serves_many_requests() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    for _ in 0..3 {
        let reply = connection.send("GET", "/_up", &[], "");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.body, "{\"status\":\"ok\",\"seeds\":{}}\n");
        assert_eq!(reply.header("cache-control"), Some("must-revalidate"));
        assert_eq!(reply.header("x-couch-request-id").unwrap().len(), 10);
        assert!(reply.header("server").unwrap().starts_with("Varve/"));
    }
    let head = connection.send("HEAD", "/_up", &[], "");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("27"))
    );
    assert_eq!(connection.send("GET", "/_up", &[], "").status, 200);
}

#[test]
fn bad_requests_are_told_what_is_wrong() {
    let server = Running::start();
    let nothing = server.get("/nothing/here");
    assert_eq!(nothing.status, 404);
    assert!(nothing.body.contains("\"not_found\""), "{}", nothing.body);
    let claim = [("content-length", "9999999999")];
    let large = server.send("POST", "/_up", &claim, "");
    assert_eq!(
        large.status, 413,
        "strangers cannot send much: {}",
        large.body
    );
    assert!(std::fs::read_dir(server.folder.path()).is_ok());
}
