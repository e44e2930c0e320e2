//! One entry of the dirstate.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The file system's time: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Negative before 1970.
    pub seconds: i64,
    /// Below one billion; 0 where the file system has none.
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

/// The part of a file's `stat` that the dirstate keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Type and permissions, as the system has them.
    pub mode: u32,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: Timestamp,
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Stat {
        Stat {
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

/// The state of an entry, a letter in the first format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// In the first parent, or taken from the second.
    Normal,
    /// Tracked since the last commit.
    Added,
    /// No longer tracked.
    Removed,
    /// Merged from both parents.
    Merged,
}

/// A comparison of a tracked file with its entry, without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatMatch {
    /// As it was when it was last known to be clean.
    Same,
    /// Certainly not as in the first parent.
    Different,
    /// Only a comparison of the content decides.
    Unsure,
}

/// Size and seconds are kept in 31 bits, in both formats.
pub(super) const MASK_31: u32 = 0x7fff_ffff;

const EXECUTABLE: u32 = 0o100;
const FILE_TYPE: u32 = 0o170_000;
const LINK_TYPE: u32 = 0o120_000;

/// The entry of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirstateEntry {
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

impl DirstateEntry {
    /// A file of which nothing but this is known.
    pub fn of(tracking: Tracking) -> DirstateEntry {
        DirstateEntry {
            tracking,
            ..DirstateEntry::default()
        }
    }

    /// Where it is tracked.
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// Whether the dirstate has an entry for it at all.
    pub(super) fn exists(&self) -> bool {
        self.tracking.working || self.tracking.p1 || self.tracking.p2_info
    }

    /// Whether it will be in the next commit.
    pub fn is_tracked(&self) -> bool {
        self.tracking.working
    }

    /// The letter.
    pub fn state(&self) -> EntryState {
        match self.tracking {
            Tracking { working: false, .. } => EntryState::Removed,
            Tracking {
                p1: true,
                p2_info: true,
                ..
            } => EntryState::Merged,
            Tracking {
                p1: false,
                p2_info: false,
                ..
            } => EntryState::Added,
            _ => EntryState::Normal,
        }
    }

    /// Records the stat of a clean file. Its time counts only if it lies before `boundary`, a
    /// time of the same file system from before the file was read: a later change could otherwise
    /// leave the same time.
    pub(super) fn set_stat(&mut self, seen: &Stat, boundary: Timestamp) {
        self.has_size = true;
        self.mode = seen.mode as u16;
        self.size = low_31(seen.size);
        self.has_mtime = seen.mtime < boundary;
        self.second_ambiguous = self.has_mtime && seen.mtime.seconds == boundary.seconds;
        self.seconds = low_31(seen.mtime.seconds as u64);
        self.nanos = seen.mtime.nanos;
        if !self.has_mtime {
            self.clear_mtime();
        }
    }

    pub(super) fn clear_mtime(&mut self) {
        (self.has_mtime, self.second_ambiguous) = (false, false);
        (self.seconds, self.nanos) = (0, 0);
    }

    pub(super) fn clear_stat(&mut self) {
        *self = DirstateEntry::of(self.tracking);
    }

    pub(super) fn is_link(&self) -> bool {
        u32::from(self.mode) & FILE_TYPE == LINK_TYPE
    }

    pub(super) fn is_executable(&self) -> bool {
        u32::from(self.mode) & EXECUTABLE != 0
    }

    /// Compares the entry of a tracked file with the file's stat.
    pub fn compare(&self, seen: &Stat) -> StatMatch {
        if self.tracking.p2_info {
            return StatMatch::Different;
        }
        if !self.has_size {
            return StatMatch::Unsure;
        }
        let size_differs = self.size != low_31(seen.size);
        if size_differs || (u32::from(self.mode) ^ seen.mode) & EXECUTABLE != 0 {
            return StatMatch::Different;
        }
        if (u32::from(self.mode) ^ seen.mode) & FILE_TYPE != 0 {
            return StatMatch::Unsure;
        }
        if self.has_mtime && self.is_time(seen.mtime) {
            return StatMatch::Same;
        }
        StatMatch::Unsure
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

    fn clean(mtime: Timestamp, boundary: Timestamp) -> (DirstateEntry, Stat) {
        let mut entry = DirstateEntry::of(Tracking {
            working: true,
            p1: true,
            p2_info: false,
        });
        let seen = Stat {
            mode: 0o100_644,
            size: 5 << 31 | 7,
            mtime,
        };
        entry.set_stat(&seen, boundary);
        (entry, seen)
    }

    #[test]
    fn a_time_counts_only_if_later_changes_must_get_another() {
        let (entry, seen) = clean(at(10, 5), at(11, 0));
        assert_eq!(entry.compare(&seen), StatMatch::Same);
        assert!(!entry.second_ambiguous);
        for boundary in [at(10, 5), at(10, 4), at(9, 9)] {
            let (entry, seen) = clean(at(10, 5), boundary);
            assert_eq!(entry.compare(&seen), StatMatch::Unsure, "{boundary:?}");
        }
        let (entry, mut seen) = clean(at(10, 5), at(10, 6));
        assert!(entry.second_ambiguous);
        assert_eq!(entry.compare(&seen), StatMatch::Same);
        seen.mtime.nanos = 0;
        assert_eq!(entry.compare(&seen), StatMatch::Unsure);
    }

    #[test]
    fn what_differs_is_told_from_what_is_unsure() {
        let (entry, seen) = clean(at(10, 5), at(12, 0));
        let changed = |change: fn(&mut Stat)| {
            let mut seen = seen;
            change(&mut seen);
            entry.compare(&seen)
        };
        assert_eq!(
            changed(|seen| seen.size = 7),
            StatMatch::Same,
            "modulo 2^31"
        );
        assert_eq!(changed(|seen| seen.size = 8), StatMatch::Different);
        assert_eq!(changed(|seen| seen.mode = 0o100_755), StatMatch::Different);
        assert_eq!(changed(|seen| seen.mode = 0o120_644), StatMatch::Unsure);
        assert_eq!(changed(|seen| seen.mode = 0o100_600), StatMatch::Same);
        assert_eq!(changed(|seen| seen.mtime.seconds = 9), StatMatch::Unsure);
        assert_eq!(changed(|seen| seen.mtime.nanos = 6), StatMatch::Unsure);
        assert_eq!(changed(|seen| seen.mtime.nanos = 0), StatMatch::Same);
    }
}
