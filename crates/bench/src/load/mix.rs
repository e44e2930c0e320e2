//! Kinds of requests, and their shares.

use std::str::FromStr;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A document by its id.
    Read,
    /// New documents.
    Write,
    /// A query of a view, or whatever path is given.
    Query,
    /// A page of the changes feed.
    Feed,
}

impl RequestKind {
    /// All kinds, in the order of tables.
    pub const ALL: [RequestKind; 4] = [
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Query,
        RequestKind::Feed,
    ];

    /// Name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Query => "query",
            RequestKind::Feed => "feed",
        }
    }
}

/// Shares of the kinds; only their ratios count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix([u32; 4]);

/// Words that are no mix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shares of read, write, query and feed, such as read=70,write=20,query=5,feed=5")]
pub struct MixError;

impl Default for Mix {
    /// Mostly reads.
    fn default() -> Mix {
        Mix([70, 20, 5, 5])
    }
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Mix, MixError> {
        let mut shares = [0; 4];
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or(MixError)?;
            let kind = RequestKind::ALL
                .into_iter()
                .find(|kind| kind.name() == name);
            let kind = kind.ok_or(MixError)? as usize;
            if shares[kind] != 0 {
                return Err(MixError);
            }
            shares[kind] = share.parse().map_err(|_| MixError)?;
        }
        match shares.iter().map(|share| u64::from(*share)).sum::<u64>() {
            0 => Err(MixError),
            _ => Ok(Mix(shares)),
        }
    }
}

impl Mix {
    /// True if the mix has any of a kind.
    pub fn has(self, kind: RequestKind) -> bool {
        self.0[kind as usize] > 0
    }

    /// The kind of request number `number`. Kinds are spread evenly and in the same order in every run.
    pub(super) fn pick(self, number: u64) -> RequestKind {
        let total: u64 = self.0.iter().map(|share| u64::from(*share)).sum();
        // A permutation of the residues: the multiplier has no common divisor with any total below it.
        let mut at = (number % total).wrapping_mul(7919) % total;
        for kind in RequestKind::ALL {
            let share = u64::from(self.0[kind as usize]);
            if at < share {
                return kind;
            }
            at -= share;
        }
        RequestKind::Read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_shares_that_were_asked_for() {
        let mix: Mix = "read=6,write=3,feed=1".parse().unwrap();
        let mut counts = [0; 4];
        (0..1000).for_each(|number| counts[mix.pick(number) as usize] += 1);
        assert_eq!(counts, [600, 300, 0, 100]);
        assert!(mix.has(RequestKind::Feed) && !mix.has(RequestKind::Query));
        for wrong in [
            "",
            "read",
            "read=x",
            "scan=1",
            "read=0",
            "read=1,read=2",
            "read=-1",
        ] {
            assert_eq!(wrong.parse::<Mix>(), Err(MixError), "{wrong}");
        }
    }
}
