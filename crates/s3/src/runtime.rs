//! The bridge from threads that wait to requests that are async.

use crate::error::S3Error;
use std::future::Future;
use std::sync::mpsc;

/// Requests mostly wait for the network; signing is what they compute.
const THREADS: usize = 2;

/// Threads of its own, so that a caller may be any thread, also one of another runtime.
#[derive(Debug)]
pub(crate) struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    /// # Errors
    /// [`S3Error::Client`] if the system has no threads.
    pub fn new() -> Result<Runtime, S3Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("s3")
            .enable_io()
            .enable_time()
            .build();
        let runtime = runtime.map_err(|error| S3Error::Client(error.to_string()))?;
        Ok(Runtime(Some(runtime)))
    }

    /// Runs a future to its end while this thread waits.
    ///
    /// # Errors
    /// Those of the future; [`S3Error::Client`] if it panicked.
    pub fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, S3Error>> + Send + 'static,
    ) -> Result<T, S3Error> {
        let stopped = || S3Error::Client("its threads have stopped".to_owned());
        let runtime = self.0.as_ref().ok_or_else(stopped)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // The receiver waits until the sender is gone.
            let _ = sender.send(future.await);
        });
        receiver.recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Drop for Runtime {
    /// A runtime that waits for its threads may not be dropped on a thread of another one.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_another_runtime_may_wait_and_drop() {
        let outer = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        outer.block_on(async {
            let runtime = Runtime::new().unwrap();
            assert_eq!(runtime.wait(async { Ok(1) }).unwrap(), 1);
        });
    }

    #[test]
    fn a_panic_is_an_error() {
        let runtime = Runtime::new().unwrap();
        let broken = async { panic!("on purpose") };
        assert!(matches!(
            runtime.wait::<()>(broken),
            Err(S3Error::Client(_))
        ));
        assert_eq!(runtime.wait(async { Ok(2) }).unwrap(), 2);
    }
}
