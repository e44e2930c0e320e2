//! A body that this program reads itself, piece by piece.

use crate::Failure;
use crate::http::body::slot::{BodyPiece, End, Producer, Slot};
use crate::http::body::{BodyWriter, FinishedBody};
use bytes::Bytes;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

type Producing = Pin<Box<dyn Future<Output = Result<FinishedBody, Failure>> + Send>>;

/// A body whose producer runs on the thread that reads it, as far as the next piece.
pub(crate) struct LocalBody {
    slot: Arc<Slot>,
    /// Until it is done.
    producing: Option<(Producing, Producer)>,
    woken: Arc<Woken>,
}

/// Whether the producer can go on.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl LocalBody {
    pub(crate) fn new(produce: impl FnOnce(BodyWriter) -> Producing) -> LocalBody {
        let producer = Producer::local();
        let slot = producer.slot();
        let producing = produce(BodyWriter::local(&producer));
        LocalBody {
            slot,
            producing: Some((producing, producer)),
            woken: Arc::new(Woken(AtomicBool::new(true))),
        }
    }

    /// The next piece; `None` behind the last one. It is made here, on this thread.
    ///
    /// # Errors
    /// That of the producer.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut context = Context::from_waker(&waker);
        loop {
            match self.slot.poll_take(false, &mut context) {
                Poll::Ready(Ok(BodyPiece::Data(bytes))) => return Ok(Some(bytes)),
                Poll::Ready(Ok(BodyPiece::File(piece))) => {
                    return piece.read().map(Some).map_err(Failure::from);
                }
                Poll::Ready(Err(End::Whole)) => return Ok(None),
                Poll::Ready(Err(End::Failed(failure))) => return Err(failure),
                Poll::Pending if self.producing.is_none() => return Ok(None),
                Poll::Pending => self.produce(&mut context)?,
            }
        }
    }

    /// Has the producer run up to the next piece.
    fn produce(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        let Some((mut producing, producer)) = self.producing.take() else {
            return Ok(());
        };
        if !self.woken.0.swap(false, Ordering::AcqRel) {
            return Err(Failure::internal("the body waits for something else"));
        }
        match producing.as_mut().poll(context) {
            Poll::Ready(Ok(finished)) => finished.hand_over(producer),
            Poll::Ready(Err(failure)) => producer.end(End::Failed(failure)),
            Poll::Pending => self.producing = Some((producing, producer)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::STREAM_BUFFER;

    #[test]
    fn pieces_come_in_order_and_are_made_when_they_are_asked_for() {
        let made = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&made);
        let mut body = LocalBody::new(|mut writer| {
            Box::pin(async move {
                for number in 0..5 {
                    counted.fetch_add(1, Ordering::SeqCst);
                    writer.pause().await?;
                    writer.write(&[number; STREAM_BUFFER]).await?;
                }
                writer.write(b"end").await?;
                Ok(writer.finish())
            })
        });
        for number in 0..5 {
            assert_eq!(body.next().unwrap().unwrap(), vec![number; STREAM_BUFFER]);
            assert_eq!(made.load(Ordering::SeqCst), usize::from(number) + 1);
        }
        assert_eq!(body.next().unwrap().unwrap(), "end");
        assert_eq!(body.next().unwrap(), None);
        assert_eq!(body.next().unwrap(), None);
    }

    #[test]
    fn a_producer_that_fails_or_waits_for_others_fails_the_body() {
        let mut fails = LocalBody::new(|_| Box::pin(async { Err(Failure::bad_request("no")) }));
        assert_eq!(fails.next().unwrap_err().reason, "no");
        let mut waits = LocalBody::new(|writer| {
            Box::pin(async move {
                std::future::pending::<()>().await;
                Ok(writer.finish())
            })
        });
        assert!(waits.next().is_err());
    }
}
