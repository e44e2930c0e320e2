//! The signed header by which a server tells another one who sent the request that it forwards.
//!
//! ```text
//! X-Varve-Forwarded: PAYLOAD "." SIGNATURE
//!   PAYLOAD    base64url of a JSON object: at, forwards, client, secure, by, user, roles
//!   SIGNATURE  base64url of the HMAC-SHA256 of METHOD "\n" TARGET "\n" PAYLOAD; key: derived from the store's secret
//! ```

use crate::auth::{Login, sign};
use crate::runtime::clock::now;
use crate::{Failure, Request, UserContext};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::net::IpAddr;
use subtle::ConstantTimeEq;
use varve_config::{HashAlgorithm, LoginHandler};
use varve_json::{Object, Value};

/// Name of the header.
pub(super) const FORWARDED: &str = "x-varve-forwarded";
/// Seconds for which a signature is good, also for a clock that is behind.
const VALIDITY: u64 = 60;
/// Keeps this key apart from that of cookies and of tokens of proxies, which have the same secret.
const PURPOSE: &[u8] = b"varve: forwarded requests, version 1";

/// Signs and checks headers with the secret of a store.
#[derive(Debug)]
pub(super) struct Signer {
    key: Vec<u8>,
}

/// Sender of a forwarded request.
#[derive(Debug)]
pub(super) struct ForwardedSender {
    pub(super) login: Login,
    /// Servers that have forwarded the request.
    pub(super) forwards: u8,
    pub(super) client: Option<IpAddr>,
    /// True if the client's own connection was encrypted.
    pub(super) is_secure: bool,
}

impl Signer {
    pub(super) fn new(secret: &str) -> Signer {
        Signer {
            key: sign(HashAlgorithm::Sha256, secret.as_bytes(), PURPOSE),
        }
    }

    /// The header's value for a request of this login.
    pub(super) fn header(&self, request: &Request, login: &Login) -> String {
        self.header_at(request, login, now())
    }

    fn header_at(&self, request: &Request, login: &Login, at: u64) -> String {
        let text = |value: Option<String>| value.map_or(Value::Null, Value::from);
        let mut sender = Object::new();
        sender.insert("at", at);
        sender.insert("forwards", u64::from(request.forwards.saturating_add(1)));
        sender.insert("client", text(request.client().map(|ip| ip.to_string())));
        sender.insert("secure", request.is_secure());
        sender.insert("by", text(login.by.map(str::to_owned)));
        sender.insert("user", text(login.user.name.clone()));
        let roles = login
            .user
            .roles
            .iter()
            .map(|role| Value::from(role.as_str()));
        sender.insert("roles", roles.collect::<Value>());
        let mut plain = Vec::new();
        varve_json::write_object(&sender, &mut plain);
        let payload = URL_SAFE_NO_PAD.encode(plain);
        let signature = URL_SAFE_NO_PAD.encode(self.signature(request, &payload));
        format!("{payload}.{signature}")
    }

    fn signature(&self, request: &Request, payload: &str) -> Vec<u8> {
        let (method, target) = (&request.method, target(request));
        let text = format!("{method}\n{target}\n{payload}");
        sign(HashAlgorithm::Sha256, &self.key, text.as_bytes())
    }

    /// The sender that the header of a request names; `None` without the header.
    ///
    /// # Errors
    /// 403 for a header that no server of the store has signed for this request within the last minute.
    pub(super) fn sender(&self, request: &Request) -> Result<Option<ForwardedSender>, Failure> {
        self.sender_at(request, now())
    }

    fn sender_at(&self, request: &Request, now: u64) -> Result<Option<ForwardedSender>, Failure> {
        let mut values = request.headers.get_all(FORWARDED).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let refused = |reason: &str| Failure::forbidden(format!("X-Varve-Forwarded: {reason}"));
        let parts = value.to_str().ok().and_then(|text| text.split_once('.'));
        let (Some((payload, signature)), None) = (parts, values.next()) else {
            return Err(refused("it is malformed"));
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
        let is_signed = self.signature(request, payload).ct_eq(&signature);
        if !bool::from(is_signed) {
            return Err(refused(
                "no server of this store has signed it for this request",
            ));
        }
        let sender = URL_SAFE_NO_PAD.decode(payload).ok().and_then(|plain| {
            let sender = varve_json::parse_object(&plain).ok()?;
            Some((sender.get("at")?.as_u64()?, decode(&sender)?))
        });
        let (at, sender) = sender.ok_or_else(|| refused("it names no sender"))?;
        match now.abs_diff(at) <= VALIDITY {
            true => Ok(Some(sender)),
            false => Err(refused(
                "it is too old, or the clocks of the servers are more than a minute apart",
            )),
        }
    }
}

fn decode(sender: &Object) -> Option<ForwardedSender> {
    let text = |name: &str| sender.get(name).and_then(Value::as_str);
    let handlers = [
        LoginHandler::Cookie,
        LoginHandler::Default,
        LoginHandler::Proxy,
        LoginHandler::Jwt,
    ];
    let names = handlers.into_iter().map(LoginHandler::name);
    let by = text("by").and_then(|by| names.into_iter().find(|name| *name == by));
    let roles = sender.get("roles")?.as_array()?.iter();
    let roles = roles.map(|role| role.as_str().map(str::to_owned));
    Some(ForwardedSender {
        login: Login {
            user: UserContext {
                name: text("user").map(str::to_owned),
                roles: roles.collect::<Option<_>>()?,
            },
            by,
            update_to: None,
        },
        forwards: sender.get("forwards")?.as_u64()?.try_into().ok()?,
        client: text("client").and_then(|client| client.parse().ok()),
        is_secure: sender.get("secure")?.as_bool()?,
    })
}

/// Path and query of a request, below the path that the server is mounted at.
pub(super) fn target(request: &Request) -> String {
    match request.raw_query.is_empty() {
        true => request.raw_path.clone(),
        false => format!("{}?{}", request.raw_path, request.raw_query),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::{HeaderMap, Method};

    const NOW: u64 = 1_764_000_000;

    fn request(method: Method, target: &str, header: Option<&str>) -> Request {
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.append(FORWARDED, value.parse().unwrap());
        }
        let mut made = Request::new(method, &target.parse().unwrap(), headers, Vec::new()).unwrap();
        made.peer = Some("192.0.2.7".parse().unwrap());
        made.is_encrypted = true;
        made
    }

    fn login() -> Login {
        Login {
            user: UserContext {
                name: Some("ann \u{e9}".to_owned()),
                roles: vec!["crew".to_owned()],
            },
            by: Some("cookie"),
            update_to: Some("a cookie".to_owned()),
        }
    }

    #[test]
    fn the_receiver_knows_the_sender() {
        let signer = Signer::new("secret");
        let header = signer.header_at(&request(Method::PUT, "/d/x?a=1", None), &login(), NOW);
        let received = request(Method::PUT, "/d/x?a=1", Some(&header));
        let sender = signer.sender_at(&received, NOW + 59).unwrap().unwrap();
        assert_eq!(
            (&sender.login.user, sender.login.by),
            (&login().user, Some("cookie"))
        );
        assert_eq!(sender.login.update_to, None);
        assert_eq!((sender.client, sender.is_secure), (received.peer, true));
        assert_eq!(sender.forwards, 1);
        let plain = request(Method::PUT, "/d/x?a=1", None);
        assert!(signer.sender_at(&plain, NOW).unwrap().is_none());
    }

    #[test]
    fn headers_that_are_not_signed_for_this_request_and_this_minute_are_refused() {
        let signer = Signer::new("secret");
        let header = signer.header_at(&request(Method::PUT, "/d/x", None), &login(), NOW);
        let (payload, signature) = header.split_once('.').unwrap();
        let status = |method, target: &str, header: &str, at| {
            let received = request(method, target, Some(header));
            signer
                .sender_at(&received, at)
                .unwrap_err()
                .status()
                .as_u16()
        };
        for at in [NOW + 61, NOW - 61] {
            assert_eq!(status(Method::PUT, "/d/x", &header, at), 403);
        }
        assert_eq!(status(Method::DELETE, "/d/x", &header, NOW), 403);
        assert_eq!(status(Method::PUT, "/d/y", &header, NOW), 403);
        let other = URL_SAFE_NO_PAD
            .encode(r#"{"at":1764000000,"secure":true,"user":"b","roles":["_admin"]}"#);
        for forged in [
            format!("{other}.{signature}"),
            format!("{payload}."),
            payload.to_owned(),
            String::new(),
        ] {
            assert_eq!(status(Method::PUT, "/d/x", &forged, NOW), 403, "{forged}");
        }
        let foreign = Signer::new("other");
        let received = request(Method::PUT, "/d/x", Some(&header));
        assert!(foreign.sender_at(&received, NOW).is_err());
        let mut twice = request(Method::PUT, "/d/x", Some(&header));
        twice.headers.append(FORWARDED, header.parse().unwrap());
        assert!(signer.sender_at(&twice, NOW).is_err());
    }
}
