//! Requests that meet a hand-over, without other servers.

use super::*;
use crate::http::Upload;
use crate::runtime::LogOutput;
use std::path::Path;
use tokio::task::yield_now;
use varve_shared::{Member, Node};

fn members(ids: &[&str]) -> Vec<Member> {
    let member = |id: &&str| {
        let (id, address) = ((*id).to_owned(), format!("{id}:1"));
        let node = Node { id, address };
        let has_joined = true;
        Member { node, has_joined }
    };
    ids.iter().map(member).collect()
}

/// That of the server `a`.
fn forwarder() -> Forwarder {
    let log = Log::open(
        &varve_config::Log::default(),
        Path::new(""),
        LogOutput::Stderr,
    );
    let view = Arc::new(ClusterView::new("a".to_owned()));
    Forwarder::new(view, ("secret", Duration::ZERO), None, log.unwrap())
}

fn request(method: Method, path: &str, headers: &[(&'static str, &str)]) -> Request {
    let headers = headers.iter().map(|(name, value)| {
        let name = hyper::header::HeaderName::from_static(name);
        (name, HeaderValue::from_str(value).unwrap())
    });
    let uri = Uri::try_from(path).unwrap();
    Request::new(method, &uri, headers.collect(), b"{}".to_vec()).unwrap()
}

#[tokio::test]
async fn a_server_waits_until_it_sees_that_it_owns_the_database_of_a_forwarded_request() {
    let forwarder = forwarder();
    let put = request(Method::PUT, "/db", &[]);
    forwarder.view.update("b", members(&["b"]));
    assert!(!forwarder.agrees(&put).await, "it does not own it");
    let sees = async {
        yield_now().await;
        forwarder.view.update("a", members(&["a"]));
    };
    let (agrees, ()) = tokio::join!(forwarder.agrees(&put), sees);
    assert!(agrees);
}

#[tokio::test]
async fn a_request_waits_for_the_next_owner_only_if_there_is_another_server() {
    let forwarder = forwarder();
    forwarder.view.update("a", members(&["a"]));
    assert!(!forwarder.hand_over().wait().await);
    forwarder.view.update("a", members(&["a", "b"]));
    let mut hand_over = forwarder.hand_over();
    for _ in 0..3 {
        assert!(hand_over.wait().await);
    }
}

#[tokio::test]
async fn a_body_that_was_decoded_is_forwarded_without_its_encoding() {
    let headers = [("content-encoding", "gzip"), ("content-length", "999")];
    let post = request(Method::POST, "/db/_bulk_docs", &headers);
    let (message, _) = forwarder().message(post, &Login::default()).unwrap();
    for name in ["content-encoding", "content-length"] {
        assert_eq!(message.headers().get(name), None, "{name}");
    }
    let body = message.into_body().collect().await.unwrap();
    assert_eq!(body.to_bytes(), "{}");
}

#[tokio::test]
async fn a_spooled_body_is_forwarded_whole_after_it_was_read_here() {
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
    let headers = [("content-encoding", "gzip")];
    let mut put = request(Method::PUT, "/db/d/f", &headers);
    put.upload = Some(Upload::whole(bytes.clone()));
    let upload = put.upload.as_ref().unwrap();
    let mut read = Vec::new();
    std::io::Read::read_to_end(&mut upload.reader(), &mut read).unwrap();
    assert!(read == bytes && put.is_repeatable());
    let (message, relaying) = forwarder().message(put, &Login::default()).unwrap();
    let encoding = message.headers().get("content-encoding");
    assert_eq!(encoding.unwrap(), "gzip", "it is as the client has sent it");
    let body = tokio::select! {
        body = message.into_body().collect() => body.unwrap(),
        failure = relaying => panic!("{failure}"),
    };
    assert!(body.to_bytes() == bytes);
}
