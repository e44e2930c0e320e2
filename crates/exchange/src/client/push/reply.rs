//! The answer to a push: a bundle2 with the results of parts, and output for the user.

use crate::ExchangeError;
use crate::apply::BundleEvent;
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::input::read_into;
use crate::format::limits::BundleLimits;
use crate::format::part::error::{self, ErrorPart};
use crate::format::part::reply::decode_return_code;
use crate::format::part::{PartHeader, PartType};
use parking_lot::Mutex;
use std::io::Read;
use std::sync::Arc;

/// Bytes of words that are read at most in one part.
const LONGEST: usize = 64 << 20;

/// Result of a push on the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReply {
    /// Return code of the changegroup: 0 if it was not stored; `None` if there was none.
    pub changegroup: Option<i64>,
}

/// Reads the answer; `on_event` gets the output of the other side as it comes, and debug lines.
///
/// # Errors
/// [`ExchangeError::PushFailed`], [`ExchangeError::PushRaced`] and others for failures of the other
/// side; that this is no answer.
pub fn read_reply(
    answer: Box<dyn Read + Send>,
    on_event: &mut dyn FnMut(BundleEvent<'_>),
) -> Result<PushReply, ExchangeError> {
    read_reply_within(answer, BundleLimits::default(), on_event)
}

pub(crate) fn read_reply_within(
    answer: Box<dyn Read + Send>,
    limits: BundleLimits,
    on_event: &mut dyn FnMut(BundleEvent<'_>),
) -> Result<PushReply, ExchangeError> {
    let Bundle::Bundle20(mut parts) = open_bundle(answer, limits)? else {
        return Err(ExchangeError::NotABundle);
    };
    let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let hearing = Arc::clone(&heard);
    parts.on_interruption(move |interruption| {
        if interruption.header.part_type() == Some(PartType::Output) {
            let mut heard = hearing.lock();
            heard.push(interruption.payload);
        }
    });
    let mut reply = PushReply::default();
    on_event(BundleEvent::Debug(
        b"bundle2-input-bundle: no-transaction\n",
    ));
    let mut count = 0_usize;
    while let Some(mut part) = parts.next_part()? {
        count += 1;
        let line = format!(
            "bundle2-input-part: {} supported\n",
            part.header.debug_summary()
        );
        on_event(BundleEvent::Debug(line.as_bytes()));
        let mut words = Vec::new();
        match part.header.part_type() {
            Some(PartType::Output) => words = read_words(&mut part.payload)?,
            Some(PartType::ReplyChangegroup) => {
                reply.changegroup = decode_return_code(&part.header);
            }
            Some(PartType::ReplyObsmarkers | PartType::ReplyPushKey) => {}
            _ if part.header.kind().starts_with(b"error:") => return Err(push_error(&part.header)),
            _ if part.header.is_mandatory() => return Err(part.header.unknown()),
            _ => {}
        }
        drop(part);
        match parts.end_part()? {
            0 => {}
            len => {
                let line = format!("bundle2-input-part: total payload size {len}\n");
                on_event(BundleEvent::Debug(line.as_bytes()));
            }
        }
        for words in heard.lock().drain(..) {
            on_event(BundleEvent::RemoteOutput(&words));
        }
        if !words.is_empty() {
            on_event(BundleEvent::RemoteOutput(&words));
        }
    }
    let line = format!("bundle2-input-bundle: {count} parts total\n");
    on_event(BundleEvent::Debug(line.as_bytes()));
    Ok(reply)
}

fn read_words(payload: &mut impl Read) -> Result<Vec<u8>, ExchangeError> {
    let mut words = Vec::new();
    match read_into(payload, LONGEST, &mut words) {
        Err(ExchangeError::StreamEnded { expected, .. }) if expected == LONGEST => Ok(words),
        other => other.map(|()| words),
    }
}

/// The error of a push that the remote reports.
fn push_error(header: &PartHeader) -> ExchangeError {
    match error::decode(header) {
        Some(ErrorPart::PushRaced { message }) => ExchangeError::PushRaced(message),
        Some(ErrorPart::UnsupportedContent { feature }) => {
            ExchangeError::NotSupportedThere(feature)
        }
        Some(ErrorPart::KeyRefused { part, key }) => ExchangeError::KeyRefused { part, key },
        Some(ErrorPart::Abort { message, hint }) => ExchangeError::PushFailed { message, hint },
        None => ExchangeError::PushFailed {
            message: String::from_utf8_lossy(&header.kind()).into_owned(),
            hint: None,
        },
    }
}
