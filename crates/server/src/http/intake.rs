//! Taking in a request's body: bounded, and free of its content encoding.

use crate::Failure;
use crate::http::ContentEncoding;
use crate::http::arriving::{ArrivingBody, BodyError};
use crate::runtime::BodyReservation;
use hyper::header::{CONTENT_ENCODING, EXPECT, HeaderMap};
use std::io::{self, Read};
use std::time::Duration;

/// Memory that a length merely claimed by a header may reserve.
const TRUSTED_CLAIM: u64 = 1 << 20;
/// Bytes that are passed over of a body that is refused.
const PASSED_OVER: u64 = 64 << 20;
/// Up to this length a body is read before it is known whether it is wanted.
const SHORT: u64 = 64 << 10;
/// Bytes that are unpacked at a time.
const UNPACKED_PIECE: usize = 64 << 10;
/// A client that sends nothing for so long waits for the answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the whole body, at most `limit` bytes of it, also once it is decoded.
///
/// # Errors
/// 408 if it does not come in time, 413 past the limit, 503 if all bodies take too much memory, 415 for an unknown encoding, 400 for a cut or damaged body.
pub(crate) async fn read_body(
    mut arriving: ArrivingBody,
    headers: &HeaderMap,
    limit: u64,
    memory: &mut BodyReservation,
) -> Result<Vec<u8>, Failure> {
    let claimed = arriving.size_hint().lower();
    if claimed > limit {
        return Err(too_large(arriving, headers).await);
    }
    let mut body = Vec::with_capacity(usize::try_from(claimed.min(TRUSTED_CLAIM)).unwrap_or(0));
    loop {
        match arriving.next().await {
            Ok(Some(data)) if memory.grow(data.len()) => body.extend_from_slice(&data),
            Ok(Some(_)) => return Err(refuse(arriving, headers, no_memory()).await),
            Ok(None) => break,
            Err(BodyError::TooLong) => return Err(too_large(arriving, headers).await),
            Err(error) => return Err(error.into()),
        }
    }
    let encoding = headers.get(CONTENT_ENCODING);
    match encoding.map(|name| ContentEncoding::parse(name.as_bytes())) {
        None | Some(Some(ContentEncoding::Identity)) => Ok(body),
        Some(Some(encoding)) => decode(&body, encoding, limit, memory),
        Some(None) => Err(Failure::unknown_encoding(ContentEncoding::KNOWN)),
    }
}

/// Refuses a body for its length. A client that is still sending must be able to come to its end, or
/// the cut connection takes the answer along; one that first asks whether it may send is answered at
/// once.
pub(super) async fn too_large(arriving: ArrivingBody, headers: &HeaderMap) -> Failure {
    refuse(arriving, headers, Failure::too_large()).await
}

/// Refuses a body, likewise.
pub(super) async fn refuse(
    mut arriving: ArrivingBody,
    headers: &HeaderMap,
    failure: Failure,
) -> Failure {
    if !headers.contains_key(EXPECT) {
        arriving.discard(PASSED_OVER, PAUSE).await;
    }
    failure
}

/// Whether a body is announced so short, also unpacked, that it need not be refused before it is read.
pub(super) fn is_short(arriving: &ArrivingBody, headers: &HeaderMap) -> bool {
    let is_plain = !headers.contains_key(EXPECT) && !headers.contains_key(CONTENT_ENCODING);
    let upper = arriving.size_hint().upper();
    upper == Some(0) || is_plain && upper.is_some_and(|upper| upper <= SHORT)
}

fn no_memory() -> Failure {
    Failure::overloaded("the bodies of requests take too much memory at this moment")
}

/// Decodes piece by piece: what a short body claims to be takes no memory before it is.
fn decode(
    packed: &[u8],
    encoding: ContentEncoding,
    limit: u64,
    memory: &mut BodyReservation,
) -> Result<Vec<u8>, Failure> {
    let invalid = |error: io::Error| {
        let name = encoding.name();
        Failure::bad_request(format!("the body is no valid {name}: {error}"))
    };
    let mut decoder = encoding.decoder(packed).map_err(invalid)?;
    let (mut body, mut piece) = (Vec::new(), vec![0; UNPACKED_PIECE]);
    loop {
        let read = decoder.read(&mut piece);
        let len = read.map_err(invalid)?;
        let Some(unpacked) = piece.get(..len).filter(|unpacked| !unpacked.is_empty()) else {
            return Ok(body);
        };
        if (body.len() + len) as u64 > limit {
            return Err(Failure::too_large());
        }
        if !memory.grow(len) {
            return Err(no_memory());
        }
        body.extend_from_slice(unpacked);
    }
}

#[cfg(test)]
mod tests {
    use crate::http::ContentEncoding;
    use crate::runtime::Limits;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;

    #[test]
    fn a_small_body_cannot_expand_past_the_limit_in_any_encoding() {
        let plain = [b'x'; 100_000];
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&plain).unwrap();
        let mut deflate = ZlibEncoder::new(Vec::new(), Compression::best());
        deflate.write_all(&plain).unwrap();
        let settings = varve_config::Limits {
            body_memory: 150_000,
            ..varve_config::Limits::default()
        };
        let limits = Limits::new(settings, 1);
        for (encoding, packed) in [
            (ContentEncoding::Gzip, gzip.finish().unwrap()),
            (ContentEncoding::Deflate, deflate.finish().unwrap()),
            (
                ContentEncoding::Zstd,
                zstd::encode_all(&plain[..], 3).unwrap(),
            ),
        ] {
            let decode =
                |packed: &[u8], limit| super::decode(packed, encoding, limit, &mut limits.body());
            assert_eq!(decode(&packed, 100_000).unwrap(), plain);
            assert_eq!(decode(&packed, 99_999).unwrap_err().status(), 413);
            let mut held = limits.body();
            assert!(held.grow(100_000));
            assert_eq!(decode(&packed, 100_000).unwrap_err().status(), 503);
            drop(held);
            let cut = &packed[..packed.len() - 1];
            assert_eq!(decode(cut, 100_000).unwrap_err().status(), 400);
            let error = decode(b"\x1f\x8bnot", 10).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.reason.contains(encoding.name()), "{error}");
        }
    }
}
