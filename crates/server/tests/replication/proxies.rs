//! `proxy`, `source_proxy` and `target_proxy`: HTTP and SOCKS.

use super::{ask, get, leaves, put_docs, replicate, url};
use crate::client::Running;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_testkit::http::{Fault, Proxy};

/// A name that no resolver knows, and that both servers answer to.
const HOST: &str = "varve.test";

fn pair() -> (Running, Running) {
    let (from, to) = (Running::start(), Running::start());
    assert_eq!(ask(&from, "PUT", "/a", &Value::Null).0, 201);
    put_docs(&from, "a", &json!([{"_id": "one"}, {"_id": "two"}]));
    (from, to)
}

fn forwarding(to: &Running) -> (Proxy, String) {
    let proxy = Proxy::start(to.address, "adm:pass", |_, _| Fault::None);
    let at = proxy.url("").replace("adm:pass@", "");
    (proxy, at)
}

#[test]
fn each_side_is_reached_through_its_own_proxy() {
    let (from, to) = pair();
    let here = Running::start();
    let ((source, source_at), (target, target_at)) = (forwarding(&from), forwarding(&to));
    let database = |name: &str| format!("http://adm:pass@{HOST}/{name}");
    let more = json!({"create_target": true, "source_proxy": source_at, "target_proxy": target_at});
    let (status, answer) = replicate(&here, &database("a"), &database("b"), &more);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(leaves(&from, "a"), leaves(&to, "b"));
    assert!(source.count(&format!("GET http://{HOST}/a/_changes")) > 0);
    assert!(target.count(&format!("POST http://{HOST}/b/_bulk_docs")) > 0);
    assert_eq!(source.count(&format!("http://{HOST}/b")), 0);

    // One for both, as a document of `_replicator`.
    let job = json!({"source": database("a"), "target": database("c"), "create_target": true, "proxy": source_at});
    assert_eq!(ask(&here, "PUT", "/_replicator", &Value::Null).0, 201);
    assert_eq!(ask(&here, "PUT", "/_replicator/job", &job).0, 201);
    super::wait_for("completed", || {
        get(&here, "/_replicator/job")["_replication_state"] == "completed"
    });
    assert_eq!(leaves(&from, "a"), leaves(&from, "c"));
}

/// A SOCKS5 server without a login. Returns its URL and how many connections it has made.
fn socks() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("socks5://{}", listener.local_addr().unwrap());
    let count = Arc::<AtomicUsize>::default();
    let made = Arc::clone(&count);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let made = Arc::clone(&made);
            std::thread::spawn(move || tunnel(client, &made));
        }
    });
    (at, count)
}

fn tunnel(mut client: TcpStream, made: &AtomicUsize) -> std::io::Result<()> {
    let mut methods = [0; 2];
    client.read_exact(&mut methods)?;
    client.read_exact(&mut vec![0; usize::from(methods[1])])?;
    client.write_all(&[5, 0])?;
    // Version, CONNECT, reserved, IPv4, address, port.
    let mut request = [0; 10];
    client.read_exact(&mut request)?;
    assert_eq!(&request[..4], [5, 1, 0, 1]);
    let address: [u8; 4] = request[4..8].try_into().unwrap();
    let port = u16::from_be_bytes([request[8], request[9]]);
    let server = TcpStream::connect(SocketAddr::from((address, port)))?;
    made.fetch_add(1, Ordering::SeqCst);
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    let (from, to) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || pass(from, to));
    pass(client, server)
}

fn pass(mut from: TcpStream, mut to: TcpStream) -> std::io::Result<()> {
    std::io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Both)
}

#[test]
fn a_socks_proxy_makes_the_connections() {
    let (from, to) = pair();
    let (at, made) = socks();
    let more = json!({"create_target": true, "source_proxy": at});
    let (status, answer) = replicate(&to, &url(&from, "a"), &url(&to, "b"), &more);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(leaves(&from, "a"), leaves(&to, "b"));
    assert!(made.load(Ordering::SeqCst) > 0);
}

#[test]
fn proxies_that_cannot_be_used_are_refused_by_name() {
    let server = Running::start_with("[replicator]\nvalid_proxy_protocols = socks5\n");
    for (more, reason) in [
        (
            json!({"source_proxy": "http://127.0.0.1:1"}),
            "proxy has an invalid url",
        ),
        (
            json!({"target_proxy": 7}),
            "parameter `target_proxy` must be a URL",
        ),
        (
            json!({"proxy": "socks5://h:1", "target_proxy": "socks5://h:1"}),
            "`proxy` is mutually exclusive with `target_proxy`",
        ),
    ] {
        let (status, answer) = replicate(&server, &url(&server, "a"), &url(&server, "b"), &more);
        assert_eq!((status, &answer["reason"]), (400, &json!(reason)), "{more}");
    }
}
