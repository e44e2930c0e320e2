//! Storage work of a request, on threads that may wait for the disk.

use crate::http::Failure;
use crate::runtime::Pool;

/// Runs storage work on a thread of a pool.
///
/// # Errors
/// That of `work`; 500 if it panicked.
pub(crate) async fn blocking<T, W>(pool: &Pool, work: W) -> Result<T, Failure>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Failure> + Send + 'static,
{
    let done = pool.call(work).await;
    done.unwrap_or_else(|_| Err(Failure::internal("the handler of this request failed")))
}
