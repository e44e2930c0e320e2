//! A file behind a URL.

use super::address;
use super::{HttpOptions, HttpPeer};
use crate::ExchangeError;
use crate::apply::BundleDownloader;
use std::io::Read;
use std::time::Duration;
use ureq::Body;
use ureq::http::Response;

impl BundleDownloader for HttpOptions {
    fn download(
        &self,
        url: &str,
        timeout: Option<Duration>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        let peer = HttpPeer::new(url, self)?;
        let answer = peer.get(timeout);
        peer.file(answer.map_err(|error| peer.unreachable(error))?)
    }
}

impl HttpPeer {
    /// The file that the URL names, as it comes. It may lie where no repository is.
    ///
    /// # Errors
    /// [`ExchangeError::LoginNeeded`], [`ExchangeError::WrongPassword`],
    /// [`ExchangeError::HttpStatus`], or [`ExchangeError::FetchFailed`].
    pub fn fetch(&self) -> Result<Box<dyn Read + Send>, ExchangeError> {
        let answer = self.get(None).map_err(|error| ExchangeError::FetchFailed {
            reason: words_of(&error),
        })?;
        self.file(answer)
    }

    fn get(&self, timeout: Option<Duration>) -> Result<Response<Body>, ureq::Error> {
        let url = format!("{}{}", self.address.bare(), self.address.query());
        let mut request = self.agent.get(&url);
        if let Some(login) = self.login.as_ref().and_then(super::Login::header) {
            request = request.header("Authorization", &login);
        }
        let request = request.config().timeout_global(timeout).build();
        request.call()
    }

    fn file(&self, answer: Response<Body>) -> Result<Box<dyn Read + Send>, ExchangeError> {
        if answer.status().as_u16() == 401 {
            return Err(self.unauthorized(&answer));
        }
        if !answer.status().is_success() {
            return Err(ExchangeError::HttpStatus {
                status: answer.status().as_u16(),
                reason: answer.status().canonical_reason().unwrap_or("").to_owned(),
            });
        }
        let body = answer.into_body().into_with_config().limit(u64::MAX);
        Ok(Box::new(body.reader()))
    }
}

/// The system's words with their number, as Python puts them.
fn words_of(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => match error.raw_os_error() {
            Some(number) => format!("[Errno {number}] {}", address::words_of(error)),
            None => address::words_of(error),
        },
        ureq::Error::HostNotFound => "[Errno -2] Name or service not known".to_owned(),
        other => other.to_string(),
    }
}
