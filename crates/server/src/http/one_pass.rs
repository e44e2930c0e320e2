//! A body that is made in one pass, at full speed, whatever its client takes.
//!
//! ```text
//! maker (a thread of a pool) ──► [ memory, or a file without a name ] ──► client
//! ```
//! A short body stays in memory. A longer one goes into a file, and the client is sent that as far as it has come; it
//! waits for more as a future, so it holds no thread, and the maker never waits for it.

use crate::Failure;
use crate::http::body::{BodyClosed, BodyError, BodyWriter, FinishedBody, STREAM_BUFFER};
use crate::http::sendfile::FilePiece;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use varve_base::storage::scratch_file;
use varve_base::{StorageError, StorageFile};

/// A body of at most so many bytes stays in memory.
const SHORT: usize = 128 << 10;

/// A body that will be made, with a head of type `H` in front of it: both ends of it. It may have `longest` bytes, and
/// its file stands in `directory`.
pub(crate) fn one_pass<H>(directory: &Path, longest: u64) -> (Maker<H>, MadeBody<H>) {
    let shared = Arc::new(Shared {
        directory: directory.to_owned(),
        longest,
        progress: watch::Sender::new(Progress {
            head: None,
            memory: Vec::new(),
            file: None,
            len: 0,
            end: None,
            is_unwanted: false,
        }),
    });
    (Maker(Arc::clone(&shared)), MadeBody(shared))
}

struct Shared<H> {
    directory: PathBuf,
    longest: u64,
    progress: watch::Sender<Progress<H>>,
}

/// How far a body has come.
struct Progress<H> {
    /// Until the client has taken it.
    head: Option<H>,
    /// The body until there is a file: at most [`SHORT`] bytes.
    memory: Vec<u8>,
    file: Option<Arc<dyn StorageFile>>,
    /// Bytes that are in the file.
    len: u64,
    end: Option<Result<(), Failure>>,
    is_unwanted: bool,
}

/// The end that writes. Dropped before [`Maker::end`], it fails the body.
pub(crate) struct Maker<H>(Arc<Shared<H>>);

impl<H> Maker<H> {
    /// Sends the head, which comes before the body.
    pub(crate) fn open(&self, head: H) {
        self.0
            .progress
            .send_modify(|progress| progress.head = Some(head));
    }

    /// Adds bytes. This never waits for the client.
    ///
    /// # Errors
    /// The client has gone; the body is too long; the file cannot be written.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let shared = &self.0;
        let (file, in_memory, len) = {
            let progress = shared.progress.borrow();
            if progress.is_unwanted {
                return Err(BodyError::from(BodyClosed).into());
            }
            (progress.file.clone(), progress.memory.len(), progress.len)
        };
        if len.max(in_memory as u64) + bytes.len() as u64 > shared.longest {
            let words = format!("the answer has more than {} bytes", shared.longest);
            return Err(Failure::internal(words));
        }
        if file.is_none() && in_memory + bytes.len() <= SHORT {
            let add = |progress: &mut Progress<H>| progress.memory.extend_from_slice(bytes);
            shared.progress.send_modify(add);
            return Ok(());
        }
        let (file, added) = self.append(file, bytes).map_err(|error| failed(&error))?;
        shared.progress.send_modify(|progress| {
            progress.memory = Vec::new();
            progress.file = Some(file);
            progress.len += added;
        });
        Ok(())
    }

    /// Appends to the file; without one, makes it and begins with the bytes in memory. Returns the file and by how much
    /// it has grown.
    fn append(
        &self,
        file: Option<Arc<dyn StorageFile>>,
        bytes: &[u8],
    ) -> Result<(Arc<dyn StorageFile>, u64), StorageError> {
        let (file, memory) = match file {
            Some(file) => (file, Vec::new()),
            None => {
                let file = scratch_file(&self.0.directory)?;
                (file, self.0.progress.borrow().memory.clone())
            }
        };
        if !memory.is_empty() {
            file.append(&memory)?;
        }
        file.append(bytes)?;
        Ok((file, (memory.len() + bytes.len()) as u64))
    }

    /// Says that the body is whole, or why it is not.
    pub(crate) fn end(&self, end: Result<(), Failure>) {
        self.0.progress.send_modify(|progress| {
            progress.end.get_or_insert(end);
        });
    }
}

impl<H> Drop for Maker<H> {
    fn drop(&mut self) {
        let died = "the function that makes the answer failed";
        self.end(Err(Failure::internal(died)));
    }
}

/// The file has no name that a client need know.
fn failed(error: &StorageError) -> Failure {
    Failure::internal(match error {
        StorageError::Io { op, source, .. } => {
            format!("cannot {op} the file that holds the answer: {source}")
        }
        StorageError::Short { .. } | StorageError::WouldBlock => {
            "the file that holds the answer cannot be read".to_owned()
        }
    })
}

/// The end that the client is sent. Once it is dropped, the maker may stop.
pub(crate) struct MadeBody<H>(Arc<Shared<H>>);

/// Next part of the body.
enum BodyPart {
    File(Arc<dyn StorageFile>, u64),
    Memory(Vec<u8>),
    End,
}

impl<H> MadeBody<H> {
    /// Waits for the head.
    ///
    /// # Errors
    /// The body failed without one.
    pub(crate) async fn head(&self) -> Result<H, Failure> {
        let mut progress = self.0.progress.subscribe();
        let is_known = |now: &Progress<H>| now.head.is_some() || now.end.is_some();
        // The sender lives as long as this, so that waiting cannot fail.
        let _ = progress.wait_for(is_known).await;
        drop(progress);
        let mut head = None;
        self.0.progress.send_modify(|now| head = now.head.take());
        match (head, self.0.progress.borrow().end.clone()) {
            (Some(head), _) => Ok(head),
            (None, Some(Err(failure))) => Err(failure),
            (None, _) => Err(Failure::internal("the answer has no head")),
        }
    }

    /// Sends the body while it is made.
    ///
    /// # Errors
    /// The client has gone; why the body is not whole.
    pub(crate) async fn send(self, mut writer: BodyWriter) -> Result<FinishedBody, Failure> {
        let mut sent = 0;
        loop {
            match self.next(sent).await? {
                BodyPart::File(file, len) => {
                    send_file::<SendError>(&mut writer, &file, sent, len - sent).await?;
                    sent = len;
                }
                BodyPart::Memory(bytes) => {
                    writer.send(bytes).await?;
                    return Ok(writer.finish());
                }
                BodyPart::End => return Ok(writer.finish()),
            }
        }
    }

    /// Waits until there is more than `sent`, or no more will come.
    async fn next(&self, sent: u64) -> Result<BodyPart, Failure> {
        let mut progress = self.0.progress.subscribe();
        let has_news = |now: &Progress<H>| now.len > sent || now.end.is_some();
        let Ok(now) = progress.wait_for(has_news).await else {
            return Ok(BodyPart::End);
        };
        match (&now.file, &now.end) {
            (Some(file), _) if now.len > sent => Ok(BodyPart::File(Arc::clone(file), now.len)),
            (_, Some(Err(failure))) => Err(failure.clone()),
            (None, _) => Ok(BodyPart::Memory(now.memory.clone())),
            (Some(_), _) => Ok(BodyPart::End),
        }
    }
}

impl<H> Drop for MadeBody<H> {
    fn drop(&mut self) {
        self.0
            .progress
            .send_modify(|progress| progress.is_unwanted = true);
    }
}

/// Why a file is not sent.
struct SendError(Failure);

impl From<BodyError> for SendError {
    fn from(error: BodyError) -> SendError {
        SendError(error.into())
    }
}

impl From<StorageError> for SendError {
    fn from(error: StorageError) -> SendError {
        SendError(failed(&error))
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        error.0
    }
}

/// Sends a range of a file.
///
/// # Errors
/// The client has gone; the file cannot be read.
pub(crate) async fn send_file<E>(
    writer: &mut BodyWriter,
    file: &Arc<dyn StorageFile>,
    offset: u64,
    len: u64,
) -> Result<(), E>
where
    E: From<BodyError> + From<StorageError>,
{
    if FilePiece::can_send(file.as_ref()) {
        for piece in FilePiece::cut(file, offset, len) {
            piece.readahead()?;
            writer.send_piece(piece).await?;
        }
        return Ok(());
    }
    let mut sent = 0;
    while sent < len {
        let piece = (len - sent).min(STREAM_BUFFER as u64);
        let bytes = file.read_vec(offset + sent, piece as usize)?;
        writer.send(bytes).await?;
        sent += piece;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::http::Body;
    use crate::runtime::Pool;
    use http_body_util::BodyExt;
    use std::time::Duration;

    /// Fails a test rather than letting it hang.
    const DEADLINE: Duration = Duration::from_secs(60);

    async fn collect(body: MadeBody<u8>, pool: &Pool) -> Result<Vec<u8>, String> {
        let answer = Answer::stream("", pool, move |writer| body.send(writer));
        let Body::Stream(receiver, _) = answer.body else {
            panic!("it is a stream");
        };
        let collected = tokio::time::timeout(DEADLINE, receiver.collect()).await;
        let collected = collected.expect("it ends in time");
        let collected = collected.map_err(|error| error.to_string())?;
        Ok(collected.to_bytes().to_vec())
    }

    #[tokio::test]
    async fn bodies_come_whole_from_memory_and_from_files_while_they_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let (makers, reads) = (Pool::for_tests(1), Pool::for_tests(1));
        for count in [0, 1, 2, 3, 40] {
            let (maker, body) = one_pass(directory.path(), u64::MAX);
            let shared = Arc::clone(&body.0);
            makers.spawn(async move {
                maker.open(7);
                for number in 0..count {
                    maker.write(&vec![number; 50_000]).unwrap();
                }
                maker.end(Ok(()));
            });
            assert_eq!(body.head().await, Ok(7));
            let whole: Vec<u8> = (0..count).flat_map(|number| vec![number; 50_000]).collect();
            assert_eq!(collect(body, &reads).await.unwrap(), whole, "{count}");
            assert_eq!(
                shared.progress.borrow().file.is_some(),
                count > 2,
                "{count}"
            );
        }
        assert_eq!(
            directory.path().read_dir().unwrap().count(),
            0,
            "no file has a name"
        );
    }

    #[tokio::test]
    async fn a_body_that_fails_says_so_in_place_of_its_head_or_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let reads = Pool::for_tests(1);
        let (maker, body) = one_pass::<u8>(directory.path(), 10);
        drop(maker);
        let died = "the function that makes the answer failed";
        assert_eq!(body.head().await.unwrap_err().reason, died);
        let (maker, body) = one_pass::<u8>(directory.path(), 10);
        maker.open(1);
        maker.write(&[0; 10]).unwrap();
        let long = maker.write(&[0]).unwrap_err();
        assert_eq!(long.reason, "the answer has more than 10 bytes");
        maker.end(Err(long));
        assert_eq!(body.head().await, Ok(1));
        assert!(collect(body, &reads).await.is_err());
        let (maker, body) = one_pass::<u8>(Path::new("/nowhere"), u64::MAX);
        let refused = maker.write(&vec![0; 1 + SHORT]).unwrap_err();
        assert!(!refused.reason.contains("nowhere"), "{refused}");
        drop(body);
    }

    #[test]
    fn a_maker_whose_client_has_gone_is_told() {
        let (maker, body) = one_pass::<u8>(Path::new("/nowhere"), u64::MAX);
        maker.write(b"a").unwrap();
        drop(body);
        assert!(maker.write(b"b").is_err());
    }
}
