//! Storage work of a request, on threads that may wait for the disk.

use crate::http::Failure;

/// Runs storage work on a blocking thread.
///
/// # Errors
/// That of `work`; 500 if it panicked.
pub(crate) async fn blocking<T, W>(work: W) -> Result<T, Failure>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Failure> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::internal("the handler of this request failed")))
}
