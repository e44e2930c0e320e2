//! Bodies that an async task makes.

use crate::http::body::BodyClosed;
use crate::http::body::receiver::BodyReceiver;
use crate::http::body::slot::{BodyPiece, End, Producer, Slot};
use std::future::poll_fn;
use std::sync::Arc;

/// Sends a body from an async task.
#[derive(Debug)]
pub struct BodySender(Arc<Slot>);

impl BodySender {
    /// Sends one buffer, and waits until the connection has taken it.
    ///
    /// # Errors
    /// [`BodyClosed`] if the client has gone.
    pub async fn send(&self, buffer: Vec<u8>) -> Result<(), BodyClosed> {
        if buffer.is_empty() {
            return Ok(());
        }
        poll_fn(|context| self.0.poll_wanted(context)).await?;
        self.0.put(BodyPiece::Data(buffer.into()))?;
        poll_fn(|context| self.0.poll_wanted(context)).await
    }

    /// Returns once the client has gone.
    pub async fn closed(&self) {
        poll_fn(|context| self.0.poll_closed(context)).await;
    }
}

/// Runs a producer as an async task.
pub(in crate::http) fn spawn_feed<P, F>(produce: P) -> BodyReceiver
where
    P: FnOnce(BodySender) -> F,
    F: Future<Output = Result<(), BodyClosed>> + Send + 'static,
{
    let (producer, receiver) = Producer::new();
    let work = produce(BodySender(producer.slot()));
    tokio::spawn(async move {
        // A producer that broke off leaves a body that is cut.
        if work.await.is_ok() {
            producer.end(End::Whole);
        }
    });
    receiver
}
