use super::*;
use crate::auth::password::{Hashing, Stored};
use crate::runtime::LogOutput;
use hyper::{Method, StatusCode};
use std::path::Path;
use varve_config::Ini;

#[derive(Debug)]
struct NoUsers;

impl FindAccount for NoUsers {
    fn find<'a>(&'a self, _name: &'a str, _: Freshness) -> FoundAccount<'a> {
        Box::pin(async { Ok(None) })
    }

    fn upgrade(&self, _: &str, _: &str, _: &Stored, _: &Hashing) -> Upgrade {
        Box::new(|| ())
    }
}

fn auth() -> Auth {
    auth_with("")
}

fn auth_with(more: &str) -> Auth {
    let hashed = password::hash("pass:word", 2).unwrap();
    let text =
        format!("[admins]\nadm = {hashed}\n[chttpd_auth]\nsecret = s\ntimeout = 600\n{more}");
    let ini = Ini::parse(Path::new("t.ini"), &text).unwrap();
    Auth::new(
        &Settings::read(&ini).unwrap(),
        Box::new(NoUsers),
        Pool::for_tests(1),
        Log::open(
            &varve_config::Log::default(),
            Path::new(""),
            LogOutput::Stderr,
        )
        .unwrap(),
    )
    .unwrap()
}

fn request(name: hyper::header::HeaderName, value: &str) -> Request {
    let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
    Request::new(Method::GET, &"/".parse().unwrap(), headers, Vec::new()).unwrap()
}

fn with_basic(plain: &str) -> Request {
    request(AUTHORIZATION, &format!("Basic {}", STANDARD.encode(plain)))
}

#[tokio::test]
async fn basic_login_is_right_wrong_or_absent() {
    let auth = auth();
    for _ in 0..2 {
        let login = auth.login(&with_basic("adm:pass:word")).await.unwrap();
        assert_eq!(login.user, UserContext::admin("adm"));
        assert_eq!(login.by, Some("default"));
    }
    for wrong in ["adm:pass", "eve:pass:word", "adm:"] {
        let refused = auth.login(&with_basic(wrong)).await.unwrap_err();
        assert_eq!(
            (refused.status(), refused.reason.as_str()),
            (StatusCode::UNAUTHORIZED, WRONG)
        );
    }
    let anonymous = auth.login(&request(COOKIE, "other=1")).await.unwrap();
    assert_eq!((anonymous.user.name, anonymous.by), (None, None));
}

#[tokio::test]
async fn a_cookie_logs_in_until_it_is_old_and_is_refreshed_on_the_way() {
    let auth = auth();
    let stored = &auth.current().admins["adm"];
    let aged = |age| {
        cookie::make(
            "adm",
            now() - age,
            (HashAlgorithm::Sha256, "s", stored.salt()),
        )
    };
    let login = async |value: String| {
        let request = request(COOKIE, &format!("other=1; AuthSession={value}"));
        auth.by_cookie(&request).await.unwrap()
    };
    let fresh = login(aged(0)).await.unwrap();
    assert_eq!((fresh.by, fresh.update_to), (Some("cookie"), None));
    assert!(login(aged(300)).await.unwrap().update_to.is_some());
    assert!(login(aged(600)).await.is_none());
    assert!(
        login(cookie::make(
            "adm",
            now(),
            (HashAlgorithm::Sha256, "s", "old salt")
        ))
        .await
        .is_none()
    );
    assert!(
        login(cookie::make("eve", now(), (HashAlgorithm::Sha256, "s", "")))
            .await
            .is_none()
    );
    let malformed = auth
        .by_cookie(&request(COOKIE, "AuthSession=x"))
        .await
        .unwrap_err();
    assert_eq!(malformed.status(), 400);
}

#[tokio::test]
async fn guesses_that_waited_while_others_failed_are_not_answered() {
    let auth = auth_with("[chttpd_auth_lockout]\nmode = enforce\nthreshold = 1\n");
    let client = Some(IpAddr::from([192, 0, 2, 1]));
    let check = |password| auth.check(("adm", Freshness::Current), (password, None), client);
    let (wrong, right, second) = tokio::join!(check("a"), check("pass:word"), check("b"));
    assert_eq!(wrong.unwrap_err().status(), StatusCode::UNAUTHORIZED);
    for refused in [right.map(drop), second.map(drop)] {
        assert_eq!(refused.unwrap_err().status(), StatusCode::FORBIDDEN);
    }
}
