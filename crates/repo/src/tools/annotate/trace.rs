//! Handing lines down from a file's revision to those that it comes from.

use super::graph::Graph;
use super::{AnnotateOptions, AnnotatedLine};
use crate::format::{FileText, RepoError};
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;
use varve_delta::{Block, same_lines};
use varve_revlog::Reader;

/// Texts of revisions that wait for their turn are dropped and read again beyond this.
const KEPT_BYTES: usize = 32 << 20;

/// A line whose origin is not known yet.
#[derive(Clone, Copy)]
struct UnresolvedLine {
    /// Which line it is in the revision that is looked at.
    here: usize,
    /// Which line it is in the file that was asked about.
    line: usize,
    skipped: bool,
}

struct Trace<'g> {
    graph: &'g Graph,
    readers: Vec<Reader<'g>>,
    how: &'g AnnotateOptions<'g>,
    /// Per version, lines that it has, ascending.
    open: Vec<Vec<UnresolvedLine>>,
    /// Cleaned texts of versions that wait for their turn.
    texts: Vec<Option<Rc<[u8]>>>,
    kept_bytes: usize,
    found: Vec<AnnotatedLine>,
}

/// Number of lines of a text.
fn count_lines(text: &[u8]) -> usize {
    text.split_inclusive(|byte| *byte == b'\n').count()
}

/// Where the lines of `content` come from, which is the graph's first version.
pub(super) fn trace(
    graph: &Graph,
    content: &[u8],
    how: &AnnotateOptions<'_>,
) -> Result<Vec<AnnotatedLine>, RepoError> {
    let count = count_lines(content);
    let own = |line| AnnotatedLine {
        version: 0,
        line,
        skipped: false,
    };
    let all = |line| UnresolvedLine {
        here: line,
        line,
        skipped: false,
    };
    let mut trace = Trace {
        graph,
        readers: graph.filelogs.iter().map(|log| log.reader()).collect(),
        how,
        open: vec![Vec::new(); graph.versions.len()],
        texts: vec![None; graph.versions.len()],
        kept_bytes: 0,
        found: (0..count).map(own).collect(),
    };
    trace.open[0] = (0..count).map(all).collect();
    // Kept whatever its length: in the working copy it might be another one when read again.
    let start: Rc<[u8]> = Rc::from(how.blanks.cleaned(content));
    trace.kept_bytes = start.len();
    trace.texts[0] = Some(start);
    for version in graph.order.iter().rev() {
        how.stop.check()?;
        trace.hand_down(*version)?;
    }
    Ok(trace.found)
}

impl Trace<'_> {
    /// Gives the lines of a version to its parents, and the rest to itself.
    fn hand_down(&mut self, version: usize) -> Result<(), RepoError> {
        let mut open = std::mem::take(&mut self.open[version]);
        let own = &self.graph.versions[version];
        let skip = own.changeset.is_some_and(self.how.skip);
        if open.is_empty() || own.parents.is_empty() {
            self.drop_text(version);
            self.take(version, &open);
            return Ok(());
        }
        let text = self.text(version)?;
        self.drop_text(version);
        let mut matches = Vec::new();
        for parent in &own.parents {
            if open.is_empty() {
                break;
            }
            let before = self.text(*parent)?;
            let blocks = same_lines(&before, &text);
            open = self.give(*parent, &blocks, open);
            matches.push((*parent, blocks));
            self.keep(*parent, before);
        }
        if skip {
            open = self.replace(&matches, open);
        }
        self.take(version, &open);
        Ok(())
    }

    /// Gives a parent the lines that it has too; the others come back.
    fn give(
        &mut self,
        parent: usize,
        same: &[Block],
        open: Vec<UnresolvedLine>,
    ) -> Vec<UnresolvedLine> {
        let mut blocks = same.iter();
        let mut block = blocks.next();
        let (mut given, mut left) = (Vec::new(), Vec::new());
        for line in open {
            while block.is_some_and(|block| block.b + block.len <= line.here) {
                block = blocks.next();
            }
            match block.filter(|block| block.b <= line.here) {
                Some(block) => given.push(UnresolvedLine {
                    here: block.a + (line.here - block.b),
                    ..line
                }),
                None => left.push(line),
            }
        }
        self.receive(parent, given);
        left
    }

    /// Adds lines to those that a version has.
    fn receive(&mut self, version: usize, lines: Vec<UnresolvedLine>) {
        let open = &mut self.open[version];
        if open.is_empty() {
            *open = lines;
        } else {
            open.extend(lines);
            open.sort_by_key(|line| line.here);
        }
    }

    /// Notes that lines are a version's own.
    fn take(&mut self, version: usize, lines: &[UnresolvedLine]) {
        for line in lines {
            self.found[line.line] = AnnotatedLine {
                version,
                line: line.here,
                skipped: line.skipped,
            };
        }
    }

    /// Cleaned text of a version.
    fn text(&mut self, version: usize) -> Result<Rc<[u8]>, RepoError> {
        if let Some(text) = &self.texts[version] {
            return Ok(text.clone());
        }
        let Some((filelog, rev)) = self.graph.versions[version].stored else {
            return Ok(Rc::default());
        };
        let text = self.readers[filelog].text(rev)?;
        let content = FileText::parse(text).content;
        Ok(match self.how.blanks.cleaned(content) {
            Cow::Borrowed(content) => Rc::from(content),
            Cow::Owned(content) => Rc::from(content),
        })
    }

    fn keep(&mut self, version: usize, text: Rc<[u8]>) {
        if self.texts[version].is_none() && self.kept_bytes + text.len() <= KEPT_BYTES {
            self.kept_bytes += text.len();
            self.texts[version] = Some(text);
        }
    }

    fn drop_text(&mut self, version: usize) {
        if let Some(text) = self.texts[version].take() {
            self.kept_bytes -= text.len();
        }
    }
}

/// Stretches of a parent and of a child that differ, in lines.
struct Changed {
    parent: usize,
    old: Range<usize>,
    new: Range<usize>,
    /// Number of lines of the parent.
    count: usize,
}

impl Changed {
    /// The line of the parent that a line of the child stands in the place of: that in the same
    /// place of the stretch, or its last one, or the one before it. Mercurial takes the last line
    /// of all for lines that were put before the first.
    fn counterpart(&self, here: usize) -> usize {
        let at = self.old.start + (here - self.new.start);
        match self.old.end.checked_sub(1) {
            Some(last) => at.min(last),
            None => self.count.saturating_sub(1),
        }
    }
}

impl Trace<'_> {
    /// Gives lines of a skipped changeset to lines of its parents that they stand in the place of:
    /// first where a parent has as many lines there, then anywhere.
    fn replace(
        &mut self,
        matches: &[(usize, Vec<Block>)],
        mut open: Vec<UnresolvedLine>,
    ) -> Vec<UnresolvedLine> {
        let mut changed = Vec::new();
        for (parent, blocks) in matches {
            // The last block is empty, and behind all lines.
            let count = blocks.last().map_or(0, |end| end.a);
            let (mut end_a, mut end_b) = (0, 0);
            for block in blocks {
                changed.push(Changed {
                    parent: *parent,
                    old: end_a..block.a,
                    new: end_b..block.b,
                    count,
                });
                (end_a, end_b) = (block.a + block.len, block.b + block.len);
            }
        }
        let enough = |change: &Changed| change.old.len() >= change.new.len();
        let (fits, short): (Vec<_>, Vec<_>) = changed.into_iter().partition(enough);
        for change in fits.into_iter().chain(short) {
            let inside = open.extract_if(.., |line| change.new.contains(&line.here));
            let given = inside.map(|line| UnresolvedLine {
                here: change.counterpart(line.here),
                line: line.line,
                skipped: true,
            });
            let mut given: Vec<UnresolvedLine> = given.collect();
            given.sort_by_key(|line| line.here);
            self.receive(change.parent, given);
        }
        open
    }
}
