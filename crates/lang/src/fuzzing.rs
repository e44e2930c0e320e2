//! Bodies of the fuzz targets; also run by plain tests.

use crate::date::{Clock, DateRange, Zone, parse};
use crate::fileset;
use crate::patterns::{Pattern, PatternEnd, PatternKind, PatternSet, RegexEngine};

/// Never panics on any pattern, and matches any path in time linear in both.
pub fn pattern(data: &[u8]) {
    let (text, path) = match data.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b"a/b.c"[..]),
    };
    let pattern = Pattern::parse(text, PatternKind::Glob);
    let patterns = [pattern];
    if let Ok(set) = PatternSet::compile(&patterns, PatternEnd::FileOrDirectory) {
        let _ = (set.matches(path), set.may_match_below(path));
    }
    // Those that need backtracking are only compiled: matching may take any time.
    let _ = PatternSet::compile_for(RegexEngine::Backtracking, &patterns, PatternEnd::File);
}

/// Never panics on any fileset.
pub fn fileset(data: &[u8]) {
    let _ = fileset::parse(data);
}

/// Never panics on any date, range of dates, zone or format; a parsed date is formatted to a text
/// that is parsed to the same date.
pub fn date(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let zone = Zone::from_file(data).or_else(|| Zone::from_posix(&text));
    let clock = Clock {
        now: 1_795_234_214,
        zone: zone.unwrap_or_default(),
    };
    let _ = DateRange::parse(&text, &clock);
    let _ = clock.date().format(&text);
    if let Ok(date) = parse(&text, &clock) {
        let again = format!("{} {}", date.time, date.zone);
        assert_eq!(parse(&again, &clock), Ok(date));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn changed_texts_keep_the_promises(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let changed = |golden: &[u8]| {
                let mut bytes = golden.to_vec();
                for (at, byte) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                bytes
            };
            super::pattern(&changed(b"re:(?i)[a-c]{2,3}\\d*(x|y)?\naa1"));
            super::pattern(&changed(b"relglob:**/{*.[ch],a?}\na/b.c"));
            super::fileset(&changed(b"revs(1, 'a\\x41' | **.c) - size('1k - 2.5M') & !(x, y)"));
            super::date(&changed(b"Wed Dec 6 13:18:29 2006 +0000"));
            super::date(&changed(b"2006-12 to 2007-02-03"));
            super::date(&changed(b"CET-1CEST,M3.5.0,M10.5.0/3"));
        }
    }
}
