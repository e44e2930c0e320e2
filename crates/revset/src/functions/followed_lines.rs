//! `followlines()`: changesets that changed some lines of a file.

use super::arguments;
use super::files::matcher;
use crate::bitset::BitSet;
use crate::follow::Filelogs;
use crate::tree::{Expr, Infix, RangeKind};
use crate::{Engine, Member, RevsetError, Set, WORKING_COPY};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use varve_delta::same_lines;
use varve_lang::patterns::PatternKind;
use varve_repo::{Node, RepoView, Rev};

/// Lines of a file revision, counted from 0.
pub(super) type Lines = Range<usize>;

/// A revision of a file in a changeset, and the lines of it that are followed.
pub(super) struct FollowedRevision {
    pub(super) changeset: Rev,
    pub(super) path: Vec<u8>,
    pub(super) node: Node,
    pub(super) lines: Lines,
}

pub(super) fn follow_lines(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let Arguments {
        file,
        lines,
        start,
        descends,
    } = Arguments::parse(engine, name, arguments)?;
    let mut walk = LineWalk {
        view: engine.view(),
        filelogs: Filelogs::new(engine.view()),
    };
    let found = match descends {
        false => walk.ancestors(start, &file, lines)?,
        true => walk.descendants(start, &file, lines)?,
    };
    Ok(engine.shown(found))
}

struct Arguments {
    file: (Vec<u8>, Node),
    lines: Lines,
    start: Rev,
    descends: bool,
}

impl Arguments {
    fn parse(
        engine: &Engine<'_>,
        name: &str,
        arguments: &[Expr],
    ) -> Result<Arguments, RevsetError> {
        let is_named = |argument: &&Expr| matches!(argument, Expr::KeyValue(..));
        let positional: Vec<&Expr> = arguments.iter().filter(|one| !is_named(one)).collect();
        let named: Vec<Expr> = arguments.iter().filter(is_named).cloned().collect();
        let [file, lines @ ..] = &positional[..] else {
            let words = format!("{name} takes at least 1 positional arguments");
            return Err(RevsetError::parse(words));
        };
        let [start, descends] = arguments::keyed(name, ["startrev", "descend"], &named)?;
        let start = start.map(|start| one_revision(engine, start)).transpose()?;
        let start = start.unwrap_or_else(|| engine.context().parents.first().copied());
        let pattern = arguments::word(file, "followlines requires a pattern")?;
        let [lines] = lines else {
            return Err(RevsetError::parse("followlines requires a line range"));
        };
        let lines = line_range(lines)?;
        let file = one_file(engine, pattern, start)?;
        Ok(Arguments {
            file,
            lines,
            start: start.ok_or(RevsetError::Empty)?,
            descends: descends.map_or(Ok(false), boolean)?,
        })
    }
}

fn one_revision(engine: &Engine<'_>, start: &Expr) -> Result<Member, RevsetError> {
    let set = engine.evaluate(start)?;
    let members: Vec<Member> = set.all_members(engine).collect::<Result<_, _>>()?;
    match members[..] {
        [Some(WORKING_COPY)] => Err(RevsetError::WorkingCopy),
        [one] => Ok(one),
        _ => Err(RevsetError::parse(
            "followlines expects exactly one revision",
        )),
    }
}

fn boolean(value: &Expr) -> Result<bool, RevsetError> {
    let Expr::Symbol(word) = value else {
        return Err(RevsetError::parse("not a symbol"));
    };
    match &word.to_ascii_lowercase()[..] {
        b"1" | b"yes" | b"true" | b"on" | b"always" => Ok(true),
        b"0" | b"no" | b"false" | b"off" | b"never" => Ok(false),
        _ => Err(RevsetError::parse("descend argument must be a boolean")),
    }
}

/// `FROM:TO` or one line, counted from 1.
fn line_range(argument: &Expr) -> Result<Lines, RevsetError> {
    const BOUNDS: &str = "line range bounds must be integers";
    let (from, to) = match argument {
        Expr::Infix(Infix::Between(RangeKind::Numbers), from, to) => (
            arguments::number(from, BOUNDS)?,
            arguments::number(to, BOUNDS)?,
        ),
        Expr::Whole(_) | Expr::Prefix(..) | Expr::Postfix(..) => {
            return Err(RevsetError::parse(BOUNDS));
        }
        one => {
            let words = "followlines expects a line number or a range";
            let line = arguments::number(one, words)?;
            (line, line)
        }
    };
    if to < from {
        return Err(RevsetError::parse("line range must be positive"));
    }
    match (usize::try_from(from - 1), usize::try_from(to)) {
        (Ok(from), Ok(to)) => Ok(from..to),
        _ => Err(RevsetError::parse("fromline must be strictly positive")),
    }
}

/// The file of a changeset that a path or a pattern names.
fn one_file(
    engine: &Engine<'_>,
    pattern: &[u8],
    start: Member,
) -> Result<(Vec<u8>, Node), RevsetError> {
    let view = engine.view();
    let text = view.manifest_text(start)?;
    let matcher = matcher(engine, pattern, PatternKind::Path, start)?;
    let mut found = Vec::new();
    if let [path] = matcher.named()
        && !path.is_empty()
        && matcher.is_exact(path)
    {
        let entry = view.find_in_manifest(&text, path)?;
        let missing = || RevsetError::NotInManifest {
            path: String::from_utf8_lossy(path).into_owned(),
            node: view.changelog().node_or_null(start),
        };
        return Ok((path.clone(), entry.ok_or_else(missing)?.node));
    }
    for entry in view.manifest_entries(&text) {
        let entry = entry?;
        if matcher.matches(entry.path) {
            found.push((entry.path.to_vec(), entry.node));
        }
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        _ => Err(RevsetError::parse("followlines expects exactly one file")),
    }
}

pub(super) struct LineWalk<'a> {
    pub(super) view: &'a RepoView,
    pub(super) filelogs: Filelogs<'a>,
}

impl LineWalk<'_> {
    pub(super) fn content(&self, path: &[u8], node: &Node) -> Result<Vec<u8>, RevsetError> {
        Ok(self.view.file_content(path, node)?)
    }

    fn introduced(&mut self, path: &[u8], node: &Node, from: Rev) -> Result<Rev, RevsetError> {
        let found = self.filelogs.introduced(path, node, from)?;
        Ok(found.unwrap_or(from))
    }

    fn ancestors(
        &mut self,
        start: Rev,
        (path, node): &(Vec<u8>, Node),
        lines: Lines,
    ) -> Result<BitSet, RevsetError> {
        check_length(&self.content(path, node)?, &lines)?;
        let start = FollowedRevision {
            changeset: start,
            path: path.clone(),
            node: *node,
            lines,
        };
        let mut found = BitSet::default();
        for changed in self.changing(vec![start])? {
            found.insert(Some(changed.changeset));
        }
        Ok(found)
    }

    /// The revisions that changed followed lines; those of `starts` may be older than the changesets that are given
    /// with them. Newest first, so that lines which come together by a merge are followed once.
    pub(super) fn changing(
        &mut self,
        starts: Vec<FollowedRevision>,
    ) -> Result<Vec<FollowedRevision>, RevsetError> {
        let mut found = Vec::new();
        let mut waiting = BTreeMap::new();
        for start in starts {
            let first = self.introduced(&start.path, &start.node, start.changeset)?;
            waiting.insert((first, start.path, start.node), start.lines);
        }
        while let Some(((changeset, path, node), lines)) = waiting.pop_last() {
            let parents = self.filelogs.parents(&path, &node)?;
            let mut is_changed = parents.is_empty();
            let content = self.content(&path, &node)?;
            for (parent, parent_node) in parents {
                let before = self.content(&parent, &parent_node)?;
                let (changed, lines) = lines_in(&before, &content, &lines);
                is_changed |= changed;
                if !lines.is_empty() {
                    let at = self.introduced(&parent, &parent_node, changeset)?;
                    waiting.insert((at, parent, parent_node), lines);
                }
            }
            if is_changed {
                found.push(FollowedRevision {
                    changeset,
                    path,
                    node,
                    lines,
                });
            }
        }
        Ok(found)
    }

    /// Revisions of the same filelog; renames are not followed.
    fn descendants(
        &mut self,
        start: Rev,
        (path, node): &(Vec<u8>, Node),
        lines: Lines,
    ) -> Result<BitSet, RevsetError> {
        let view = self.view;
        check_length(&self.content(path, node)?, &lines)?;
        // The start itself counts as a search of its ancestors tells it.
        let first = self.introduced(path, node, start)?;
        let own = self.ancestors(start, &(path.clone(), *node), lines.clone())?;
        let mut found = BitSet::default();
        if own.contains(Some(first)) {
            found.insert(Some(first));
        }
        let filelog = self.filelogs.get(path)?;
        let Some(begin) = filelog.rev(node) else {
            return Ok(found);
        };
        let later: Vec<Rev> = filelog.revs().filter(|rev| *rev > begin).collect();
        let mut followed = HashMap::from([(begin, lines)]);
        for rev in later {
            let filelog = self.filelogs.get(path)?;
            let (node, link) = (filelog.node(rev), filelog.linkrev(rev));
            let parents: Vec<_> = filelog.parents(rev).into_iter().flatten().collect();
            let (mut is_changed, mut lines) = (false, None::<Lines>);
            for parent in parents {
                let Some(before) = followed.get(&parent) else {
                    continue;
                };
                let parent_node = self.filelogs.get(path)?.node(parent);
                let (old, new) = (
                    self.content(path, &parent_node)?,
                    self.content(path, &node)?,
                );
                let (changed, after) = lines_in(&new, &old, before);
                is_changed |= changed;
                lines = Some(match lines {
                    None => after,
                    Some(other) => other.start.min(after.start)..other.end.max(after.end),
                });
            }
            let Some(lines) = lines else {
                continue;
            };
            followed.insert(rev, lines);
            if let Some(changeset) = view.changelog().rev_at(link).filter(|_| is_changed) {
                found.insert(Some(changeset));
            }
        }
        Ok(found)
    }
}

pub(super) fn check_length(content: &[u8], lines: &Lines) -> Result<(), RevsetError> {
    match content.split_inclusive(|byte| *byte == b'\n').count() < lines.end {
        true => Err(RevsetError::Missing(
            "line range exceeds file size".to_owned(),
        )),
        false => Ok(()),
    }
}

/// True if any of the lines of `new` differ from `old`; and the lines of `old` that correspond to them. Lines of `new`
/// that replace others correspond to all of those.
pub(super) fn lines_in(old: &[u8], new: &[u8], lines: &Lines) -> (bool, Lines) {
    let (mut is_changed, mut start, mut end) = (false, None, None);
    let (mut end_a, mut end_b) = (0, 0);
    let touches = |b: &Range<usize>| b.start < lines.end && b.end > lines.start;
    for same in same_lines(old, new) {
        let changed = (end_a..same.a, end_b..same.b);
        if touches(&changed.1) {
            is_changed = true;
            if changed.1.contains(&lines.start) {
                start = Some(changed.0.start);
            }
            if changed.1.contains(&(lines.end - 1)) {
                end = Some(changed.0.end);
            }
        } else if changed.1.is_empty()
            && lines.start < changed.1.start
            && changed.1.start < lines.end
        {
            // Lines were removed between those that are followed.
            is_changed |= !changed.0.is_empty();
        }
        let kept = same.b..same.b + same.len;
        if kept.contains(&lines.start) {
            start = Some(same.a + (lines.start - same.b));
        }
        if kept.contains(&(lines.end - 1)) {
            end = Some(same.a + (lines.end - same.b));
        }
        (end_a, end_b) = (same.a + same.len, same.b + same.len);
    }
    let start = start.unwrap_or(end_a);
    (is_changed, start..end.unwrap_or(end_a).max(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_the_older_text() {
        let old = b"1\n2\n3\n4\n5\n";
        let cases: [(&[u8], Lines, bool, Lines); 6] = [
            (b"0\n1\n2\n3\n4\n5\n", 1..3, false, 0..2),
            (b"0\n1\n2\n3\n4\n5\n", 0..1, true, 0..0),
            (b"1\nx\ny\n3\n4\n5\n", 1..2, true, 1..2),
            (b"1\nx\ny\n3\n4\n5\n", 3..5, false, 2..4),
            (b"1\n4\n5\n", 0..2, true, 0..4),
            (b"1\n4\n5\n", 1..2, false, 3..4),
        ];
        for (new, lines, is_changed, expected) in cases {
            assert_eq!(
                lines_in(old, new, &lines),
                (is_changed, expected),
                "{lines:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn lines_stay_within_the_older_text(
            old in "[ab\n]{0,40}", new in "([ab]{0,2}\n){1,20}", from: proptest::sample::Index, len in 1_usize..5,
        ) {
            let count = new.split_inclusive('\n').count();
            let from = from.index(count);
            let lines = from..(from + len).min(count);
            let (is_changed, found) = lines_in(old.as_bytes(), new.as_bytes(), &lines);
            let before: Vec<&str> = old.split_inclusive('\n').collect();
            proptest::prop_assert!(found.start <= found.end && found.end <= before.len());
            let after: Vec<&str> = new.split_inclusive('\n').collect();
            if !is_changed {
                proptest::prop_assert_eq!(&before[found], &after[lines]);
            }
        }
    }
}
