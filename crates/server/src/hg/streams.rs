//! Bodies of files and of steps, pulled by their client.

use crate::hg::RepoRegistry;
use crate::http::{self, BodyError, BodyWriter};
use crate::runtime::NotDone;
use crate::{Answer, Failure};
use std::sync::Arc;
use varve_base::{StorageError, StorageFile};
use varve_exchange::server::wire::BodySteps;
use varve_exchange::{ChunkSink, ExchangeError, SinkClosed};

/// Why an answer was cut.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    NotDone(#[from] NotDone),
    /// The bundle could not be made, for this reason.
    #[error("{0}")]
    NotMade(String),
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        Failure::internal(error)
    }
}

/// A body that is made in steps: the next one when the client has taken the output of the one before.
pub(super) fn in_steps(
    repos: &RepoRegistry,
    content_type: &str,
    mut steps: Box<dyn BodySteps>,
) -> Answer {
    let reads = &repos.server().executor.reads;
    Answer::stream(content_type, reads, move |mut writer| async move {
        let mut has_more = true;
        while has_more {
            let mut sent = Sent::default();
            for _ in 0..writer.batch() {
                has_more = has_more && steps.step(&mut sent)?;
            }
            let mut buffers = Vec::new();
            for piece in sent.0 {
                match piece {
                    StreamPiece::Bytes(bytes) => buffers.push(bytes),
                    StreamPiece::File { file, offset, len } => {
                        writer.send_all(buffers.drain(..)).await?;
                        send_file(&mut writer, &file, offset, len).await?;
                    }
                }
            }
            writer.send_all(buffers).await?;
        }
        Ok::<_, SendError>(writer.finish())
    })
}

/// Sends a range of a file.
///
/// # Errors
/// The client has gone; the file cannot be read.
pub(super) async fn send_file(
    writer: &mut BodyWriter,
    file: &Arc<dyn StorageFile>,
    offset: u64,
    len: u64,
) -> Result<(), SendError> {
    http::send_file(writer, file, offset, len).await
}

/// Pieces that one step sent.
#[derive(Default)]
struct Sent(Vec<StreamPiece>);

enum StreamPiece {
    Bytes(Vec<u8>),
    File {
        file: Arc<dyn StorageFile>,
        offset: u64,
        len: u64,
    },
}

impl ChunkSink for Sent {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.0.push(StreamPiece::Bytes(bytes));
        Ok(())
    }

    fn send_file(
        &mut self,
        file: &Arc<dyn StorageFile>,
        offset: u64,
        len: u64,
    ) -> Result<(), ExchangeError> {
        self.0.push(StreamPiece::File {
            file: Arc::clone(file),
            offset,
            len,
        });
        Ok(())
    }
}
