//! Access to bundles that lie elsewhere.

use crate::ExchangeError;
use std::io::Read;
use std::time::Duration;

/// Reaches the URLs that a bundle names.
pub trait BundleDownloader: Sync {
    /// The bundle at an `http` or `https` URL, as it comes; all of it must have come within `timeout`.
    ///
    /// # Errors
    /// [`ExchangeError::Unreachable`], [`ExchangeError::HttpStatus`], [`ExchangeError::LoginNeeded`] and
    /// others of a connection.
    fn download(
        &self,
        url: &str,
        timeout: Option<Duration>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError>;
}
