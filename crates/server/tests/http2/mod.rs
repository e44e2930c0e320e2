//! HTTP/2 with prior knowledge: many requests over one connection, and what bounds them.

mod client;
mod floods;
mod limits;

use crate::client::{ADMIN, Connection, Running};
use client::{Http2, read_until, run};

const FEEDS: usize = 50;

#[test]
fn fifty_feeds_live_beside_reads_and_writes_of_one_connection() {
    let server = Running::start();
    run(async {
        let mut client = Http2::open(&server).await;
        assert_eq!(client.put("/db", b"").await, 201);
        let mut feeds = Vec::new();
        for number in 0..FEEDS {
            let path = match number % 3 {
                0 => "/db/_changes?feed=continuous&since=now&timeout=100000",
                1 => "/db/_changes?feed=eventsource&since=now&timeout=100000",
                _ => "/db/_changes?feed=longpoll&since=now&timeout=100000",
            };
            let (response, _) = client.begin(("GET", path), &[], true).await.unwrap();
            feeds.push((number, response));
        }
        let mut readers = Vec::new();
        for (number, response) in feeds {
            let response = response.await.unwrap();
            assert_eq!(response.status(), 200);
            let mut body = response.into_body();
            let last = match number % 3 {
                2 => "last_seq",
                _ => "\"doc19\"",
            };
            readers.push(tokio::spawn(
                async move { read_until(&mut body, last).await },
            ));
        }
        for document in 0..20 {
            let path = format!("/db/doc{document}");
            assert_eq!(client.put(&path, b"{}").await, 201);
            assert_eq!(client.get(&path).await.status, 200);
        }
        for reader in readers {
            assert!(reader.await.unwrap().contains("\"doc0\""));
        }
        assert_eq!(client.get("/db").await.status, 200);
    });
}

#[test]
fn long_bodies_come_whole_both_ways_beside_each_other() {
    let server = Running::start();
    let sent: Vec<u8> = (0..3 << 20)
        .map(|n: u32| (n.wrapping_mul(n) >> 7) as u8)
        .collect();
    run(async {
        let mut client = Http2::open(&server).await;
        assert_eq!(client.put("/db", b"").await, 201);
        let binary = [("content-type", "application/octet-stream")];
        for number in 0..3 {
            let path = format!("/db/doc{number}/file");
            let put = client.send(("PUT", &path), &binary, &sent).await.unwrap();
            assert_eq!(put.status, 201, "{}", put.text());
        }
        let mut coming = Vec::new();
        for number in 0..3 {
            let path = format!("/db/doc{number}/file");
            let (response, _) = client.begin(("GET", &path), &[], true).await.unwrap();
            coming.push(response);
        }
        for response in coming {
            let (head, mut body) = response.await.unwrap().into_parts();
            assert_eq!(head.headers["content-length"], sent.len().to_string());
            assert!(client::read_all(&mut body).await.unwrap() == sent);
        }
        let head = client
            .send(("HEAD", "/db/doc0/file"), &[], b"")
            .await
            .unwrap();
        assert_eq!(head.headers["content-length"], sent.len().to_string());
        assert!(head.body.is_empty());
    });
}

#[test]
fn requests_have_the_host_and_the_cookie_that_they_would_have_over_http_1() {
    let server = Running::start();
    let login = server.send(
        "POST",
        "/_session",
        &[("content-type", "application/x-www-form-urlencoded")],
        "name=adm&password=pass",
    );
    let cookie = login.header("set-cookie").unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap();
    run(async {
        let mut client = Http2::open(&server).await;
        // Clients may send each cookie as a header of its own.
        let crumbs = [
            ("authorization", ""),
            ("cookie", "theme=dark"),
            ("cookie", cookie),
        ];
        let session = client
            .send(("GET", "/_session"), &crumbs, b"")
            .await
            .unwrap();
        assert!(
            session.text().contains("\"authenticated\":\"cookie\""),
            "{}",
            session.text()
        );
        assert_eq!(client.put("/db", b"").await, 201);
        let json = [("content-type", "application/json")];
        let made = client
            .send(("POST", "/db"), &json, b"{\"_id\":\"a\"}")
            .await
            .unwrap();
        let expected = format!("http://{}/db/a", server.address);
        assert_eq!(made.headers["location"], expected.as_str());
        assert!(made.headers.contains_key("x-couch-request-id"));
    });
}

#[test]
fn other_clients_of_the_same_port_still_speak_http_1() {
    let server = Running::start();
    run(async {
        let mut client = Http2::open(&server).await;
        assert_eq!(client.get("/_up").await.status, 200);
        let mut other = Connection::open(server.address);
        assert_eq!(other.send("PUT", "/db", &[ADMIN], "").status, 201);
        assert_eq!(client.get("/db").await.status, 200);
    });
}

#[test]
fn a_server_that_stops_lets_streams_end_and_says_which_it_has_answered() {
    let mut server = Running::start();
    run(async {
        let mut client = Http2::open(&server).await;
        assert_eq!(client.put("/db", b"").await, 201);
        let feed = "/db/_changes?feed=continuous&timeout=100000";
        let (response, _) = client.begin(("GET", feed), &[], true).await.unwrap();
        let mut body = response.await.unwrap().into_body();
        let json = [("content-type", "application/json")];
        let slow = client.begin(("PUT", "/db/doc"), &json, false).await;
        let (response, mut sending) = slow.unwrap();
        // The server reads the body of a request that it has seen: then it is running.
        sending.send_data("{\"a\":".into(), false).unwrap();
        assert_eq!(client.get("/_up").await.status, 200);
        let stopping = std::thread::spawn(move || server.stop());
        client::read_all(&mut body).await.unwrap();
        sending.send_data("1}".into(), true).unwrap();
        assert_eq!(response.await.unwrap().status(), 201);
        client.connection.await.unwrap().unwrap();
        stopping.join().unwrap();
    });
}
