//! `debugdiscovery`: a comparison with another repository, and its cost.

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH, TEMPLATE};
use crate::context::{Command, Config, Context, Repo};
use crate::remote::{discovery, peers};
use crate::render::formatter::{Formatter, Value};
use crate::ui::{Abort, Ui, short_hex};
use std::collections::HashSet;
use std::time::Instant;
use varve_exchange::client::discovery::{Discovery, DiscoveryResult};
use varve_exchange::client::discovery_counts::DiscoveryCounts;
use varve_exchange::client::peer::{Remote, SubsetPeer};
use varve_exchange::client::tree_discovery::{CommandCost, TreeDiscovery};
use varve_repo::{Node, RepoView, Rev};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdiscovery"],
    options: &[
        Flag::long_flag("old", "use the discovery of Mercurial before 1.9"),
        Flag::long_flag(
            "nonheads",
            "with --old, count common changesets that are no heads, too",
        ),
        Flag::long_list(
            "rev",
            "REV",
            "compare these changesets and their ancestors only",
        ),
        Flag::long_value(
            "seed",
            "NUMBER",
            "seed of random samples; here no sample is random",
        ),
        Flag::long_value(
            "local-as-revs",
            "REVS",
            "act as if this repository had these changesets and their ancestors only",
        ),
        Flag::long_value(
            "remote-as-revs",
            "REVS",
            "compare with these changesets of this repository and their ancestors",
        ),
        SSH,
        REMOTECMD,
        INSECURE,
        TEMPLATE,
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
    check_seed(matches)?;
    let mut remote = other_side(repo, ui, config, matches)?;
    let mut out = Formatter::new(ui, config, matches, "debugdiscovery")?;
    let keeps_output = !out.is_plain() && (!out.is_template() || out.names().contains("output"));
    let mut messages = Messages {
        kept: keeps_output.then(Vec::new),
    };
    let (own, among) = own_changesets(repo, ui, matches)?;
    let view = repo.view()?;
    let exists =
        |rev: Rev| view.is_visible(rev) && own.as_ref().is_none_or(|own| own.contains(&rev));
    let counts = |rev: Rev| exists(rev) && among.as_ref().is_none_or(|among| among.contains(&rev));
    let begun = Instant::now();
    let comparison = if matches.flag("old") {
        let prunes = !matches.flag("nonheads");
        let told = (&mut *ui, &mut messages);
        by_segments((&view, &exists), &mut remote, told, prunes)?
    } else {
        discovery::configure(config, &mut remote)?;
        let told = (&mut *ui, &mut messages);
        by_samples((&view, &exists, &counts), &mut remote, told)?
    };
    let seconds = begun.elapsed().as_secs_f64();
    messages.keep_trace(ui);
    let output = messages.kept.unwrap_or_default();
    let mut counts = DiscoveryCounts::of(&view, &exists, &comparison.found);
    if view.changelog().is_empty() {
        // That of an empty repository is the null changeset.
        counts.local_heads = 1;
    }
    out.item(ui)?;
    print(ui, &mut out, (&comparison, &counts), (seconds, output))?;
    out.end(ui)?;
    ui.print_traffic()?;
    Ok(0)
}

/// Refuses a seed that is no number. It has no other effect, because samples are not random.
fn check_seed(matches: &Matches) -> Result<(), Abort> {
    let Some(seed) = matches.value("seed") else {
        return Ok(());
    };
    let shown = String::from_utf8_lossy(seed);
    match shown.trim().parse::<i128>() {
        Ok(_) => Ok(()),
        Err(_) => Err(Abort::input(format!("--seed: '{shown}' is no integer"))),
    }
}

/// Common changesets, and the cost of finding them.
struct Comparison {
    found: DiscoveryResult,
    /// Cost of `branches` and of `between`, by the older discovery.
    commands: Option<[CommandCost; 2]>,
}

/// Tells which changesets belong to a part of the repository.
type IsMember<'a> = &'a dyn Fn(Rev) -> bool;

/// Compares by samples of changesets.
fn by_samples(
    (view, exists, counts): (&RepoView, IsMember<'_>, IsMember<'_>),
    remote: &mut Remote,
    (ui, messages): (&mut Ui, &mut Messages),
) -> Result<Comparison, Abort> {
    let discovery = Discovery::begin_among(view, (exists, counts), remote, None)?;
    if view.changelog().revs().any(exists) {
        messages.say(ui, Verbosity::Normal, "searching for changes\n")?;
        if discovery.knows_all() {
            let words = "all local changesets known remotely\n";
            messages.say(ui, Verbosity::Verbose, words)?;
        }
        if !discovery.has_incoming() {
            let words = "all remote heads known locally\n";
            messages.say(ui, Verbosity::Debug, words)?;
        }
    }
    let is_behind = !discovery.has_incoming();
    let known = discovery.knows_all().then(|| discovery.own_heads());
    let mut found = discovery.finish(remote)?;
    if let Some(heads) = known {
        // Whatever other changesets are common, --rev does not name them.
        found.common_heads = heads;
    } else if is_behind {
        // The heads of the other side are the answer, whatever --rev names.
        found.common_heads = found.remote_heads.clone();
    }
    Ok(Comparison {
        found,
        commands: None,
    })
}

/// Compares along lines of first parents. `prunes` leaves heads only of the common changesets.
fn by_segments(
    (view, exists): (&RepoView, IsMember<'_>),
    remote: &mut Remote,
    (ui, messages): (&mut Ui, &mut Messages),
    prunes: bool,
) -> Result<Comparison, Abort> {
    let changelog = view.changelog();
    let is_here = |node: &Node| changelog.rev(node).is_some_and(exists);
    let is_empty = !changelog.revs().any(exists);
    let discovery = TreeDiscovery::begin((&is_here, is_empty), remote)?;
    if !is_empty {
        messages.say(ui, Verbosity::Normal, "searching for changes\n")?;
    }
    let tree = discovery.finish(remote)?;
    if tree.is_unrelated() {
        messages.keep_trace(ui);
        ui.warn("warning: repository is unrelated\n")?;
    }
    if !tree.new_roots.is_empty() {
        let roots: Vec<String> = tree.new_roots.iter().map(short_hex).collect();
        let roots = format!("found new changesets starting at {}\n", roots.join(" "));
        messages.say(ui, Verbosity::Debug, &roots)?;
        let rounds = format!("{} total queries\n", tree.rounds);
        messages.say(ui, Verbosity::Debug, &rounds)?;
    }
    let mut common_heads = tree.common;
    if prunes {
        let shown: Vec<String> = common_heads.iter().map(short_hex).collect();
        let words = format!("unpruned common: {}\n", shown.join(" "));
        messages.say(ui, Verbosity::Quiet, &words)?;
        let revs = common_heads.iter().filter_map(|node| changelog.rev(node));
        let ancestors = view.missing_ancestors(&revs.collect::<Vec<Rev>>(), &[]);
        let parents = ancestors.iter().flat_map(|rev| changelog.parents(*rev));
        let parents: HashSet<Rev> = parents.flatten().collect();
        let is_head = |node: &Node| {
            changelog
                .rev(node)
                .is_some_and(|rev| !parents.contains(&rev))
        };
        common_heads.retain(is_head);
    }
    let found = DiscoveryResult {
        common_heads,
        remote_heads: tree.remote_heads,
        incoming: !tree.new_roots.is_empty(),
        questions: 1 + tree.branches.requests + tree.between.requests,
        asked: tree.branches.queries + tree.between.queries,
    };
    Ok(Comparison {
        found,
        commands: Some([tree.branches, tree.between]),
    })
}

/// The repository to compare with, or the part of this one that stands for it.
fn other_side(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<Remote, Abort> {
    if let Some(revs) = matches.value("remote-as-revs") {
        let revs = repo.revisions(ui, &[revs])?;
        let peer = SubsetPeer::of(&*repo.view()?, &revs);
        let mut remote = Remote::connect(Box::new(peer))?;
        ui.trace(&mut remote);
        return Ok(remote);
    }
    let name = matches.arguments().first();
    let name = name.map_or(&b"default"[..], Vec::as_slice);
    let sources = peers::sources(repo, ui, config, name)?;
    let Some(source) = sources.first() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let remote = peers::connect(repo, ui, config, source)?;
    ui.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
    Ok(remote)
}

/// A set of own changesets; `None` is all of them.
type OwnChangesets = Option<HashSet<Rev>>;

/// With `--local-as-revs`, the changesets that this side has; with `--rev`, those that are compared.
fn own_changesets(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
) -> Result<(OwnChangesets, OwnChangesets), Abort> {
    let view = repo.view()?;
    let mut closure = |specs: &[&[u8]]| -> Result<OwnChangesets, Abort> {
        if specs.is_empty() {
            return Ok(None);
        }
        let heads = repo.revisions(ui, specs)?;
        let ancestors = view.missing_ancestors(&heads, &[]);
        Ok(Some(ancestors.into_iter().collect()))
    };
    let own = closure(matches.value("local-as-revs").as_slice())?;
    // The older discovery compares all, whatever --rev names.
    let among = match matches.flag("old") {
        true => None,
        false => closure(&matches.list("rev"))?,
    };
    if let (Some(own), Some(among)) = (&own, &among)
        && let Some(rev) = among.difference(own).max()
    {
        let rev = rev.0;
        return Err(Abort::input(format!(
            "filtered revision '{rev}' (not in 'debug-discovery-local-filter' subset)"
        )));
    }
    Ok((own, among))
}

/// Messages of the comparison.
struct Messages {
    /// In place of being printed.
    kept: Option<Vec<u8>>,
}

impl Messages {
    fn say(&mut self, ui: &mut Ui, least: Verbosity, words: &str) -> Result<(), Abort> {
        self.keep_trace(ui);
        let is_said = match least {
            Verbosity::Quiet => true,
            Verbosity::Normal => !ui.verbosity.quiet,
            Verbosity::Verbose => ui.verbosity.verbose,
            Verbosity::Debug => ui.verbosity.debug,
        };
        match &mut self.kept {
            _ if !is_said => Ok(()),
            Some(kept) => {
                kept.extend_from_slice(words.as_bytes());
                Ok(())
            }
            None => ui.write(words),
        }
    }

    /// Keeps what the connection has told since the last message.
    fn keep_trace(&mut self, ui: &mut Ui) {
        if let Some(kept) = &mut self.kept {
            kept.extend(ui.take_peer_trace());
        }
    }
}

/// Least verbosity at which a message is said.
#[derive(Clone, Copy)]
enum Verbosity {
    Quiet,
    Normal,
    Verbose,
    Debug,
}

fn print(
    ui: &mut Ui,
    out: &mut Formatter,
    (comparison, counts): (&Comparison, &DiscoveryCounts),
    (seconds, output): (f64, Vec<u8>),
) -> Result<(), Abort> {
    let line = format!("elapsed time:  {seconds:.6} seconds\n");
    out.field(ui, "elapsed", Value::Float(seconds), line)?;
    for (heading, name, number) in lines(comparison, counts) {
        match name {
            "" => out.plain(ui, format!("{heading}\n"))?,
            // The last digits stand below each other.
            name => {
                let line = format!("{heading}{number:>0$}\n", 32 - heading.len());
                out.field(ui, name, Value::Int(number as i64), line)?;
            }
        }
    }
    if let Some([branches, between]) = comparison.commands {
        for (name, requests) in [
            ("total-roundtrips-heads", 1),
            ("total-roundtrips-branches", branches.requests),
            ("total-roundtrips-between", between.requests),
        ] {
            out.field(ui, name, Value::Int(requests as i64), "")?;
        }
    }
    out.field(ui, "output", Value::Text(output), "")?;
    if ui.verbosity.verbose {
        let mut heads: Vec<String> = counts.common_heads.iter().map(short_hex).collect();
        heads.sort_unstable();
        out.plain(ui, format!("common heads: {}\n", heads.join(" ")))?;
    }
    Ok(())
}

/// The lines for people: heading, name of the value, number. Some values stand in two lines.
fn lines(
    comparison: &Comparison,
    counts: &DiscoveryCounts,
) -> Vec<(&'static str, &'static str, usize)> {
    let found = &comparison.found;
    let mut lines = vec![
        ("round-trips:        ", "total-roundtrips", found.questions),
        ("queries:            ", "total-queries", found.asked),
    ];
    if let Some([branches, between]) = comparison.commands {
        lines.push((
            "  queries-branches:",
            "total-queries-branches",
            branches.queries,
        ));
        lines.push((
            "  queries-between:",
            "total-queries-between",
            between.queries,
        ));
    }
    let [common, missing, undecided] = [&counts.common, &counts.missing, &counts.undecided];
    let [here, there] = [counts.common_heads_local, counts.common_heads_remote];
    let common_heads = counts.common_heads.len();
    lines.extend([
        ("heads summary:", "", 0),
        ("  total common heads:", "nb-common-heads", common_heads),
        ("    also local heads:", "nb-common-heads-local", here),
        ("    also remote heads:", "nb-common-heads-remote", there),
        (
            "    both:",
            "nb-common-heads-both",
            counts.common_heads_both,
        ),
        ("  local heads:", "nb-head-local", counts.local_heads),
        ("    common:", "nb-common-heads-local", here),
        (
            "    missing:",
            "nb-head-local-missing",
            counts.local_heads - here,
        ),
        ("  remote heads:", "nb-head-remote", counts.remote_heads),
        ("    common:", "nb-common-heads-remote", there),
        (
            "    unknown:",
            "nb-head-remote-unknown",
            counts.remote_heads - there,
        ),
        ("local changesets:", "nb-revs", common.all + missing.all),
        ("  common:", "nb-revs-common", common.all),
        ("    heads:", "nb-common-heads", common_heads),
        ("    roots:", "nb-common-roots", common.roots),
        ("  missing:", "nb-revs-missing", missing.all),
        ("    heads:", "nb-missing-heads", missing.heads),
        ("    roots:", "nb-missing-roots", missing.roots),
        ("  first undecided set:", "nb-ini_und", undecided.all),
        ("    heads:", "nb-ini_und-heads", undecided.heads),
        ("    roots:", "nb-ini_und-roots", undecided.roots),
        ("    common:", "nb-ini_und-common", counts.undecided_common),
        (
            "    missing:",
            "nb-ini_und-missing",
            undecided.all - counts.undecided_common,
        ),
    ]);
    lines
}
