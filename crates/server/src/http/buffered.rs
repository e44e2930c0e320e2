//! Answers that are sent when their end is known (`buffer_response`), so that a failure on the way still has a status.

use crate::Failure;
use crate::http::answer::Beginning;
use crate::http::body::BodyError;
use crate::http::spool::{SpooledBody, Spooling};
use crate::http::{Answer, Body, blocking, send_file};
use crate::runtime::Pool;
use std::path::Path;
use varve_base::StorageError;

/// Bytes in memory; a longer body waits in an unnamed file.
const IN_MEMORY: u64 = 128 << 10;

impl Answer {
    /// The answer with all of its body, which may have `longest` bytes. A feed that waits for changes is not waited for.
    ///
    /// # Errors
    /// That of the body; 500 if the body is too long, or its file cannot be written.
    pub(crate) async fn buffered(
        mut self,
        pool: &Pool,
        (directory, longest): (&Path, u64),
    ) -> Result<Answer, Failure> {
        let Body::Stream(receiver, Beginning::Awaited) = &mut self.body else {
            return Ok(self);
        };
        let mut spooling = Spooling::new(IN_MEMORY, directory);
        let mut len = 0;
        while let Some(piece) = receiver.piece().await? {
            len += piece.len() as u64;
            if len > longest {
                let words = format!("the answer has more than {longest} bytes");
                return Err(Failure::internal(words));
            }
            spooling = match len <= IN_MEMORY {
                true => spooling.append(vec![piece])?,
                false => blocking(pool, move || spooling.append(vec![piece])).await?,
            };
        }
        self.body = match spooling.finish() {
            SpooledBody::Memory(bytes) => Body::Whole(bytes.into()),
            SpooledBody::File(file) => {
                let sent = Answer::stream("", pool, |mut writer| async move {
                    let sent = send_file::<SendError>(&mut writer, &file, 0, len).await;
                    sent.map(|()| writer.finish())
                });
                sent.body
            }
        };
        Ok(self)
    }
}

/// Why the file is not sent to its end.
struct SendError(Failure);

impl From<BodyError> for SendError {
    fn from(error: BodyError) -> SendError {
        SendError(error.into())
    }
}

impl From<StorageError> for SendError {
    fn from(_: StorageError) -> SendError {
        SendError(Failure::internal(
            "the file that holds the answer cannot be read",
        ))
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        error.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::StatusCode;

    /// So many bytes, and then an end or a failure.
    fn made(pool: &Pool, bytes: usize, fails: bool) -> Answer {
        Answer::stream("text/plain", pool, move |mut writer| async move {
            for piece in 0..bytes.div_ceil(1000) {
                writer.write(&[b'0' + (piece % 10) as u8; 1000]).await?;
            }
            match fails {
                true => Err(Failure::bad_request("late")),
                false => Ok(writer.finish()),
            }
        })
    }

    #[tokio::test]
    async fn the_end_is_known_before_the_answer() {
        let (pool, directory) = (Pool::for_tests(2), tempfile::tempdir().unwrap());
        let place = (directory.path(), 2_000_000);
        for bytes in [1000, 1_000_000] {
            let failed = made(&pool, bytes, true).buffered(&pool, place).await;
            assert_eq!(failed.unwrap_err().reason, "late", "{bytes}");
            let mut whole = made(&pool, bytes, false)
                .buffered(&pool, place)
                .await
                .unwrap();
            assert_eq!(whole.status, StatusCode::OK);
            let len = match &mut whole.body {
                Body::Whole(body) => body.len(),
                Body::Stream(receiver, _) => {
                    let mut len = 0;
                    while let Some(piece) = receiver.piece().await.unwrap() {
                        len += piece.len();
                    }
                    len
                }
            };
            assert_eq!(len, bytes);
            let is_in_memory = whole.whole_body().is_some();
            assert_eq!(is_in_memory, bytes as u64 <= IN_MEMORY);
        }
        let long = made(&pool, 3_000_000, false).buffered(&pool, place).await;
        assert_eq!(
            long.unwrap_err().reason,
            "the answer has more than 2000000 bytes"
        );
    }
}
