//! Words that code and documents do not use: names that this project once coined where the field has a word, and
//! sentences whose subject is no particular thing.

/// Names that had to go, each with the field's word. None of them comes back.
pub const COINED: &[(&str, &str)] = &[
    ("House", "ServerContext"),
    ("Shelf", "RepoRegistry"),
    ("Keeper", "CloneBundleScheduler"),
    ("Noticed", "DirtySet"),
    ("Ration", "RateLimiter"),
    ("Warmer", "AutoIndexer"),
    ("Seat", "Waiter"),
    ("Reign", "LeaderGuard"),
    ("Amended", "Overlay"),
    ("Unwritten", "MemtableBudget"),
    ("IndexView", "IndexSnapshot"),
    ("if_fresh", "get_if_current"),
    ("must_not_wait", "ReadMode::CachedOnly"),
    ("give_back", "punch_hole"),
    ("keep_whole", "pin"),
    ("foretell", "write_pending"),
    ("Travellers", "outgoing"),
    ("look_through", "bundle_repo"),
    ("Stranger", "UntrustedConfig"),
    ("Neighbour", "LocalPeer"),
    ("Wishes", "BundlePreferences"),
    ("Notice", "DirtyFlag"),
    ("Pace", "Throttle"),
    ("Bed", "Parked"),
    ("News", "Wakeup"),
    ("Standing", "IndexState"),
    ("refreshed", "update_to"),
    ("at_once", "ReadMode::CachedOnly"),
    ("give_up", "ReadMode::CachedOnly"),
    ("Patience", "TimeBudget"),
    ("Tally", "SizeStats"),
    ("tally", "stats"),
    ("travellers", "outgoing"),
    ("stranger", "untrusted"),
    ("strangers", "untrusted users"),
    ("keeper", "scheduler"),
    ("stand-in", "placeholder"),
    ("stand-ins", "placeholders"),
    ("face", "hgcli"),
    ("reclaim", "punch_holes"),
    ("warming", "AutoIndexer"),
    ("folder", "directory"),
    ("folders", "directories"),
];

/// Words that say nothing about the thing that acts, or have a better one. `banned_words.txt` keeps how often each
/// still stands in the sources; the numbers may only fall.
pub const VAGUE: &[&str] = &["whoever", "somebody", "nobody"];

/// Type names that fit ten things and say of none what it is; `bare_type_names.txt` keeps where they still stand.
pub const BARE: &[&str] = &[
    "Asked", "Chosen", "Facts", "Form", "Found", "Given", "Item", "Kind", "Look", "Mark", "Open",
    "Piece", "Place", "Seen", "Share", "Source", "State", "Thing", "Told", "Way", "Words", "Work",
];

/// Bare names of the structs, enums and traits that a text declares.
pub fn bare_type_names(text: &str) -> Vec<&'static str> {
    let declared = |line: &str| {
        let line = line.trim_start();
        let line = match line.strip_prefix("pub") {
            Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
            None => line,
        };
        let (keyword, rest) = line.split_once(' ')?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        let is_type = ["struct", "enum", "trait"].contains(&keyword);
        BARE.iter().copied().find(|bare| is_type && *bare == name)
    };
    text.lines().filter_map(declared).collect()
}

/// Lines (from 1) with a coined name, each with the name and its replacement.
pub fn coined_names(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let lines = text.lines().zip(1..);
    lines
        .flat_map(|(line, at)| {
            let hits = COINED.iter().filter(move |(name, _)| count(line, name) > 0);
            hits.map(move |(name, better)| (at, *name, *better))
        })
        .collect()
}

/// How often a word stands in a text on its own, in lower case or at the head of a sentence.
pub fn count_vague(text: &str, word: &str) -> usize {
    let mut capital = word.to_owned();
    if let Some(first) = capital.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    count(text, word) + count(text, &capital)
}

fn count(text: &str, word: &str) -> usize {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let hits = text.match_indices(word).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !is_part(before) && !is_part(after)
    });
    hits.count()
}
