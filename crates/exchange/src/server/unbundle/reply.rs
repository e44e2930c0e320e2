//! The answer to a pushed bundle2.

use crate::ExchangeError;
use crate::apply::{CollectedOutput, ReplyParts};
use crate::format::bundle20::BundleWriter;
use crate::format::part::{error, reply};

/// Replies and output by part, as far as they are wanted, or output and why the push failed.
pub(super) fn encode_reply_bundle(
    replies: &ReplyParts,
    output: Option<&CollectedOutput>,
    failed: Option<&ExchangeError>,
) -> Result<Vec<u8>, ExchangeError> {
    let mut bundle = BundleWriter::new(Vec::new())?;
    if replies.are_wanted() {
        write_replies(&mut bundle, replies, output, failed.is_none())?;
    }
    if let Some(error) = failed {
        bundle.start_part(error::encode(error))?.end()?;
    }
    Ok(bundle.finish()?)
}

fn write_replies(
    bundle: &mut BundleWriter<Vec<u8>>,
    replies: &ReplyParts,
    output: Option<&CollectedOutput>,
    with_replies: bool,
) -> Result<(), ExchangeError> {
    let mut parts: Vec<u32> = output.iter().flat_map(|output| output.parts()).collect();
    let replies = || replies.iter().filter(|_| with_replies);
    parts.extend(replies().map(|(part, _)| part));
    parts.sort_unstable();
    parts.dedup();
    for part in parts {
        for (_, reply) in replies().filter(|(to, _)| *to == part) {
            bundle.start_part(reply.encode(part))?.end()?;
        }
        let text = output.map_or_else(Vec::new, |output| output.about(Some(part)));
        if !text.is_empty() {
            bundle.write_part(&reply::output(Some(part), text))?;
        }
    }
    if let Some(output) = output {
        bundle.write_part(&reply::output(None, output.about(None)))?;
    }
    Ok(())
}
