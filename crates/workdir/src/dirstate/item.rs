//! What the dirstate knows of one file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The file system's time: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Negative before 1970.
    pub seconds: i64,
    /// Below one billion; 0 where the file system does not tell.
    pub nanos: u32,
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp {
                seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
                nanos: since.subsec_nanos(),
            },
            Err(_) => Timestamp::default(),
        }
    }
}

/// What the file system tells about a file, as far as the dirstate keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Type and permissions, as the system has them.
    pub mode: u32,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: Timestamp,
}

impl From<&Metadata> for Seen {
    fn from(metadata: &Metadata) -> Seen {
        Seen {
            mode: metadata.mode(),
            size: metadata.len(),
            mtime: Timestamp {
                seconds: metadata.mtime(),
                nanos: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
            },
        }
    }
}

/// Where a file is tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracking {
    /// In the working copy: it will be in the next commit.
    pub working: bool,
    /// In the first parent.
    pub p1: bool,
    /// A merge has touched it, or took it from the second parent.
    pub p2_info: bool,
}

/// The letter that the dirstate has for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In the first parent, or taken from the second.
    Normal,
    /// Tracked since the last commit.
    Added,
    /// No longer tracked.
    Removed,
    /// Merged from both parents.
    Merged,
}

/// What a look at the file system tells about a tracked file, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// As it was when it was last known to be clean.
    Same,
    /// Certainly not as in the first parent.
    Different,
    /// Only its content can tell.
    Unsure,
}

/// Size and seconds are kept in 31 bits, in both formats.
pub(super) const MASK_31: u32 = 0x7fff_ffff;

const EXECUTABLE: u32 = 0o100;
const FILE_TYPE: u32 = 0o170_000;
const LINK_TYPE: u32 = 0o120_000;

/// What the dirstate knows of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    pub(super) tracking: Tracking,
    pub(super) has_size: bool,
    pub(super) has_mtime: bool,
    /// The time may be compared only with times that have nanoseconds.
    pub(super) second_ambiguous: bool,
    pub(super) mode: u16,
    pub(super) size: u32,
    pub(super) seconds: u32,
    pub(super) nanos: u32,
}

impl Item {
    /// A file of which nothing but this is known.
    pub fn of(tracking: Tracking) -> Item {
        Item {
            tracking,
            ..Item::default()
        }
    }

    /// Where it is tracked.
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// Whether the dirstate has an entry for it at all.
    pub(super) fn is_anywhere(&self) -> bool {
        self.tracking.working || self.tracking.p1 || self.tracking.p2_info
    }

    /// Whether it will be in the next commit.
    pub fn is_tracked(&self) -> bool {
        self.tracking.working
    }

    /// The letter.
    pub fn state(&self) -> State {
        match self.tracking {
            Tracking { working: false, .. } => State::Removed,
            Tracking {
                p1: true,
                p2_info: true,
                ..
            } => State::Merged,
            Tracking {
                p1: false,
                p2_info: false,
                ..
            } => State::Added,
            _ => State::Normal,
        }
    }

    /// Keeps what a clean file looks like. Its time counts only if it lies before `boundary`, a
    /// time of the same file system from before the file was read: a later change could otherwise
    /// leave the same time.
    pub(super) fn set_seen(&mut self, seen: &Seen, boundary: Timestamp) {
        self.has_size = true;
        self.mode = seen.mode as u16;
        self.size = low_31(seen.size);
        self.has_mtime = seen.mtime < boundary;
        self.second_ambiguous = self.has_mtime && seen.mtime.seconds == boundary.seconds;
        self.seconds = low_31(seen.mtime.seconds as u64);
        self.nanos = seen.mtime.nanos;
        if !self.has_mtime {
            self.forget_mtime();
        }
    }

    pub(super) fn forget_mtime(&mut self) {
        (self.has_mtime, self.second_ambiguous) = (false, false);
        (self.seconds, self.nanos) = (0, 0);
    }

    pub(super) fn forget_seen(&mut self) {
        *self = Item::of(self.tracking);
    }

    pub(super) fn is_link(&self) -> bool {
        u32::from(self.mode) & FILE_TYPE == LINK_TYPE
    }

    pub(super) fn is_executable(&self) -> bool {
        u32::from(self.mode) & EXECUTABLE != 0
    }

    /// Compares a tracked file with what the file system tells of it.
    pub fn compare(&self, seen: &Seen) -> Match {
        if self.tracking.p2_info {
            return Match::Different;
        }
        if !self.has_size {
            return Match::Unsure;
        }
        let size_differs = self.size != low_31(seen.size);
        if size_differs || (u32::from(self.mode) ^ seen.mode) & EXECUTABLE != 0 {
            return Match::Different;
        }
        if (u32::from(self.mode) ^ seen.mode) & FILE_TYPE != 0 {
            return Match::Unsure;
        }
        if self.has_mtime && self.is_time(seen.mtime) {
            return Match::Same;
        }
        Match::Unsure
    }

    /// Equal as far as both are known: nanoseconds of zero say nothing.
    fn is_time(&self, time: Timestamp) -> bool {
        if self.seconds != low_31(time.seconds as u64) {
            return false;
        }
        if self.nanos == 0 || time.nanos == 0 {
            return !self.second_ambiguous;
        }
        self.nanos == time.nanos
    }
}

fn low_31(number: u64) -> u32 {
    number as u32 & MASK_31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, nanos: u32) -> Timestamp {
        Timestamp { seconds, nanos }
    }

    fn clean(mtime: Timestamp, boundary: Timestamp) -> (Item, Seen) {
        let mut item = Item::of(Tracking {
            working: true,
            p1: true,
            p2_info: false,
        });
        let seen = Seen {
            mode: 0o100_644,
            size: 5 << 31 | 7,
            mtime,
        };
        item.set_seen(&seen, boundary);
        (item, seen)
    }

    #[test]
    fn a_time_counts_only_if_later_changes_must_get_another() {
        let (item, seen) = clean(at(10, 5), at(11, 0));
        assert_eq!(item.compare(&seen), Match::Same);
        assert!(!item.second_ambiguous);
        for boundary in [at(10, 5), at(10, 4), at(9, 9)] {
            let (item, seen) = clean(at(10, 5), boundary);
            assert_eq!(item.compare(&seen), Match::Unsure, "{boundary:?}");
        }
        let (item, mut seen) = clean(at(10, 5), at(10, 6));
        assert!(item.second_ambiguous);
        assert_eq!(item.compare(&seen), Match::Same);
        seen.mtime.nanos = 0;
        assert_eq!(item.compare(&seen), Match::Unsure);
    }

    #[test]
    fn what_differs_is_told_from_what_is_unsure() {
        let (item, seen) = clean(at(10, 5), at(12, 0));
        let changed = |change: fn(&mut Seen)| {
            let mut seen = seen;
            change(&mut seen);
            item.compare(&seen)
        };
        assert_eq!(changed(|seen| seen.size = 7), Match::Same, "modulo 2^31");
        assert_eq!(changed(|seen| seen.size = 8), Match::Different);
        assert_eq!(changed(|seen| seen.mode = 0o100_755), Match::Different);
        assert_eq!(changed(|seen| seen.mode = 0o120_644), Match::Unsure);
        assert_eq!(changed(|seen| seen.mode = 0o100_600), Match::Same);
        assert_eq!(changed(|seen| seen.mtime.seconds = 9), Match::Unsure);
        assert_eq!(changed(|seen| seen.mtime.nanos = 6), Match::Unsure);
        assert_eq!(changed(|seen| seen.mtime.nanos = 0), Match::Same);
    }
}
