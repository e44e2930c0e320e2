//! `debugdeltachain`: how each revision of a revlog is stored.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::commands::debug::revlogs::{self, CHANGELOG, MANIFEST, RevlogSelection};
use crate::context::{Command, Context};
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::ui::{Abort, Ui};
use varve_repo::{Rev, Revlog};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdeltachain"],
    options: &[
        CHANGELOG,
        MANIFEST,
        Flag::long_flag("size-info", "sizes of deltas, texts and chains"),
        Flag::long_flag("dist-info", "how far apart the chunks of a chain lie"),
        Flag::long_flag("sparse-info", "how a chain is read"),
        Flag::long_flag("all-info", "all of these"),
        TEMPLATE,
    ],
    arguments: 0..=1,
    synopsis: "-c|-m|FILE",
    summary: "print how the revisions of a revlog depend on each other",
    help: "Each line has a revision, its parents, the number of its chain, how many revisions the \
           chain has up to it, the revision that its delta is against, and which that is: base \
           for a whole text, snap for a delta between snapshots, p1, p2, prev or other.",
    category: None,
    run,
};

/// Bytes of the shortest gap between two chunks that a sparse read leaves out.
const LEAST_GAP: u64 = 256 << 10;
/// The share of the bytes read that must be useful.
const LEAST_DENSITY: f64 = 0.5;

/// Which groups of columns are printed.
#[derive(Clone, Copy)]
struct Groups {
    size: bool,
    distance: bool,
    sparse: bool,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let chosen = RevlogSelection::of_argument(&mut context.repo, matches, &COMMAND)?;
    let revlog = chosen.revlog()?;
    let group = |name| matches.flag(name) || matches.flag("all-info");
    let groups = Groups {
        size: group("size-info"),
        distance: group("dist-info"),
        sparse: group("sparse-info"),
    };
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "debugdeltachain")?;
    out.plain(&mut context.ui, titles(groups))?;
    let depths = revlogs::snapshot_depths(revlog, revlogs::is_sparse(&mut context.repo)?);
    let mut bases: Vec<Rev> = Vec::new();
    let mut chains = Chains::default();
    for rev in revlog.revs() {
        let chain = chains.of(revlog, rev);
        let base = chain.first().copied().unwrap_or(rev);
        let id = match bases.binary_search(&base) {
            Ok(at) => at,
            Err(at) => {
                bases.insert(at, base);
                at
            }
        };
        out.item(&mut context.ui)?;
        let word = kind(revlog, &depths, rev);
        print_ids(
            &mut context.ui,
            &mut out,
            revlog,
            (rev, id + 1),
            (chain.len(), word),
        )?;
        if groups.size || groups.distance || groups.sparse {
            print_groups(&mut context.ui, &mut out, revlog, chain, groups)?;
        }
        out.plain(&mut context.ui, "\n")?;
    }
    out.end(&mut context.ui)?;
    Ok(0)
}

/// The chain of the revision that was asked for last; most go on with it.
#[derive(Default)]
struct Chains(Vec<Rev>);

impl Chains {
    /// All revisions that are needed for one, oldest first.
    fn of(&mut self, revlog: &Revlog, rev: Rev) -> &[Rev] {
        let known = std::mem::take(&mut self.0);
        let mut newest_first = vec![rev];
        let mut at = revlog.delta_parent(rev);
        let mut shared = 0;
        while let Some(base) = at {
            if let Ok(found) = known.binary_search(&base) {
                shared = found + 1;
                break;
            }
            newest_first.push(base);
            at = revlog.delta_parent(base);
        }
        self.0 = known;
        self.0.truncate(shared);
        self.0.extend(newest_first.into_iter().rev());
        &self.0
    }
}

fn titles(groups: Groups) -> String {
    let mut line = "    rev      p1      p2  chain# chainlen     prev   delta".to_owned();
    if groups.size {
        line += "       size    rawsize  chainsize     ratio";
    }
    if groups.distance {
        line += "   lindist extradist extraratio";
    }
    if groups.sparse {
        line += "   readsize largestblk rddensity srchunks";
    }
    line + "\n"
}

/// Base of a delta, in one word.
fn kind(revlog: &Revlog, depths: &[Option<u32>], rev: Rev) -> &'static str {
    let [p1, p2] = revlog.parents(rev);
    match revlog.delta_parent(rev) {
        None => "base",
        _ if depths[rev.index()].is_some() => "snap",
        base if base == p1 => "p1",
        base if base == p2 => "p2",
        Some(base) if base.0 + 1 == rev.0 => "prev",
        Some(_) => "other",
    }
}

fn print_ids(
    ui: &mut Ui,
    out: &mut Formatter,
    revlog: &Revlog,
    (rev, id): (Rev, usize),
    (len, word): (usize, &'static str),
) -> Result<(), Abort> {
    let base = revlog.delta_parent(rev);
    let [p1, p2] = revlog.parents(rev);
    out.data("rev", rev);
    out.data("p1", p1);
    out.data("p2", p2);
    out.data("chainid", id as i64);
    out.data("chainlen", len as i64);
    out.data("prevrev", base);
    out.data("deltatype", word);
    let number = |rev: Option<Rev>| rev.map_or(-1, |rev| i64::from(rev.0));
    let (rev, p1, p2, base) = (rev.0, number(p1), number(p2), number(base));
    let line = format!("{rev:7} {p1:7} {p2:7} {id:7} {len:8} {base:8} {word:>7}");
    out.plain(ui, line)
}

fn print_groups(
    ui: &mut Ui,
    out: &mut Formatter,
    revlog: &Revlog,
    chain: &[Rev],
    groups: Groups,
) -> Result<(), Abort> {
    let entries: Vec<_> = chain.iter().map(|rev| revlog.entry(*rev)).collect();
    let stored: u64 = entries
        .iter()
        .map(|entry| u64::from(entry.stored_len))
        .sum();
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Ok(());
    };
    if groups.size {
        let (size, raw) = (last.stored_len, last.raw_len.unwrap_or(0));
        let ratio = quotient(stored, u64::from(raw));
        out.data("compsize", i64::from(size));
        out.data("uncompsize", i64::from(raw));
        out.data("chainsize", stored as i64);
        out.data("chainratio", Value::Float(ratio));
        out.plain(ui, format!(" {size:10} {raw:10} {stored:10} {ratio:9.5}"))?;
    }
    if groups.distance {
        let span = last.end().saturating_sub(first.offset);
        let extra = span as i64 - stored as i64;
        let ratio = if stored == 0 {
            0.0
        } else {
            extra as f64 / stored as f64
        };
        out.data("lindist", span as i64);
        out.data("extradist", extra);
        out.data("extraratio", Value::Float(ratio));
        out.plain(ui, format!(" {span:9} {extra:9} {ratio:10.5}"))?;
    }
    if groups.sparse {
        let places = entries.iter().map(|entry| (entry.offset, entry.end()));
        let blocks = blocks(&places.collect::<Vec<_>>(), stored);
        let read: u64 = blocks.iter().sum();
        let largest = blocks.iter().copied().max().unwrap_or(0);
        let density = if read == 0 {
            1.0
        } else {
            quotient(stored, read)
        };
        let count = blocks.len();
        out.data("readsize", read as i64);
        out.data("largestblock", largest as i64);
        out.data("readdensity", Value::Float(density));
        out.data("srchunks", count as i64);
        out.plain(
            ui,
            format!(" {read:10} {largest:10} {density:9.5} {count:8}"),
        )?;
    }
    Ok(())
}

fn quotient(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        part as f64
    } else {
        part as f64 / whole as f64
    }
}

/// Lengths of the pieces in which a chain is read: its largest gaps are left out until enough of
/// the rest is useful.
fn blocks(places: &[(u64, u64)], useful: u64) -> Vec<u64> {
    let (Some((start, _)), Some((_, end))) = (places.first(), places.last()) else {
        return Vec::new();
    };
    let mut read = end - start;
    let mut gaps: Vec<(u64, usize)> = Vec::new();
    for (at, pair) in places.windows(2).enumerate() {
        let gap = pair[1].0.saturating_sub(pair[0].1);
        if gap > LEAST_GAP {
            gaps.push((gap, at + 1));
        }
    }
    gaps.sort_unstable();
    let mut cuts = Vec::new();
    while (useful as f64) < LEAST_DENSITY * read as f64 {
        let Some((gap, at)) = gaps.pop() else { break };
        read -= gap;
        cuts.push(at);
    }
    cuts.sort_unstable();
    cuts.insert(0, 0);
    cuts.push(places.len());
    let piece = |pair: &[usize]| places[pair[1] - 1].1 - places[pair[0]].0;
    cuts.windows(2).map(piece).collect()
}
