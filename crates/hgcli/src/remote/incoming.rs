//! Incoming changesets: applies bundles and prints their contents.

use crate::context::{Config, Repo};
use crate::remote::servers::download_options;
use crate::ui::{Abort, Ui, short_hex};
use std::time::Instant;
use varve_exchange::ExchangeError;
use varve_exchange::apply::{BookmarkMove, PulledBookmark};
use varve_exchange::apply::{
    BundleApplier, BundleDownloader, BundleEvent, InstabilityChange, InstabilitySnapshot,
    PendingArrival, PullContext, PushContext, StreamApplier, StreamEvent,
};
use varve_exchange::format::bundle::Bundle;
use varve_exchange::format::packed::Packed;
use varve_exchange::generate::SectionSizes;
use varve_repo::{Lock, ReceiveReport, Rev, ViewFilter};

/// Shortest duration, in seconds, that a rate is computed with.
const SHORTEST: f64 = 0.001;

/// A number of bytes with three digits.
fn shown_bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    let units = [(KIB.powi(3), "GB"), (KIB.powi(2), "MB"), (KIB, "KB")];
    let Some((unit, name)) = units.iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes:.0} bytes");
    };
    let number = bytes / unit;
    match number {
        100.0.. => format!("{number:.0} {name}"),
        10.0.. => format!("{number:.1} {name}"),
        _ => format!("{number:.2} {name}"),
    }
}

/// Digits of a node in messages.
const SHORT: usize = 12;

/// How a bundle is applied.
pub(crate) enum ApplyMode<'a> {
    /// A bundle of the user.
    Given,
    /// A bundle that another repository pushes.
    Push(PushContext<'a>),
    /// A bundle that was requested.
    Pull(PullContext<'a>),
    /// The same, where the user is asked at the end.
    ConfirmedPull(PullContext<'a>),
    /// A requested bundle for a new repository; bookmarks are printed with `--debug` only.
    Clone(PullContext<'a>),
}

/// An applied bundle, with the state before it.
#[derive(Debug)]
pub(crate) struct AppliedBundle {
    /// Counts of the received data.
    pub(crate) report: ReceiveReport,
    before: InstabilitySnapshot,
}

/// Applies a bundle under the store's lock, which comes back, and says the steps. `source` is
/// the command and `url` the place that it comes from, as hooks learn them; `failed` turns an error
/// of the bundle into the command's.
pub(crate) fn apply_bundle(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    lock: Lock,
    bundle: Bundle<'_>,
    origin: (&'static str, Vec<u8>),
    failed: impl FnOnce(ExchangeError) -> Abort,
) -> Result<(AppliedBundle, Lock), Abort> {
    apply(repo, ui, config, lock, bundle, origin, ApplyMode::Given)?.map_err(failed)
}

/// As [`apply_bundle`], for a bundle that came in a certain way.
pub(crate) fn apply(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    lock: Lock,
    bundle: Bundle<'_>,
    (source, url): (&'static str, Vec<u8>),
    mode: ApplyMode<'_>,
) -> Result<Result<(AppliedBundle, Lock), ExchangeError>, Abort> {
    let repository = repo.repository()?;
    let before = InstabilitySnapshot::of(&repository)?;
    let write = config.storage_settings()?;
    let write = write.write_options(repository.requirements());
    let takes_markers = config.evolution()?.markers;
    let downloads = download_options(config, &repo.cwd)?;
    let progress = std::mem::replace(&mut ui.progress, Box::new(varve_base::Silent));
    let stop = ui.stop.clone();
    let debug = ui.verbosity.debug;
    let mut told = Ok(());
    let asks = matches!(mode, ApplyMode::ConfirmedPull(_));
    let (push, pull, silent) = match mode {
        ApplyMode::Given => (None, None, false),
        ApplyMode::Push(push) => (Some(push), None, false),
        ApplyMode::Pull(pull) | ApplyMode::ConfirmedPull(pull) => (None, Some(pull), false),
        ApplyMode::Clone(pull) => (None, Some(pull), true),
    };
    let mut on_event = |event: BundleEvent<'_>| {
        let is_told = !silent || debug || !matches!(event, BundleEvent::Bookmark(_));
        if is_told && told.is_ok() {
            told = print_event(repo, ui, event);
        }
    };
    let applier = BundleApplier {
        repository: &repository,
        write,
        source,
        url,
        takes_markers,
        checks_all: false,
        only_history: false,
        downloads: downloads
            .as_ref()
            .map(|options| options as &dyn BundleDownloader),
        progress: progress.as_ref(),
        stop: &stop,
        debug,
        asks,
        on_event: &mut on_event,
        push,
        pull,
    };
    let applied = applier.apply(lock, bundle);
    ui.progress = progress;
    told?;
    Ok(applied.map(|(report, lock)| (AppliedBundle { report, before }, lock)))
}

/// Takes the files of a store out of a packed bundle, under the store's lock, which comes back.
pub(crate) fn apply_packed(
    repo: &mut Repo,
    ui: &mut Ui,
    lock: Lock,
    packed: Packed<'_>,
    failed: impl FnOnce(ExchangeError) -> Abort,
) -> Result<Lock, Abort> {
    let repository = repo.repository()?;
    let stop = ui.stop.clone();
    let mut told = Ok(());
    let mut on_event = |event: StreamEvent<'_>| {
        if told.is_ok() {
            told = print_event(repo, ui, BundleEvent::Stream(event));
        }
    };
    let applier = StreamApplier {
        repository: &repository,
        stop: &stop,
        on_event: &mut on_event,
    };
    let (load, lock) = applier.apply_packed(lock, packed).map_err(failed)?;
    told?;
    print_event(repo, ui, BundleEvent::StreamApplied(load))?;
    Ok(lock)
}

/// Says with `--verbose` how large the sections of a bundle are.
pub(crate) fn note_sizes(ui: &mut Ui, sizes: &SectionSizes) -> Result<(), Abort> {
    ui.note("uncompressed size of bundle content:\n")?;
    ui.note(format!("{:8} (changelog)\n", sizes.changesets))?;
    ui.note(format!("{:8} (manifests)\n", sizes.manifests))?;
    for (file, size) in &sizes.files {
        ui.note([format!("{size:8}  ").as_bytes(), file, b"\n"].concat())?;
    }
    Ok(())
}

/// Prints an event of a bundle that is applied.
pub(crate) fn print_event(
    repo: &mut Repo,
    ui: &mut Ui,
    event: BundleEvent<'_>,
) -> Result<(), Abort> {
    match event {
        BundleEvent::Stream(StreamEvent::File { kind, name, len }) => {
            let kind = kind
                .map(|letter| format!("[{letter}] "))
                .unwrap_or_default();
            let (before, after) = (format!("adding {kind}"), format!(" ({len} bytes)\n"));
            ui.debug([before.as_bytes(), name, after.as_bytes()].concat())
        }
        BundleEvent::Stream(StreamEvent::Begin(load)) => {
            ui.transfer_began = Some(Instant::now());
            let (files, bytes) = (load.files, shown_bytes(load.bytes as f64));
            ui.status(format!("{files} files to transfer, {bytes} of data\n"))
        }
        BundleEvent::StreamApplied(load) => {
            // The files may have other requirements than the repository had before.
            repo.reopen();
            let began = ui.transfer_began.take().unwrap_or_else(Instant::now);
            let seconds = began.elapsed().as_secs_f64().max(SHORTEST);
            let (files, bytes) = (load.files, shown_bytes(load.bytes as f64));
            let rate = shown_bytes(load.bytes as f64 / seconds);
            ui.status(format!(
                "stream-cloned {files} files / {bytes} in {seconds:.1} seconds ({rate}/sec)\n"
            ))
        }
        BundleEvent::Step(step) => ui.status(format!("{step}\n")),
        BundleEvent::Debug(words) if ui.verbosity.debug => ui.write(words),
        BundleEvent::Debug(_) => Ok(()),
        BundleEvent::RemoteOutput(words) => print_remote(ui, words),
        BundleEvent::Bookmark(bookmark) => print_bookmark(ui, bookmark),
        BundleEvent::Question(pending) => {
            pending.accepted.set(false);
            confirm(ui, pending)?;
            pending.accepted.set(true);
            Ok(())
        }
    }
}

/// Asks about changes that do not count yet; an error if they are declined.
fn confirm(ui: &mut Ui, pending: &PendingArrival) -> Result<(), Abort> {
    if let Some(line) = varve_exchange::apply::changesets_summary("adding", &pending.report) {
        ui.status(line)?;
    }
    if let Some([first, last]) = &pending.changesets {
        let (first, last) = (short_hex(first), short_hex(last));
        ui.status(match first == last {
            true => format!("new changesets {first}\n"),
            false => format!("new changesets {first}:{last}\n"),
        })?;
    }
    let published = pending.report.published;
    if published > 0 {
        ui.status(format!("{published} local changesets will be published\n"))?;
    }
    match ui.confirm("accept incoming changes")? {
        true => Ok(()),
        false => Err(Abort::new("user aborted")),
    }
}

/// Prints the move of a pulled bookmark.
pub(crate) fn print_bookmark(ui: &mut Ui, bookmark: &PulledBookmark) -> Result<(), Abort> {
    let name = &bookmark.name[..];
    match &bookmark.moves {
        BookmarkMove::Added => ui.status([b"adding remote bookmark ", name, b"\n"].concat()),
        BookmarkMove::Updated => ui.status([b"updating bookmark ", name, b"\n"].concat()),
        BookmarkMove::Imported => ui.status([b"importing bookmark ", name, b"\n"].concat()),
        BookmarkMove::Diverged(other) => {
            let words = [b"divergent bookmark ", name, b" stored as ", other, b"\n"];
            ui.warn(words.concat())
        }
        BookmarkMove::Unnameable => {
            let words = b"warning: failed to assign numbered name to divergent bookmark ";
            ui.warn([&words[..], name, b"\n"].concat())
        }
        BookmarkMove::Mirrored => ui.debug([b"updating bookmark ", name, b"\n"].concat()),
        BookmarkMove::Removed => ui.debug([b"removing bookmark ", name, b"\n"].concat()),
    }
}

/// Prints the output of the other side.
pub(crate) fn print_remote(ui: &mut Ui, words: &[u8]) -> Result<(), Abort> {
    for line in words.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        ui.status([b"remote: ", line, b"\n"].concat())?;
    }
    Ok(())
}

/// Prints the counts of received data.
pub(crate) fn print_arrival(
    repo: &mut Repo,
    ui: &mut Ui,
    arrival: &AppliedBundle,
) -> Result<(), Abort> {
    print_stored(repo, ui, arrival)?;
    let report = &arrival.report;
    print_new(repo, ui, report)?;
    if report.published > 0 {
        let published = report.published;
        ui.status(format!("{published} local changesets published\n"))?;
    }
    Ok(())
}

/// Prints the counts of stored data, without the changesets, which a pushing client knows.
pub(crate) fn print_stored(
    repo: &mut Repo,
    ui: &mut Ui,
    arrival: &AppliedBundle,
) -> Result<(), Abort> {
    repo.refresh();
    let report = &arrival.report;
    if ui.verbosity.debug && !report.new.is_empty() {
        ui.write("updating the branch cache\n")?;
    }
    if let Some(line) = varve_exchange::apply::changesets_summary("added", report) {
        ui.status(line)?;
    }
    if report.markers > 0 {
        let markers = report.markers;
        ui.status(format!("{markers} new obsolescence markers\n"))?;
    }
    for changed in arrival.before.changes_since(&repo.repository()?)? {
        match changed {
            InstabilityChange::Obsoleted(_) => ui.status(changed.to_string())?,
            InstabilityChange::Unstable { .. } => ui.warn(changed.to_string())?,
        }
    }
    Ok(())
}

fn print_new(repo: &mut Repo, ui: &mut Ui, report: &ReceiveReport) -> Result<(), Abort> {
    if report.new.is_empty() {
        return Ok(());
    }
    let view = repo.repository()?.view_for(ViewFilter::Visible)?;
    let new = report.new.clone().map(Rev);
    let seen: Vec<Rev> = new.filter(|rev| view.is_visible(*rev)).collect();
    let hidden = report.new.len() - seen.len();
    if let (Some(first), Some(last)) = (seen.first(), seen.last()) {
        let short = |rev: &Rev| view.changelog().node(*rev).to_string()[..SHORT].to_owned();
        let range = match first == last {
            true => short(first),
            false => format!("{}:{}", short(first), short(last)),
        };
        let count = |name: &str| {
            let phases = seen.iter().map(|rev| view.phases().of(*rev).name());
            let count = phases.filter(|phase| *phase == name).count();
            (count > 0).then(|| format!("{count} {name}s"))
        };
        let phases: Vec<String> = ["draft", "secret"].into_iter().filter_map(count).collect();
        let phases = match phases.is_empty() {
            true => String::new(),
            false => format!(" ({})", phases.join(", ")),
        };
        ui.status(format!("new changesets {range}{phases}\n"))?;
    }
    match hidden {
        0 => Ok(()),
        hidden => ui.status(format!("({hidden} other changesets obsolete on arrival)\n")),
    }
}

/// Advises to update or merge, when there are `more` heads than before.
pub(crate) fn advise_after_arrival(repo: &mut Repo, ui: &mut Ui, more: i64) -> Result<(), Abort> {
    let repository = repo.repository()?;
    let view = repo.view()?;
    // As many as there were changed, or came.
    let moved = if more < 0 { more - 1 } else { more + 1 };
    let advice = if moved > 1 {
        let branch = varve_workdir::branch(&repository)?;
        let branches = view.branchmap()?;
        let heads = branches.get(&branch).map_or(0, |heads| {
            let open = heads.heads.iter();
            open.filter(|head| !heads.closed.contains(head)).count()
        });
        match heads as i64 {
            heads if heads == moved => "(run 'hg heads' to see heads, 'hg merge' to merge)\n",
            2.. => "(run 'hg heads .' to see heads, 'hg merge' to merge)\n",
            _ => "(run 'hg heads' to see heads)\n",
        }
    } else if repo
        .config
        .boolean("commands", "update.requiredest", false)?
    {
        return Ok(());
    } else {
        "(run 'hg update' to get a working copy)\n"
    };
    ui.status(advice)
}
