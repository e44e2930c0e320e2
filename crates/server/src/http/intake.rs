//! Taking in a request's body: bounded, and free of its content encoding.

use crate::Failure;
use crate::http::arriving::{ArrivingBody, BodyError};
use flate2::read::MultiGzDecoder;
use hyper::header::{CONTENT_ENCODING, EXPECT, HeaderMap};
use std::io::Read;
use std::time::Duration;

/// Memory that a length merely claimed by a header may reserve.
const TRUSTED_CLAIM: u64 = 1 << 20;
/// Bytes that are passed over of a body that is refused.
const PASSED_OVER: u64 = 64 << 20;
/// A client that sends nothing for so long waits for the answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the whole body, at most `limit` bytes of it, also after gunzipping.
///
/// # Errors
/// 408 if it does not come in time, 413 past the limit, 415 for an unknown encoding, 400 for a cut or damaged body.
pub(crate) async fn read_body(
    mut arriving: ArrivingBody,
    headers: &HeaderMap,
    limit: u64,
) -> Result<Vec<u8>, Failure> {
    let claimed = arriving.size_hint().lower();
    if claimed > limit {
        return Err(too_large(arriving, headers).await);
    }
    let mut body = Vec::with_capacity(usize::try_from(claimed.min(TRUSTED_CLAIM)).unwrap_or(0));
    loop {
        match arriving.next().await {
            Ok(Some(data)) => body.extend_from_slice(&data),
            Ok(None) => break,
            Err(BodyError::TooLong) => return Err(too_large(arriving, headers).await),
            Err(error) => return Err(error.into()),
        }
    }
    match headers.get(CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity") => Ok(body),
        Some(b"gzip") => gunzip(&body, limit),
        Some(_) => Err(Failure::unknown_encoding()),
    }
}

/// Refuses a body for its length. A client that is still sending must be able to come to its end, or
/// the cut connection takes the answer along; one that first asks whether it may send is told at
/// once.
pub(super) async fn too_large(mut arriving: ArrivingBody, headers: &HeaderMap) -> Failure {
    if !headers.contains_key(EXPECT) {
        arriving.discard(PASSED_OVER, PAUSE).await;
    }
    Failure::too_large()
}

fn gunzip(packed: &[u8], limit: u64) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let mut bounded = MultiGzDecoder::new(packed).take(limit + 1);
    let read = bounded.read_to_end(&mut body);
    read.map_err(|e| Failure::bad_request(format!("the body is no valid gzip: {e}")))?;
    if body.len() as u64 > limit {
        return Err(Failure::too_large());
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn a_small_body_cannot_expand_past_the_limit() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&[b'x'; 100_000]).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(gunzip(&packed, 100_000).unwrap().len(), 100_000);
        assert_eq!(gunzip(&packed, 99_999).unwrap_err().status(), 413);
        assert_eq!(gunzip(b"\x1f\x8bnot", 10).unwrap_err().status(), 400);
    }
}
