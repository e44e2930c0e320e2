//! The answer to a push: a bundle2 with what was made of each part, and words for the user.

use crate::ExchangeError;
use crate::apply::{News, outline};
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::bundle20::PartHeader;
use crate::format::input::read_into;
use crate::format::limits::BundleLimits;
use parking_lot::Mutex;
use std::io::Read;
use std::sync::Arc;

/// Bytes of words that are read at most in one part.
const LONGEST: usize = 64 << 20;

/// What the other side made of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReply {
    /// What storing the changesets gave: 0 if nothing came of it; `None` if there were none.
    pub changegroup: Option<i64>,
}

/// Reads the answer; `tell` gets the words of the other side as they come, and what those want to
/// hear who look for mistakes.
///
/// # Errors
/// [`ExchangeError::PushFailed`], [`ExchangeError::PushRaced`] and others for what the other side
/// tells that it could not do; that this is no answer.
pub fn read_reply(
    answer: Box<dyn Read + Send>,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<PushReply, ExchangeError> {
    read_within(answer, BundleLimits::default(), tell)
}

pub(crate) fn read_within(
    answer: Box<dyn Read + Send>,
    limits: BundleLimits,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<PushReply, ExchangeError> {
    let Bundle::Two(mut parts) = open_bundle(answer, limits)? else {
        return Err(ExchangeError::NotABundle);
    };
    let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let hearing = Arc::clone(&heard);
    parts.on_interruption(move |interruption| {
        if interruption.header.kind() == b"output" {
            let mut heard = hearing.lock();
            heard.push(interruption.payload);
        }
    });
    let mut reply = PushReply::default();
    tell(News::Debug(b"bundle2-input-bundle: no-transaction\n"));
    let mut count = 0_usize;
    while let Some(mut part) = parts.next_part()? {
        count += 1;
        let line = format!("bundle2-input-part: {} supported\n", outline(&part.header));
        tell(News::Debug(line.as_bytes()));
        let mut words = Vec::new();
        match &part.header.kind()[..] {
            b"output" => words = read_words(&mut part.payload)?,
            b"reply:changegroup" => reply.changegroup = number(&part.header, "return"),
            b"reply:obsmarkers" | b"reply:pushkey" => {}
            kind if kind.starts_with(b"error:") => return Err(error(&part.header)),
            _ if part.header.is_mandatory() => return Err(part.header.unknown()),
            _ => {}
        }
        drop(part);
        match parts.end_part()? {
            0 => {}
            len => {
                let line = format!("bundle2-input-part: total payload size {len}\n");
                tell(News::Debug(line.as_bytes()));
            }
        }
        for words in heard.lock().drain(..) {
            tell(News::Remote(&words));
        }
        if !words.is_empty() {
            tell(News::Remote(&words));
        }
    }
    let line = format!("bundle2-input-bundle: {count} parts total\n");
    tell(News::Debug(line.as_bytes()));
    Ok(reply)
}

fn read_words(payload: &mut impl Read) -> Result<Vec<u8>, ExchangeError> {
    let mut words = Vec::new();
    match read_into(payload, LONGEST, &mut words) {
        Err(ExchangeError::StreamEnded { expected, .. }) if expected == LONGEST => Ok(words),
        other => other.map(|()| words),
    }
}

fn number(header: &PartHeader, name: &str) -> Option<i64> {
    std::str::from_utf8(header.value(name)?).ok()?.parse().ok()
}

fn error(header: &PartHeader) -> ExchangeError {
    let text = |name| {
        header
            .value(name)
            .map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let message = text("message").unwrap_or_default();
    match &header.kind()[..] {
        b"error:pushraced" => ExchangeError::PushRaced(message),
        b"error:unsupportedcontent" => {
            let mut what = text("parttype").unwrap_or_default();
            if let Some(params) = text("params") {
                what = format!("{what} - {}", params.replace('\0', ", "));
            }
            ExchangeError::NotSupportedThere(what)
        }
        b"error:abort" => ExchangeError::PushFailed {
            message,
            hint: text("hint"),
        },
        kind => ExchangeError::PushFailed {
            message: String::from_utf8_lossy(kind).into_owned(),
            hint: None,
        },
    }
}
