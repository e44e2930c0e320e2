//! The statistics as text.

use super::statistics::{SizeStats, Statistics};
use std::fmt::Write;
use varve_repo::Revlog;

/// A number of a whole, in columns.
struct Column {
    width: usize,
    /// Spaces between the number and its share.
    gap: usize,
}

impl Column {
    /// As wide as the largest number in it.
    fn of(largest: u64) -> Column {
        Column {
            width: largest.to_string().len(),
            gap: 0,
        }
    }

    fn number(&self, number: u64) -> String {
        format!("{number:>width$}", width = self.width)
    }

    fn share(&self, number: u64, whole: u64) -> String {
        let percent = if whole == 0 {
            100.0
        } else {
            100.0 * number as f64 / whole as f64
        };
        format!(
            "{:2$} {:3$}({percent:5.2}%)",
            number, "", self.width, self.gap
        )
    }
}

/// Everything, as people read it.
pub(super) fn text(revlog: &Revlog, all: &Statistics) -> String {
    let mut out = String::new();
    // Writing to memory does not fail.
    let _ = write_all(&mut out, revlog, all);
    out
}

fn write_all(out: &mut String, revlog: &Revlog, all: &Statistics) -> std::fmt::Result {
    let header = revlog.header();
    let flags = [
        (header.inline, "inline"),
        (header.general_delta, "generaldelta"),
    ];
    let flags: Vec<_> = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect();
    let flags = if flags.is_empty() {
        "(none)".to_owned()
    } else {
        flags.join(", ")
    };
    writeln!(out, "format : 1\nflags  : {flags}\n")?;
    let column = &Column::of(all.stored);
    write_revisions(out, column, all)?;
    write_sizes(out, column, all)?;
    write_chunks(out, column, all)?;
    write_totals(out, all)?;
    if all.deltas.count > 0 {
        write_against(out, header.general_delta, all)?;
    }
    Ok(())
}

fn write_revisions(out: &mut String, column: &Column, all: &Statistics) -> std::fmt::Result {
    let revisions = all.revisions;
    let share = |number| column.share(number, revisions);
    writeln!(out, "revisions     : {}", column.number(revisions))?;
    writeln!(out, "    merges    : {}", share(all.merges))?;
    writeln!(out, "    normal    : {}", share(revisions - all.merges))?;
    writeln!(out, "revisions     : {}", column.number(revisions))?;
    let empty = all.empty_texts + all.empty_deltas;
    writeln!(out, "    empty     : {}", share(empty))?;
    let indent = " ".repeat(19);
    writeln!(
        out,
        "{indent}text  : {}",
        column.share(all.empty_texts, empty)
    )?;
    writeln!(
        out,
        "{indent}delta : {}",
        column.share(all.empty_deltas, empty)
    )?;
    write_snapshots(out, column, revisions, all, |stats| stats.count)?;
    writeln!(out, "    deltas    : {}", share(all.deltas.count))
}

/// How much further right the numbers of single depths stand.
const DEEPER: usize = 6;

fn write_sizes(out: &mut String, column: &Column, all: &Statistics) -> std::fmt::Result {
    let share = |number| column.share(number, all.stored);
    writeln!(out, "revision size : {}", column.number(all.stored))?;
    write_snapshots(out, column, all.stored, all, |stats| stats.total)?;
    writeln!(out, "    deltas    : {}", share(all.deltas.total))
}

/// Share of snapshots in a whole, altogether and at each depth.
fn write_snapshots(
    out: &mut String,
    column: &Column,
    whole: u64,
    all: &Statistics,
    part: impl Fn(&SizeStats) -> u64,
) -> std::fmt::Result {
    let altogether = all.snapshots.iter().map(&part).sum();
    let shown = column.share(altogether, whole);
    writeln!(out, "    snapshot  : {shown}")?;
    let deep = Column {
        width: column.width + DEEPER,
        gap: 0,
    };
    for (depth, stats) in all.snapshots.iter().enumerate() {
        let level = format!("lvl-{depth}");
        let shown = deep.share(part(stats), whole);
        writeln!(out, "      {level:7} : {shown}")?;
    }
    Ok(())
}

fn write_chunks(out: &mut String, column: &Column, all: &Statistics) -> std::fmt::Result {
    let name = |first: &Option<u8>| match first {
        None => "empty     ".to_owned(),
        Some(byte) if byte.is_ascii_alphabetic() => {
            format!("0x{byte:02x} ({})  ", char::from(*byte))
        }
        Some(byte) => format!("0x{byte:02x}      "),
    };
    writeln!(out, "\nchunks        : {}", column.number(all.revisions))?;
    for (first, stats) in &all.chunks {
        writeln!(
            out,
            "    {}: {}",
            name(first),
            column.share(stats.count, all.revisions)
        )?;
    }
    writeln!(out, "chunks size   : {}", column.number(all.stored))?;
    for (first, stats) in &all.chunks {
        writeln!(
            out,
            "    {}: {}",
            name(first),
            column.share(stats.total, all.stored)
        )?;
    }
    Ok(())
}

fn write_totals(out: &mut String, all: &Statistics) -> std::fmt::Result {
    writeln!(
        out,
        "\n\ntotal-stored-content: {} bytes\n",
        grouped(all.raw.total)
    )?;
    let lengths = &all.chain_lengths;
    let average = lengths.total.checked_div(lengths.count).unwrap_or(0);
    let ratio = all.raw.total.checked_div(all.stored).unwrap_or(0);
    let largest = [average, lengths.most, all.longest_span, ratio];
    let column = Column::of(largest.into_iter().max().unwrap_or(0));
    writeln!(out, "avg chain length  : {}", column.number(average))?;
    writeln!(out, "max chain length  : {}", column.number(lengths.most))?;
    writeln!(
        out,
        "max chain reach   : {}",
        column.number(all.longest_span)
    )?;
    writeln!(out, "compression ratio : {}\n", column.number(ratio))?;
    let full = all.snapshots.first().copied().unwrap_or_default();
    writeln!(
        out,
        "uncompressed data size (min/max/avg) : {}",
        all.raw.range()
    )?;
    writeln!(
        out,
        "full revision size (min/max/avg)     : {}",
        full.range()
    )?;
    let deeper = all.snapshots.get(1..).unwrap_or_default();
    writeln!(
        out,
        "inter-snapshot size (min/max/avg)    : {}",
        SizeStats::range_of(deeper)
    )?;
    for (depth, stats) in deeper.iter().enumerate() {
        let depth = depth + 1;
        writeln!(
            out,
            "    level-{depth:<3} (min/max/avg)          : {}",
            stats.range()
        )?;
    }
    writeln!(
        out,
        "delta size (min/max/avg)             : {}",
        all.deltas.range()
    )
}

fn write_against(out: &mut String, general: bool, all: &Statistics) -> std::fmt::Result {
    let (against, deltas) = (&all.against, all.deltas.count);
    let column = Column::of(deltas);
    let inner = Column {
        width: column.width,
        gap: 4,
    };
    let previous = against.previous;
    writeln!(
        out,
        "\ndeltas against prev  : {}",
        column.share(previous, deltas)
    )?;
    if previous > 0 {
        let share = |number| inner.share(number, previous);
        writeln!(out, "    where prev = p1  : {}", share(against.previous_p1))?;
        writeln!(out, "    where prev = p2  : {}", share(against.previous_p2))?;
        writeln!(
            out,
            "    other-ancestor   : {}",
            share(against.previous_ancestor)
        )?;
        writeln!(
            out,
            "    unrelated        : {}",
            share(against.previous_unrelated)
        )?;
    }
    if general {
        let share = |number| column.share(number, deltas);
        writeln!(out, "deltas against p1    : {}", share(against.p1))?;
        writeln!(out, "deltas against p2    : {}", share(against.p2))?;
        writeln!(out, "deltas against ancs  : {}", share(against.ancestor))?;
        writeln!(out, "deltas against other : {}", share(against.other))?;
    }
    Ok(())
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}
