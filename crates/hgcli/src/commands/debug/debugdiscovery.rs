//! `debugdiscovery`: a comparison with another repository, and its cost.

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::context::{Command, Context};
use crate::remote::peers;
use crate::ui::{Abort, Ui, short_hex};
use std::collections::HashSet;
use std::time::Instant;
use varve_exchange::client::discovery::{Discovery, DiscoveryResult};
use varve_exchange::client::discovery_counts::DiscoveryCounts;
use varve_repo::Rev;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdiscovery"],
    options: &[
        Flag::long_list(
            "rev",
            "REV",
            "compare these changesets and their ancestors only",
        ),
        SSH,
        REMOTECMD,
        INSECURE,
    ],
    arguments: 0..=1,
    synopsis: "[--rev REV] [OTHER]",
    summary: "find the changesets that another repository has too, and print the cost",
    help: "Prints the number of round trips and of changesets that were asked about, and how the \
           changesets and heads of both sides relate.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let name = matches.arguments().first();
    let name = name.map_or(&b"default"[..], Vec::as_slice);
    let sources = peers::sources(repo, ui, config, name)?;
    let Some(source) = sources.first() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let mut remote = peers::connect(repo, ui, config, source)?;
    ui.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
    let view = repo.view()?;
    let specs = matches.list("rev");
    let among: Option<HashSet<Rev>> = match specs.is_empty() {
        true => None,
        false => {
            let heads = repo.revisions(ui, &specs)?;
            let ancestors = view.missing_ancestors(&heads, &[]);
            Some(ancestors.into_iter().collect())
        }
    };
    let begun = Instant::now();
    let counts = |rev: Rev| {
        let is_meant = among.as_ref().is_none_or(|among| among.contains(&rev));
        is_meant && view.is_visible(rev)
    };
    let discovery = Discovery::begin_among(&view, counts, &mut remote, None)?;
    if view.tip().is_some() {
        ui.status("searching for changes\n")?;
        if discovery.knows_all() {
            ui.note("all local changesets known remotely\n")?;
        }
        if !discovery.has_incoming() {
            ui.debug("all remote heads known locally\n")?;
        }
    }
    let is_behind = !discovery.has_incoming();
    let mut found = discovery.finish(&mut remote)?;
    if is_behind {
        // The heads of the other side are the answer, whatever --rev names.
        found.common_heads = found.remote_heads.clone();
    }
    let seconds = begun.elapsed().as_secs_f64();
    print(ui, &found, &DiscoveryCounts::of(&view, &found), seconds)?;
    ui.print_traffic()?;
    Ok(0)
}

fn print(
    ui: &mut Ui,
    found: &DiscoveryResult,
    counts: &DiscoveryCounts,
    seconds: f64,
) -> Result<(), Abort> {
    ui.write(format!("elapsed time:  {seconds:.6} seconds\n"))?;
    let common_heads = counts.common_heads.len();
    let lines = [
        ("round-trips:        ", found.questions),
        ("queries:            ", found.asked),
        ("heads summary:", usize::MAX),
        ("  total common heads:", common_heads),
        ("    also local heads:", counts.common_heads_local),
        ("    also remote heads:", counts.common_heads_remote),
        ("    both:", counts.common_heads_both),
        ("  local heads:", counts.local_heads),
        ("    common:", counts.common_heads_local),
        (
            "    missing:",
            counts.local_heads - counts.common_heads_local,
        ),
        ("  remote heads:", counts.remote_heads),
        ("    common:", counts.common_heads_remote),
        (
            "    unknown:",
            counts.remote_heads - counts.common_heads_remote,
        ),
        ("local changesets:", counts.common.all + counts.missing.all),
        ("  common:", counts.common.all),
        ("    heads:", counts.common.heads),
        ("    roots:", counts.common.roots),
        ("  missing:", counts.missing.all),
        ("    heads:", counts.missing.heads),
        ("    roots:", counts.missing.roots),
        ("  first undecided set:", counts.undecided.all),
        ("    heads:", counts.undecided.heads),
        ("    roots:", counts.undecided.roots),
        ("    common:", counts.undecided_common),
        (
            "    missing:",
            counts.undecided.all - counts.undecided_common,
        ),
    ];
    for (heading, number) in lines {
        match number {
            usize::MAX => ui.write(format!("{heading}\n"))?,
            // The last digits stand below each other.
            number => ui.write(format!("{heading}{number:>0$}\n", 32 - heading.len()))?,
        }
    }
    if ui.verbosity.verbose {
        let mut heads: Vec<String> = counts.common_heads.iter().map(short_hex).collect();
        heads.sort_unstable();
        ui.write(format!("common heads: {}\n", heads.join(" ")))?;
    }
    Ok(())
}
