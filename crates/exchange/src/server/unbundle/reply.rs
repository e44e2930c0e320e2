//! What the parts of a push are answered.

use super::output::Words;
use crate::ExchangeError;
use crate::format::bundle20::PartHeader;
use crate::format::bundle20::{BundleWriter, Param, PartParams};

/// Longest value of a parameter.
const LONGEST: usize = 255;

/// Answers to the parts of a bundle2 that somebody pushes.
#[derive(Debug, Default)]
pub struct Replies {
    wanted: bool,
    parts: Vec<Reply>,
}

#[derive(Debug)]
struct Reply {
    to: u32,
    name: &'static str,
    key: &'static str,
    value: String,
}

/// What a client takes for success, and for how many heads there are more or less.
pub(super) fn code(heads: i64) -> i64 {
    if heads < 0 { heads - 1 } else { heads + 1 }
}

impl Replies {
    /// The client reads replies.
    pub(crate) fn are_wanted(&mut self) {
        self.wanted = true;
    }

    /// Changesets have come.
    pub(crate) fn changegroup(&mut self, part: &PartHeader, heads: i64) {
        self.add(part, "reply:changegroup", ("return", code(heads)));
    }

    /// Changesets have come from a URL.
    pub(crate) fn remote_changegroup(&mut self, part: &PartHeader, heads: i64) {
        self.add(part, "REPLY:CHANGEGROUP", ("return", code(heads)));
    }

    /// Markers have come, some of them new.
    pub(crate) fn markers(&mut self, part: &PartHeader, new: usize) {
        self.add(part, "REPLY:OBSMARKERS", ("new", new as i64));
    }

    /// A key was set.
    pub(crate) fn key(&mut self, part: &PartHeader, done: bool) {
        self.add(part, "REPLY:PUSHKEY", ("return", i64::from(done)));
    }

    fn add(&mut self, part: &PartHeader, name: &'static str, (key, value): (&'static str, i64)) {
        self.parts.push(Reply {
            to: part.id,
            name,
            key,
            value: value.to_string(),
        });
    }

    /// All replies and words, where these belong there, as a bundle2, or words and why it failed.
    pub(super) fn bundle(
        &self,
        words: Option<&Words>,
        failed: Option<&ExchangeError>,
    ) -> Result<Vec<u8>, ExchangeError> {
        let mut bundle = BundleWriter::new(Vec::new())?;
        if self.wanted {
            self.write_replies(&mut bundle, words, failed.is_none())?;
        }
        if let Some(error) = failed {
            write_failure(&mut bundle, error)?;
        }
        Ok(bundle.finish()?)
    }

    fn write_replies(
        &self,
        bundle: &mut BundleWriter<Vec<u8>>,
        words: Option<&Words>,
        with_replies: bool,
    ) -> Result<(), ExchangeError> {
        let mut parts: Vec<u32> = words.iter().flat_map(|words| words.parts()).collect();
        let replies = || self.parts.iter().filter(|_| with_replies);
        parts.extend(replies().map(|reply| reply.to));
        parts.sort_unstable();
        parts.dedup();
        for part in parts {
            let to = part.to_string();
            for reply in replies().filter(|reply| reply.to == part) {
                let advisory = [
                    (&b"in-reply-to"[..], to.as_bytes()),
                    (reply.key.as_bytes(), reply.value.as_bytes()),
                ];
                bundle.part(reply.name, &advisory_only(&advisory))?.end()?;
            }
            let said = words.map_or_else(Vec::new, |words| words.about(Some(part)));
            if !said.is_empty() {
                let advisory = [(&b"in-reply-to"[..], to.as_bytes())];
                let output = bundle.part("output", &advisory_only(&advisory))?;
                output.whole(&said)?;
            }
        }
        if let Some(words) = words {
            let output = bundle.part("output", &advisory_only(&[]))?;
            output.whole(&words.about(None))?;
        }
        Ok(())
    }
}

fn advisory_only<'a>(advisory: &'a [Param<'a>]) -> PartParams<'a> {
    PartParams {
        mandatory: &[],
        advisory,
    }
}

/// A bundle2 that only tells why there is no other.
pub(crate) fn failure(error: &ExchangeError) -> Result<Vec<u8>, ExchangeError> {
    let mut bundle = BundleWriter::new(Vec::new())?;
    write_failure(&mut bundle, error)?;
    Ok(bundle.finish()?)
}

type Params = Vec<(&'static str, String)>;

/// The part that tells why a push failed.
fn write_failure(
    bundle: &mut BundleWriter<Vec<u8>>,
    error: &ExchangeError,
) -> Result<(), ExchangeError> {
    let words = error.with_causes();
    let words = fitting(&words);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (name, mandatory, advisory): (_, Params, Params) = match error {
        ExchangeError::Overtaken(_) => {
            let message = ("message", words.to_owned());
            ("ERROR:PUSHRACED", vec![message], Vec::new())
        }
        ExchangeError::KeyRefused { part, key } => {
            let of_key = [
                ("namespace", &key.namespace),
                ("key", &key.key),
                ("new", &key.new),
                ("old", &key.old),
            ];
            let of_key = of_key.map(|(name, value)| (name, fitting(&text(value)).to_owned()));
            let to = ("in-reply-to", part.to_string());
            ("ERROR:PUSHKEY", vec![to], of_key.into())
        }
        ExchangeError::UnknownBundleFeature(feature) => {
            let (kind, params) = match feature.split_once(" - ") {
                // Of the whole bundle; only their names count.
                Some(("Stream Parameter", params)) => {
                    let name = params.split('=').next().unwrap_or_default();
                    ("", name.to_owned())
                }
                Some((kind, params)) => (kind, params.replace(", ", "\0")),
                None => (&feature[..], String::new()),
            };
            let kind = ("parttype", fitting(kind).to_owned());
            let params = ("params", fitting(&params).to_owned());
            let mut known = vec![kind, params];
            known.retain(|(_, value)| !value.is_empty());
            ("ERROR:UNSUPPORTEDCONTENT", known, Vec::new())
        }
        _ => {
            let message = ("message", words.to_owned());
            let hint = error.hint().map(|hint| ("hint", fitting(&hint).to_owned()));
            ("ERROR:ABORT", vec![message], hint.into_iter().collect())
        }
    };
    let params = PartParams {
        mandatory: &pairs(&mandatory),
        advisory: &pairs(&advisory),
    };
    Ok(bundle.part(name, &params)?.end()?)
}

fn pairs(params: &Params) -> Vec<Param<'_>> {
    let pairs = params.iter();
    pairs
        .map(|(key, value)| (key.as_bytes(), value.as_bytes()))
        .collect()
}

/// As much of a text as a parameter can hold.
fn fitting(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
