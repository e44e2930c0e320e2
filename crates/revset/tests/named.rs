//! Names and common properties of changesets in random histories: nodes, tags, bookmarks, files, metadata, and marks of
//! a bisection.

use super::laws::{ancestors, descendants, graphs};
use super::memory::{History, answer, engine, write};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use varve_repo::{BisectState, LockKind, RepoView};
use varve_revset::{Engine, RevsetError};

/// Numbers of those rows that pass.
fn numbered<T>(rows: &[T], keep: impl Fn(usize, &T) -> bool) -> Vec<i64> {
    let rows = rows.iter().enumerate();
    rows.filter(|(at, row)| keep(*at, row))
        .map(|(at, _)| at as i64)
        .collect()
}

fn refused(engine: &Engine<'_>, query: &str) -> String {
    let error = engine.query(query.as_bytes()).map(drop).unwrap_err();
    assert!(
        matches!(error, RevsetError::Missing(_) | RevsetError::Parse { .. }),
        "{query}: {error}"
    );
    error.to_string()
}

/// Bookmarks and tags of a history in one line, by name.
type Names = BTreeMap<String, usize>;

fn names() -> impl Strategy<Value = Names> {
    proptest::collection::btree_map("[x-z]{1,2}", 0..5_usize, 0..5)
}

fn named_history(bookmarks: &Names, tags: &Names) -> Arc<RepoView> {
    let mut history = History::new();
    for rev in 0..5_usize {
        history.commit(&Vec::from_iter(rev.checked_sub(1)));
    }
    let lines = tags.iter().map(|(name, rev)| {
        let node = history.node(*rev).to_hex();
        format!("{} {name}\n", std::str::from_utf8(&node).unwrap())
    });
    let lines: String = lines.collect();
    history.commit_files(&[4], &[write(".hgtags", &lines)], |_| {});
    history.finish_with(|repository, nodes| {
        let all = bookmarks.iter();
        let all = all.map(|(name, rev)| (name.as_bytes().to_vec(), nodes[*rev]));
        let lock = repository.try_lock(LockKind::Store).unwrap();
        let mut transaction = repository.transaction(lock, "bookmark").unwrap();
        transaction.set_bookmarks(&all.collect()).unwrap();
        transaction.finish().unwrap();
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// By its exact name, by an expression, and all of a kind; a name that does not exist is an error, an expression
    /// without a match is none.
    #[test]
    fn tags_and_bookmarks_are_found_by_name_and_by_expression(bookmarks in names(), tags in names(), letter in "[x-z]") {
        let view = named_history(&bookmarks, &tags);
        let engine = engine(&view, &[]);
        let revs = |of: &Names, keep: &dyn Fn(&str) -> bool| -> Vec<i64> {
            let found: BTreeSet<usize> = of.iter().filter(|(name, _)| keep(name)).map(|(_, rev)| *rev).collect();
            found.into_iter().map(|rev| rev as i64).collect()
        };
        for (kind, of, namespace) in [("bookmark", &bookmarks, "bookmarks"), ("tag", &tags, "tags")] {
            prop_assert_eq!(answer(&engine, &format!("{kind}()")), revs(of, &|_| true));
            prop_assert_eq!(answer(&engine, &format!("named('{namespace}')")), revs(of, &|_| true));
            let expected = revs(of, &|name| name.starts_with(&letter));
            prop_assert_eq!(answer(&engine, &format!("{kind}('re:^{letter}')")), expected);
            for name in [&letter[..], "literal:y", "xy"] {
                let bare = name.trim_start_matches("literal:");
                let query = format!("{kind}('{name}')");
                match of.get(bare) {
                    Some(rev) => prop_assert_eq!(answer(&engine, &query), vec![*rev as i64]),
                    None => prop_assert_eq!(refused(&engine, &query), format!("{kind} '{bare}' does not exist")),
                }
            }
        }
        // A bookmark hides a tag of the same name.
        for name in ["x", "y", "xy"] {
            let rev = bookmarks.get(name).or(tags.get(name));
            let found = engine.query(name.as_bytes()).ok().map(|_| answer(&engine, name));
            prop_assert_eq!(found, rev.map(|rev| vec![*rev as i64]), "{}", name);
        }
        prop_assert_eq!(answer(&engine, "tag(tip)"), vec![5]);
        prop_assert_eq!(answer(&engine, "named('re:^b')"), {
            let mut all = revs(&bookmarks, &|_| true);
            all.push(5);
            all
        });
        prop_assert_eq!(refused(&engine, "named(nosuch)"), "namespace 'nosuch' does not exist");
    }

    /// The beginning of a node names a changeset where no other begins alike; `id()` then finds nothing, and as a name
    /// it is refused.
    #[test]
    fn beginnings_of_nodes_name_one_changeset_or_none(len in 2..40_usize, salt: u32) {
        let mut history = History::new();
        for _ in 0..len {
            history.commit_files(&[], &[], |new| new.date.0 += i64::from(salt));
        }
        let nodes: Vec<String> = (0..len).map(|rev| String::from_utf8(history.node(rev).to_hex().to_vec()).unwrap()).collect();
        let view = history.finish();
        let engine = engine(&view, &[]);
        for (rev, node) in nodes.iter().enumerate() {
            for digits in 1..4 {
                // Numbers come before nodes, and the working copy and the null revision have such beginnings too.
                let prefix = &node[..digits];
                if prefix.parse::<u32>().is_ok() || prefix.bytes().all(|byte| b"f0".contains(&byte)) {
                    continue;
                }
                let alike = nodes.iter().filter(|node| node.starts_with(prefix)).count();
                let expected = Vec::from_iter((alike == 1).then_some(rev as i64));
                prop_assert_eq!(answer(&engine, &format!("id('{prefix}')")), expected, "{}", prefix);
                prop_assert_eq!(engine.query(prefix.as_bytes()).is_ok(), alike == 1, "{}", prefix);
            }
            prop_assert_eq!(answer(&engine, node), vec![rev as i64]);
            prop_assert_eq!(answer(&engine, &format!("id({node}0)")), Vec::<i64>::new());
        }
    }

    #[test]
    fn changesets_match_in_the_named_fields(
        rows in proptest::collection::vec((0..2_usize, 0..2_usize, 0..2_i64, 0..3_usize), 1..9), of in 0..9_usize,
    ) {
        const USERS: [&[u8]; 2] = [b"ada", b"bob"];
        const BRANCHES: [&[u8]; 2] = [b"default", b"side"];
        const TEXTS: [&[u8]; 3] = [b"one", b"one\nmore", b"two"];
        let mut history = History::new();
        for (rev, (user, branch, time, text)) in rows.iter().copied().enumerate() {
            history.commit_files(&Vec::from_iter(rev.checked_sub(1)), &[], |new| {
                (new.user, new.branch, new.date) = (USERS[user], BRANCHES[branch], (time, 0));
                new.description = TEXTS[text];
            });
        }
        let view = history.finish();
        let engine = engine(&view, &[]);
        let of = of % rows.len();
        let one = rows[of];
        type Row = (usize, usize, i64, usize);
        // The first two texts have the same first line.
        type Case<'a> = (&'a str, &'a dyn Fn(&Row) -> bool);
        let cases: [Case<'_>; 6] = [
            ("user", &|row| row.0 == one.0),
            ("branch date", &|row| (row.1, row.2) == (one.1, one.2)),
            ("description", &|row| row.3 == one.3),
            ("summary author", &|row| row.3 / 2 == one.3 / 2 && row.0 == one.0),
            ("metadata", &|row| (row.0, row.2, row.3) == (one.0, one.2, one.3)),
            ("phase", &|_| true),
        ];
        for (fields, keep) in cases {
            let expected = numbered(&rows, |_, row| keep(row));
            prop_assert_eq!(answer(&engine, &format!("matching({of}, '{fields}')")), expected, "{}", fields);
        }
        prop_assert_eq!(answer(&engine, &format!("matching({of})")), answer(&engine, &format!("matching({of}, metadata)")));
        let several = numbered(&rows, |_, row| row.0 == one.0 || row.0 == rows[0].0);
        prop_assert_eq!(answer(&engine, &format!("matching(0 + {of}, user)")), several);
        prop_assert_eq!(answer(&engine, &format!("matching({of}, parents)")), vec![of as i64]);
        prop_assert_eq!(refused(&engine, "matching(0, nosuch)"), "unexpected field name passed to matching: nosuch");
    }

    /// `filelog` has the changesets that made revisions, `contains` those that have the file, and `follow` those of the
    /// file as it is.
    #[test]
    fn histories_of_files_are_those_of_their_changes(
        edits in proptest::collection::vec((prop::sample::select(vec!["a", "b", "dir/c"]), any::<bool>()), 1..10),
    ) {
        let mut history = History::new();
        let mut there = BTreeMap::new();
        let (mut made, mut has) = (Vec::new(), Vec::new());
        for (rev, (path, removes)) in edits.iter().enumerate() {
            let parent = Vec::from_iter(rev.checked_sub(1));
            let text = format!("{rev}\n");
            let removes = *removes && there.contains_key(path);
            match removes {
                true => history.commit_files(&parent, &[varve_repo::FileChange::Remove { path: path.as_bytes() }], |_| {}),
                false => history.commit_files(&parent, &[write(path, &text)], |_| {}),
            }
            let since = if removes { there.remove(path); Vec::new() } else {
                let mut since: Vec<i64> = there.get(path).cloned().unwrap_or_default();
                since.push(rev as i64);
                since
            };
            if !removes {
                there.insert(*path, since);
            }
            made.push((*path, !removes));
            has.push(there.keys().copied().collect::<BTreeSet<_>>());
        }
        let view = history.finish();
        let engine = engine(&view, &[edits.len() - 1]);
        for path in ["a", "b", "dir/c"] {
            let expected = numbered(&made, |_, (changed, writes)| *changed == path && *writes);
            prop_assert_eq!(answer(&engine, &format!("filelog('{path}')")), expected);
            let expected = numbered(&has, |_, files| files.contains(path));
            prop_assert_eq!(answer(&engine, &format!("contains('{path}')")), expected);
            let expected = numbered(&made, |_, (changed, writes)| *changed == path && !writes);
            prop_assert_eq!(answer(&engine, &format!("removes('{path}')")), expected);
            let expected = there.get(path).cloned().unwrap_or_default();
            prop_assert_eq!(answer(&engine, &format!("follow('{path}')")), expected, "{}", path);
        }
    }

    /// Marks cut a history into parts, whatever was marked.
    #[test]
    fn marks_of_a_bisection_cut_the_history(graph in graphs(), good in 0..12_usize, bad in 0..12_usize, skip in 0..12_usize) {
        let mut history = History::new();
        graph.iter().for_each(|parents| history.commit(parents));
        let len = graph.len();
        let (good, bad, skip) = (good % len, bad % len, skip % len);
        let view = history.finish_with(|repository, nodes| {
            let mark = |rev: usize| vec![nodes[rev]];
            let state = BisectState { good: mark(good), bad: mark(bad), skip: mark(skip), current: Vec::new() };
            state.write(repository).unwrap();
        });
        let engine = engine(&view, &[]);
        let above = |rev| ancestors(&graph, BTreeSet::from([rev]));
        let below = |rev| descendants(&graph, BTreeSet::from([rev]));
        let forward = &below(good) & &above(bad);
        let range = &forward | &(&below(bad) & &above(good));
        let (goods, bads) = match forward.is_empty() {
            false => (above(good), below(bad)),
            true => (below(good), above(bad)),
        };
        let pruned = &(&goods | &bads) | &BTreeSet::from([skip]);
        let beside = &(&above(good) ^ &above(bad)) - &range;
        for (name, expected) in [
            ("good", BTreeSet::from([good])), ("bad", BTreeSet::from([bad])), ("skip", BTreeSet::from([skip])),
            ("current", BTreeSet::new()), ("goods", goods), ("bads", bads), ("untested", &range - &pruned),
            ("range", range), ("pruned", pruned), ("ignored", beside),
        ] {
            let expected: Vec<i64> = expected.into_iter().map(|rev| rev as i64).collect();
            prop_assert_eq!(answer(&engine, &format!("bisect({name})")), expected, "{}", name);
        }
        prop_assert_eq!(refused(&engine, "bisect(nosuch)"), "invalid bisect state");
    }
}
