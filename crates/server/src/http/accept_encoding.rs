//! The `Accept-Encoding` header: which encoding of a body its client would have (RFC 9110, section 12.5.3).

use crate::http::ContentEncoding;
use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// Encodings that the server makes, the cheapest for their size first.
const MADE: [ContentEncoding; 3] = [
    ContentEncoding::Zstd,
    ContentEncoding::Gzip,
    ContentEncoding::Deflate,
];

/// Weights are numbers of at most three decimals; they are kept in thousandths.
const FULL_WEIGHT: u16 = 1000;

/// The encoding that the client likes best; `None` without the header, or if it likes none better than the plain body.
pub(super) fn preferred(headers: &HeaderMap) -> Option<ContentEncoding> {
    let mut values = headers.get_all(ACCEPT_ENCODING).iter().peekable();
    values.peek()?;
    let mut weights = Weights::default();
    for value in values {
        // Bytes that are no text name no encoding.
        for item in value.to_str().unwrap_or_default().split(',') {
            weights.read(item);
        }
    }
    weights.best()
}

/// Weights of the header for each encoding; `None` of those that it does not name.
#[derive(Default)]
struct Weights {
    made: [Option<u16>; MADE.len()],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Weights {
    /// Reads `NAME` or `NAME;q=WEIGHT`.
    fn read(&mut self, item: &str) {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let Some(weight) = weight(parameters) else {
            return;
        };
        let name = name.trim();
        if name == "*" {
            self.any = Some(weight);
            return;
        }
        match ContentEncoding::parse(name.as_bytes()) {
            Some(ContentEncoding::Identity) => self.identity = Some(weight),
            Some(encoding) => {
                for (made, slot) in MADE.iter().zip(&mut self.made) {
                    if *made == encoding {
                        *slot = Some(weight);
                    }
                }
            }
            None => {}
        }
    }

    fn best(&self) -> Option<ContentEncoding> {
        let mut best = None;
        // The plain body is wanted less than any encoding, unless it is named.
        let mut best_weight = self.identity.unwrap_or(0);
        for (encoding, named) in MADE.iter().zip(self.made) {
            let weight = named.or(self.any).unwrap_or(0);
            let is_better = match best {
                None => weight > 0 && weight >= best_weight,
                Some(_) => weight > best_weight,
            };
            if is_better {
                (best, best_weight) = (Some(*encoding), weight);
            }
        }
        best
    }
}

/// The weight among the parameters of an item; `None` for one that is no number from 0 to 1.
fn weight(parameters: &str) -> Option<u16> {
    let mut parameters = parameters.split(';').map(str::trim);
    let q = parameters.find_map(|it| it.strip_prefix("q=").or_else(|| it.strip_prefix("Q=")));
    let Some(q) = q else {
        return Some(FULL_WEIGHT);
    };
    let weight: f32 = q.parse().ok()?;
    // In range, so that the cast is exact.
    (0.0..=1.0)
        .contains(&weight)
        .then(|| (weight * f32::from(FULL_WEIGHT)).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ContentEncoding::{Deflate, Gzip, Zstd};

    #[test]
    fn the_best_liked_encoding_is_found_by_weight_and_then_by_cost() {
        for (header, expected) in [
            ("gzip", Some(Gzip)),
            ("gzip, deflate, br", Some(Gzip)),
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("DEFLATE", Some(Deflate)),
            ("x-gzip;q=0.5, deflate;q=0.4", Some(Gzip)),
            ("gzip;q=0.5, deflate;q=0.8", Some(Deflate)),
            ("*", Some(Zstd)),
            ("*, zstd;q=0", Some(Gzip)),
            ("zstd;q=0, *;q=0, gzip;q=1", Some(Gzip)),
            ("identity;q=1, gzip;q=0.5", None),
            ("identity;q=0.5, gzip;q=0.5", Some(Gzip)),
            ("identity", None),
            ("identity;q=0, gzip;q=0", None),
            ("gzip;q=2", None),
            ("gzip;q=x", None),
            ("gzip ; Q=0", None),
            ("br", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, header.parse().unwrap());
            assert_eq!(preferred(&headers), expected, "{header}");
        }
        assert_eq!(preferred(&HeaderMap::new()), None);
    }

    #[test]
    fn several_headers_count_as_one() {
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_ENCODING, "gzip;q=0.1".parse().unwrap());
        headers.append(ACCEPT_ENCODING, "deflate".parse().unwrap());
        assert_eq!(preferred(&headers), Some(Deflate));
    }
}
