//! Bodies of forwarded requests: they leave as they arrive, and one that is cut arrives cut.

use crate::Failure;
use crate::http::{PulledBody, Upload};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Bytes that are read of a spooled body at a time.
const SPOOLED_PIECE: usize = 64 << 10;

/// The client's body did not come to its end.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body of the client was cut")]
pub(super) struct BodyCut;

#[derive(Debug)]
enum BodyPiece {
    Data(Bytes),
    End,
}

/// A body on its way to another server.
#[derive(Debug)]
pub(super) enum ForwardedBody {
    /// All of it; `None` once it was sent, or if there is none.
    Whole(Option<Bytes>),
    /// Arrives while it is sent.
    Arriving(ArrivingPieces),
}

/// The receiving end of [`relay`].
#[derive(Debug)]
pub(super) struct ArrivingPieces {
    pieces: mpsc::Receiver<BodyPiece>,
    is_ended: bool,
}

/// The sending end of a body, for [`relay`].
#[derive(Debug)]
pub(super) struct PieceSender(mpsc::Sender<BodyPiece>);

impl ForwardedBody {
    /// A body that [`relay`] sends, one piece after the other.
    pub(super) fn arriving() -> (PieceSender, ForwardedBody) {
        let (sender, pieces) = mpsc::channel(1);
        let pieces = ArrivingPieces {
            pieces,
            is_ended: false,
        };
        (PieceSender(sender), ForwardedBody::Arriving(pieces))
    }
}

/// The body of a client.
pub(super) enum BodySource {
    /// Body that is read from the client's connection.
    Arriving(PulledBody),
    /// Body that had arrived before its database went to another server.
    Spooled(Box<dyn Read + Send>),
}

impl BodySource {
    /// `None` if a part of the body was read before, and is not kept.
    pub(super) fn of(upload: &Upload) -> Option<BodySource> {
        let spooled = upload.spooled().map(BodySource::Spooled);
        spooled.or_else(|| upload.pull().map(BodySource::Arriving))
    }

    async fn next_piece(self) -> Result<Option<(Bytes, BodySource)>, Failure> {
        match self {
            BodySource::Arriving(mut body) => {
                let piece = body.next_piece().await?;
                Ok(piece.map(|bytes| (bytes, BodySource::Arriving(body))))
            }
            BodySource::Spooled(mut file) => {
                let read = move || {
                    let mut piece = vec![0; SPOOLED_PIECE];
                    let len = file.read(&mut piece)?;
                    piece.truncate(len);
                    Ok::<_, std::io::Error>((Bytes::from(piece), BodySource::Spooled(file)))
                };
                let read = tokio::task::spawn_blocking(read).await;
                let read = read
                    .map_err(Failure::internal)?
                    .map_err(Failure::internal)?;
                Ok(Some(read).filter(|(bytes, _)| !bytes.is_empty()))
            }
        }
    }
}

/// Sends the client's body on until it ends, or the other server takes no more.
///
/// # Errors
/// Those of the client's body; the other server sees a cut body then.
pub(super) async fn relay(mut source: BodySource, sender: PieceSender) -> Result<(), Failure> {
    while let Some((bytes, rest)) = source.next_piece().await? {
        source = rest;
        if sender.0.send(BodyPiece::Data(bytes)).await.is_err() {
            return Ok(());
        }
    }
    // It fails if the other server has answered before.
    let _ = sender.0.send(BodyPiece::End).await;
    Ok(())
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = BodyCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyCut>>> {
        match self.get_mut() {
            ForwardedBody::Whole(bytes) => Poll::Ready(bytes.take().map(Frame::data).map(Ok)),
            ForwardedBody::Arriving(arriving) if arriving.is_ended => Poll::Ready(None),
            ForwardedBody::Arriving(arriving) => {
                arriving.pieces.poll_recv(context).map(|piece| match piece {
                    Some(BodyPiece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
                    Some(BodyPiece::End) => {
                        arriving.is_ended = true;
                        None
                    }
                    None => Some(Err(BodyCut)),
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ForwardedBody::Whole(bytes) => bytes.is_none(),
            ForwardedBody::Arriving(arriving) => arriving.is_ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ForwardedBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            ForwardedBody::Arriving(_) => SizeHint::default(),
        }
    }
}
