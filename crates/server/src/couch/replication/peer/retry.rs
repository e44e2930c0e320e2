//! Requests that are sent again: after failures that may pass, and to where a redirect points.

use super::super::error::ReplicationError;
use super::{Peer, PeerAnswer, PeerRequest, check_host};
use crate::runtime::clock::now;
use hyper::header::{LOCATION, RETRY_AFTER};
use hyper::{Method, StatusCode};
use reqwest::Url;
use std::error::Error;
use std::time::Duration;
use varve_replicate::replicator::backoff;

/// Redirects of one request that are followed.
pub(super) const MOST_REDIRECTS: usize = 10;

/// How often in a row a request may meet a session that has expired.
pub(super) const MOST_EXPIRED: u32 = 5;

/// Sends a request until there is an answer that counts. `failed` attempts are those so far, of which there may be as many
/// as the settings say.
pub(super) async fn send(
    peer: &Peer,
    request: &PeerRequest,
    failed: &mut u32,
) -> Result<PeerAnswer, ReplicationError> {
    let mut expired = 0;
    loop {
        let asked = match follow(peer, request).await {
            Ok(answer) if may_pass(answer.status()) && *failed < peer.retries => {
                retry_after(&answer)
            }
            Ok(answer) => return answer.checked().await,
            // Each time there is another session, or the password in its place.
            Err(ReplicationError::Expired(_)) if expired < MOST_EXPIRED => {
                expired += 1;
                continue;
            }
            Err(ReplicationError::NoAnswer { .. }) if *failed < peer.retries => None,
            Err(error) => return Err(error),
        };
        pause(*failed, asked).await;
        *failed += 1;
    }
}

/// Waits before an attempt; some of the waits are shorter, so that clients that failed together do not come together.
pub(super) async fn pause(attempt: u32, asked: Option<Duration>) {
    let wait = backoff::before_retry(attempt, asked);
    let mut random = [0; 1];
    let _ = getrandom::fill(&mut random);
    let jitter = match asked {
        None => wait.mul_f64(f64::from(random[0]) / 1024.0),
        Some(_) => Duration::ZERO,
    };
    tokio::time::sleep(wait - jitter).await;
}

/// Whether the same request may be answered otherwise later.
pub(super) fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

/// The time that `Retry-After` asks for.
pub(super) fn retry_after(answer: &PeerAnswer) -> Option<Duration> {
    let value = answer.header(&RETRY_AFTER)?.to_str().ok()?;
    wait_of(value.trim(), now())
}

/// The wait until a time that is given in seconds from now on, or as a date.
fn wait_of(value: &str, now: u64) -> Option<Duration> {
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    let seconds = u64::try_from(date.timestamp().as_second()).unwrap_or(0);
    Some(Duration::from_secs(seconds.saturating_sub(now)))
}

/// Sends a request once, and to where a redirect points.
async fn follow(peer: &Peer, request: &PeerRequest) -> Result<PeerAnswer, ReplicationError> {
    if let Some(local) = &peer.local {
        match local.answer(peer, request).await {
            Ok(response) => return Ok(PeerAnswer::new(request, response, peer.timeout)),
            // The request goes to the server's own listener, which forwards it.
            Err(ReplicationError::Moved(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut url = peer.url_of(request);
    let mut method = request.method.clone();
    for _ in 0..=MOST_REDIRECTS {
        let credentials = peer.credentials().await?;
        let mut builder = peer.builder(request, (&method, &url, credentials.as_ref()));
        if let (Some(body), true) = (&request.body, method == request.method) {
            builder = builder.body(body.clone());
        }
        let sent = tokio::time::timeout(peer.timeout, builder.send()).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(no_answer(&method, &url, &error)),
            Err(_) => {
                return Err(ReplicationError::NoAnswer {
                    method: method.to_string(),
                    url: url.to_string(),
                    reason: "no answer in time".to_owned(),
                });
            }
        };
        if peer.has_expired(credentials.as_ref(), &response).await {
            return Err(ReplicationError::Expired(peer.name().to_owned()));
        }
        let Some(next) = redirect(&response) else {
            return Ok(PeerAnswer::new(request, response, peer.timeout));
        };
        check_host(&next, &peer.settings)?;
        if response.status() == StatusCode::SEE_OTHER {
            method = Method::GET;
        }
        url = next;
    }
    Err(ReplicationError::BadAnswer {
        url: url.to_string(),
        reason: "too many redirects".to_owned(),
    })
}

pub(super) fn redirect(response: &reqwest::Response) -> Option<Url> {
    let status = response.status().as_u16();
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    let next = response.url().join(to).ok()?;
    matches!(next.scheme(), "http" | "https").then_some(next)
}

pub(super) fn no_answer(method: &Method, url: &Url, error: &reqwest::Error) -> ReplicationError {
    ReplicationError::NoAnswer {
        method: method.to_string(),
        url: url.to_string(),
        reason: reason(error),
    }
}

/// The innermost cause, which says what went wrong.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_has_seconds_or_a_date() {
        let wait = |value: &str| wait_of(value, 1_700_000_000).map(|wait| wait.as_secs());
        assert_eq!(wait("7"), Some(7));
        assert_eq!(wait("Tue, 14 Nov 2023 22:13:25 GMT"), Some(5));
        assert_eq!(wait("Tue, 14 Nov 2023 22:13:15 GMT"), Some(0));
        assert_eq!((wait("soon"), wait("-1"), wait("")), (None, None, None));
    }
}
