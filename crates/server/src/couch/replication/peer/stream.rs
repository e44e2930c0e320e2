//! Requests whose body is another answer, which is not kept: the caller asks for it anew before each further attempt.

use super::super::error::ReplicationError;
use super::retry::{
    MOST_EXPIRED, MOST_REDIRECTS, may_pass, no_answer, pause, redirect, retry_after,
};
use super::{Peer, PeerAnswer, PeerRequest, check_host};
use hyper::StatusCode;
use reqwest::Url;

/// Attempts of one such request so far.
#[derive(Debug, Default)]
pub(in crate::couch::replication) struct StreamAttempts {
    /// Those that failed for a reason that may pass.
    failed: u32,
    /// Those whose session had expired.
    expired: u32,
    redirects: usize,
    /// URL of the next attempt, if a redirect has named one.
    moved_to: Option<Url>,
}

impl Peer {
    /// Sends a request with the body of another answer once. `None` asks for another attempt, with that answer again; the
    /// wait before it is over.
    ///
    /// # Errors
    /// As [`Peer::send`], when no further attempt is left.
    pub async fn send_stream(
        &self,
        request: &PeerRequest,
        body: PeerAnswer,
        attempts: &mut StreamAttempts,
    ) -> Result<Option<PeerAnswer>, ReplicationError> {
        let permit = self.permits.acquire().await;
        let sent = self.send_once(request, body, attempts).await;
        drop(permit);
        let asked = match sent {
            Ok(answer) if !may_pass(answer.status()) || attempts.failed >= self.retries => {
                return answer.checked().await.map(Some);
            }
            Ok(answer) => retry_after(&answer),
            Err(Unsent::Expired) if attempts.expired < MOST_EXPIRED => {
                attempts.expired += 1;
                return Ok(None);
            }
            Err(Unsent::Expired) => {
                return Err(ReplicationError::Expired(self.name().to_owned()));
            }
            Err(Unsent::Moved(url)) => {
                attempts.redirects += 1;
                attempts.moved_to = Some(url);
                return Ok(None);
            }
            Err(Unsent::Failed(ReplicationError::NoAnswer { .. }))
                if attempts.failed < self.retries =>
            {
                None
            }
            Err(Unsent::Failed(error)) => return Err(error),
        };
        pause(attempts.failed, asked).await;
        attempts.failed += 1;
        Ok(None)
    }

    async fn send_once(
        &self,
        request: &PeerRequest,
        body: PeerAnswer,
        attempts: &StreamAttempts,
    ) -> Result<PeerAnswer, Unsent> {
        let url = match &attempts.moved_to {
            Some(url) => url.clone(),
            None => self.url_of(request),
        };
        let credentials = self.credentials().await?;
        let head = (&request.method, &url, credentials.as_ref());
        let mut builder = self.builder(request, head);
        if let Some(length) = body.response.content_length() {
            builder = builder.header(hyper::header::CONTENT_LENGTH, length);
        }
        let body = reqwest::Body::wrap_stream(body.response.bytes_stream());
        let sent = builder.body(body).send().await;
        let response = sent.map_err(|error| no_answer(&request.method, &url, &error))?;
        if self.has_expired(credentials.as_ref(), &response).await {
            return Err(Unsent::Expired);
        }
        // The body would be lost by a GET.
        let keeps_method = response.status() != StatusCode::SEE_OTHER;
        match redirect(&response).filter(|_| keeps_method) {
            Some(_) if attempts.redirects >= MOST_REDIRECTS => {
                let url = url.to_string();
                let reason = "too many redirects".to_owned();
                Err(ReplicationError::BadAnswer { url, reason }.into())
            }
            Some(next) => {
                check_host(&next, &self.settings)?;
                Err(Unsent::Moved(next))
            }
            None => Ok(PeerAnswer::new(request, response, self.timeout)),
        }
    }
}

/// Why an attempt has no answer that counts.
enum Unsent {
    Expired,
    Moved(Url),
    Failed(ReplicationError),
}

impl From<ReplicationError> for Unsent {
    fn from(error: ReplicationError) -> Unsent {
        Unsent::Failed(error)
    }
}
