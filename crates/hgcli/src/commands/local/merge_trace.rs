//! How a merge was decided, file by file: most of it is printed with `--debug` only.

use crate::ui::{Abort, Ui, short_hex};
use varve_repo::Node;
use varve_workdir::{Auction, Comparison, CopyReport, FileTraits, Reason, UpdateEvent, Verdict};

/// Prints what is compared, and the copies.
pub(super) fn print_comparison(ui: &mut Ui, comparison: &Comparison<'_>) -> Result<(), Abort> {
    print_sides(ui, comparison, &comparison.ancestor, comparison.copies)
}

/// The sides over one ancestor.
fn print_sides(
    ui: &mut Ui,
    comparison: &Comparison<'_>,
    ancestor: &Node,
    copies: Option<&CopyReport>,
) -> Result<(), Abort> {
    if let Some(copies) = copies.filter(|_| ui.verbosity.debug) {
        ui.debug(copied(copies))?;
    }
    ui.note("resolving manifests\n")?;
    let truth = |value| if value { "True" } else { "False" };
    ui.debug(format!(
        " branchmerge: {}, force: {}, partial: False\n ancestor: {}{}, local: {}+, remote: {}\n",
        truth(comparison.is_branch_merge),
        truth(comparison.is_forced),
        short_hex(ancestor),
        if comparison.discards { "+" } else { "" },
        short_hex(&comparison.ours),
        short_hex(&comparison.theirs),
    ))
}

/// The text about copies and renamed directories.
fn copied(report: &CopyReport) -> Vec<u8> {
    let mut out = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        parts.iter().for_each(|part| out.extend_from_slice(part));
        out.push(b'\n');
    };
    for (side, files) in ["local", "other"].iter().zip(&report.unmatched) {
        if !files.is_empty() {
            line(&[b"  unmatched files in ", side.as_bytes(), b":"]);
        }
        files.iter().for_each(|file| line(&[b"   ", file]));
    }
    line(&[b"  all copies found (* = to merge, ! = divergent, % = renamed and deleted):"]);
    for (side, copies) in ["local", "remote"].iter().zip(&report.copies) {
        if !copies.is_empty() {
            line(&[b"   on ", side.as_bytes(), b" side:"]);
        }
        for copy in copies {
            let marks = [
                (copy.is_merged, &b"*"[..]),
                (copy.is_divergent, b"!"),
                (copy.is_deleted, b"%"),
            ];
            let marks = marks.iter().filter(|(is_set, _)| *is_set);
            let marks: Vec<&[u8]> = marks.map(|(_, mark)| *mark).collect();
            let (from, to) = (&copy.source[..], &copy.path[..]);
            line(&[
                b"    src: '",
                from,
                b"' -> dst: '",
                to,
                b"' ",
                &marks.concat(),
            ]);
        }
    }
    line(&[b"  checking for directory renames"]);
    // The directories of one side move new files of the other.
    for (directories, moves) in report.directories.iter().zip(report.moves.iter().rev()) {
        for (from, to) in directories {
            line(&[b"   discovered dir src: '", from, b"' -> dst: '", to, b"'"]);
        }
        for (from, to) in moves {
            line(&[b"   pending file src: '", from, b"' -> dst: '", to, b"'"]);
        }
    }
    out
}

/// Prints how the choice among several common ancestors went.
pub(super) fn print_auction(
    ui: &mut Ui,
    comparison: &Comparison<'_>,
    auction: &Auction,
) -> Result<(), Abort> {
    let bidders = &auction.ancestors;
    let ancestors: Vec<String> = bidders.iter().map(|one| short_hex(&one.node)).collect();
    let (ours, theirs) = (short_hex(&comparison.ours), short_hex(&comparison.theirs));
    let all = ancestors.join(" and ");
    ui.note(format!(
        "note: merging {ours}+ and {theirs} using bids from ancestors {all}\n"
    ))?;
    for bidder in bidders {
        let ancestor = short_hex(&bidder.node);
        ui.note(format!("\ncalculating bids for ancestor {ancestor}\n"))?;
        print_sides(ui, comparison, &bidder.node, bidder.copies.as_ref())?;
        for (path, reason) in &bidder.bids {
            ui.debug(decided(path, reason))?;
        }
    }
    let count = bidders.len();
    ui.note(format!(
        "\nauction for merging merge bids ({count} ancestors)\n"
    ))?;
    for (path, verdict) in &auction.verdicts {
        print_verdict(ui, auction, (path, verdict))?;
    }
    ui.note("end of auction\n\n")
}

fn print_verdict(
    ui: &mut Ui,
    auction: &Auction,
    (path, verdict): (&[u8], &Verdict),
) -> Result<(), Abort> {
    let about = |words: String| [b" ", path, b": ", words.as_bytes(), b"\n"].concat();
    if ui.verbosity.debug {
        ui.debug([b" list of bids for ", path, b":\n"].concat())?;
        for bid in auction.bids_for(path) {
            ui.debug([b"   ", &why(bid)[..], b"\n"].concat())?;
        }
    }
    match verdict {
        Verdict::Consensus(action) => ui.note(about(format!("consensus for {action}"))),
        Verdict::Simple(name) => ui.note(about(format!("picking '{name}' action"))),
        Verdict::Ambiguous(bids) => {
            ui.note(about("multiple bids for merge action:".to_owned()))?;
            for bid in bids {
                ui.note([b"  ", &why(bid)[..], b"\n"].concat())?;
            }
            let action = bids.first().map_or("", |bid| bid.letters);
            ui.warn(about(format!("ambiguous merge - picked {action} action")))
        }
    }
}

fn decided(path: &[u8], reason: &Reason) -> Vec<u8> {
    [b" ", path, b": ", &why(reason)[..], b"\n"].concat()
}

fn why(Reason { words, letters }: &Reason) -> Vec<u8> {
    [words, &b" -> "[..], letters.as_bytes()].concat()
}

/// Prints a step that only `--debug` shows.
pub(super) fn print_step(ui: &mut Ui, step: &UpdateEvent<'_>) -> Result<(), Abort> {
    if !ui.verbosity.debug {
        return Ok(());
    }
    let line = |parts: &[&[u8]]| [&parts.concat()[..], b"\n"].concat();
    ui.debug(match step {
        UpdateEvent::Decided(path, reason) => decided(path, reason),
        UpdateEvent::Preserving { path, dest } => {
            line(&[b" preserving ", path, b" for resolve of ", dest])
        }
        UpdateEvent::MergedElsewhere(path) => line(&[b"removing ", path]),
        UpdateEvent::ToolPicked { tool, path, traits } => {
            let traits = traits_of_file(traits);
            line(&[b"picked tool '", tool, b"' for ", path, traits.as_bytes()])
        }
        UpdateEvent::Versions([ours, theirs, base]) => {
            let [mine, other, ancestor] = [ours, theirs, base].map(|side| short_hex(&side.node));
            line(&[
                b"my ",
                ours.path,
                b"@",
                mine.as_bytes(),
                b"+ other ",
                theirs.path,
                b"@",
                other.as_bytes(),
                b" ancestor ",
                base.path,
                b"@",
                ancestor.as_bytes(),
            ])
        }
        UpdateEvent::MergedBefore => line(&[b" premerge successful"]),
        UpdateEvent::LaunchingTool { line: command } => line(&[b"launching merge tool: ", command]),
        UpdateEvent::ToolEnded(code) => format!("merge tool returned: {code}\n").into_bytes(),
        _ => return Ok(()),
    })
}

fn traits_of_file(traits: &FileTraits) -> String {
    let truth = |value| if value { "True" } else { "False" };
    format!(
        " (binary {} symlink {} changedelete {})",
        truth(traits.binary),
        truth(traits.symlink),
        truth(traits.deleted)
    )
}
