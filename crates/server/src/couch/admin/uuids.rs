//! Ids for documents that come without one: made here, and handed out by `/_uuids`.

use crate::auth::password::{fill_random, random_hex};
use crate::couch::admin::json;
use crate::{Answer, CouchContext, Failure, Request, ServerError};
use parking_lot::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_config::Algorithm;
use varve_json::{Object, Value};

/// Values of the counting part of an id: six hexadecimal digits.
const COUNTED: u32 = 1 << 24;
/// `Expires` of ids, for caches that know nothing newer: a time that is over.
const LONG_AGO: &str = "Mon, 01 Jan 1990 00:00:00 GMT";
/// Each id is up to this much larger than the one before, so that ids cannot be guessed.
const LARGEST_STEP: u32 = 0xffe;

/// Ids of 32 hexadecimal digits: 26 random ones that stay for a while, then six that grow. Ids
/// made one after another stand next to each other in the database, which keeps its trees small.
#[derive(Debug)]
pub(crate) struct Uuids(Mutex<Series>);

#[derive(Debug)]
struct Series {
    prefix: [u8; 13],
    last: u32,
    /// State of a small generator for the steps (xorshift; their quality matters little).
    step: u64,
}

impl Uuids {
    /// # Errors
    /// [`ServerError::Random`].
    pub(crate) fn new() -> Result<Self, ServerError> {
        let mut seed = [0; 8];
        fill_random(&mut seed)?;
        let mut series = Series {
            prefix: [0; 13],
            last: 0,
            step: u64::from_le_bytes(seed) | 1,
        };
        fill_random(&mut series.prefix)?;
        Ok(Uuids(Mutex::new(series)))
    }

    /// The next id, made as the settings say.
    pub(crate) fn make(&self, settings: &varve_config::Uuids) -> String {
        match settings.algorithm {
            Algorithm::Sequential => self.next(),
            Algorithm::Random => self.random(16),
            Algorithm::UtcRandom => time() + &self.random(9),
            Algorithm::UtcId => time() + &settings.suffix,
        }
    }

    /// Random digits, two for each byte; a series' next ones should the system have none.
    fn random(&self, bytes: usize) -> String {
        random_hex(bytes).unwrap_or_else(|_| {
            let next = self.next();
            next[next.len() - 2 * bytes..].to_owned()
        })
    }

    fn next(&self) -> String {
        let mut series = self.0.lock();
        series.step ^= series.step << 13;
        series.step ^= series.step >> 7;
        series.step ^= series.step << 17;
        let step = u32::try_from(series.step % u64::from(LARGEST_STEP)).unwrap_or(0) + 1;
        series.last += step;
        if series.last >= COUNTED {
            series.last = step;
            // The old prefix with its bytes moved on is new too, should the system have no
            // random bytes at this moment.
            if fill_random(&mut series.prefix).is_err() {
                series.prefix.rotate_left(1);
            }
        }
        let mut id = String::with_capacity(32);
        for byte in series.prefix {
            id.push_str(&format!("{byte:02x}"));
        }
        id.push_str(&format!("{:06x}", series.last));
        id
    }
}

/// Microseconds since 1970 as 14 hexadecimal digits.
fn time() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{:014x}", now.map_or(0, |now| now.as_micros()))
}

pub(super) fn route(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    if !request.is_read() {
        return Err(Failure::method_not_allowed("GET"));
    }
    let count = request.query("count").unwrap_or("1");
    let count = count.parse::<u64>();
    let count = count.map_err(|_| Failure::bad_request("count must be a positive integer"))?;
    let settings = app.settings();
    if count > settings.uuids.most {
        return Err(Failure::bad_request("count parameter too large"));
    }
    let ids: Vec<String> = (0..count)
        .map(|_| app.uuids.make(&settings.uuids))
        .collect();
    let etag = format!("\"{}\"", ids.first().map_or("", String::as_str));
    let mut answer = Object::new();
    answer.insert("uuids", ids.into_iter().map(Value::from).collect::<Value>());
    Ok(json(&answer.into())
        .with_header("cache-control", "no-cache")
        .with_header("pragma", "no-cache")
        .with_header("expires", LONG_AGO)
        .with_header("etag", &etag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_algorithm_has_its_form() {
        let uuids = Uuids::new().unwrap();
        let make = |algorithm| {
            let suffix = "-x".to_owned();
            let most = 1;
            uuids.make(&varve_config::Uuids {
                algorithm,
                suffix,
                most,
            })
        };
        let (one, other) = (make(Algorithm::Random), make(Algorithm::Random));
        assert!(one.len() == 32 && other.len() == 32 && one[..26] != other[..26]);
        let (one, other) = (make(Algorithm::UtcRandom), make(Algorithm::UtcRandom));
        assert!(one.len() == 32 && one[..8] == other[..8] && one[14..] != other[14..]);
        let timed = make(Algorithm::UtcId);
        assert!(timed.len() == 16 && timed.ends_with("-x"), "{timed}");
    }

    #[test]
    fn ids_grow_and_never_repeat_also_across_prefixes() {
        let uuids = Uuids::new().unwrap();
        let ids: Vec<String> = (0..20_000).map(|_| uuids.next()).collect();
        assert!(ids.iter().all(|id| id.len() == 32));
        let same_prefix = ids[0][..26] == ids[1][..26];
        assert!(same_prefix && ids[0] < ids[1]);
        let prefixes: HashSet<&str> = ids.iter().map(|id| &id[..26]).collect();
        assert!(prefixes.len() >= 2, "a prefix lasts some 8,000 ids");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }
}
