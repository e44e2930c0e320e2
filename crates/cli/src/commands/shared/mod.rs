//! `shared`: databases and repositories in a shared store, with every state of the retention time.

mod put;
mod restore;
mod thing;

use super::moving;
use crate::store_address::StoreAddress;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use thing::StoredThing;
use varve_base::DiskStorage;
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::{Abort, Ui};
use varve_server::runtime::is_of_leader;
use varve_shared::{
    Catalog, LogOptions, Member, Node, ObjectStore, Placement, RestorePoint, SystemClock,
    collect_garbage, import, list_logs, newest_leader, shown_members, verify,
};

/// A server whose last heartbeat is so much older than the newest of all is not shown; take-over times are rarely longer.
const SILENCE: Duration = Duration::from_secs(30);

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["shared"],
    options: &[
        Flag::long_value("at-slot", "N", "restore the state after record N"),
        Flag::long_value(
            "at-time",
            "SECONDS",
            "restore the state of a time, in seconds since 1970",
        ),
        Flag::long_value(
            "retention",
            "DAYS",
            "how far back gc leaves every state (default: 7)",
        ),
    ],
    arguments: 2..=usize::MAX,
    synopsis: "list STORE | put STORE DIR NAME... | restore STORE NAME DIR | remove STORE NAME... | verify STORE [NAME]... | \
               gc STORE [NAME]...",
    summary: "keep databases and repositories in a shared store, and restore any of their states",
    help: "STORE is the address of a store of objects: file:///PATH is a directory, on this machine or on a file system that \
           machines share, and s3://BUCKET/PREFIX a part of a bucket of S3, whose server and keys are those of the \
           environment (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY). (docs/shared.md has \
           its protocol.)\n\n\
           NAME is that of a database, or 'hg/' and that of a repository, as in its URL.\n\n\
           'put' copies databases and repositories of DIR, a directory that 'varve serve' serves, which it may do meanwhile. One \
           that is in the store already is brought up to date: only bytes that the store does not have are \
           sent, and its earlier states stay. It is made equal to that of DIR: what servers of the store have \
           changed since is in its earlier states only.\n\n\
           'restore' makes NAME in DIR, which must not be served meanwhile, and where it must not be. --at-slot and --at-time \
           choose an earlier state than the newest.\n\n\
           'list' shows what is in the store, 'verify' reads everything of it, 'gc' removes \
           what no state of the last DAYS needs, and 'remove' removes all but the earlier states.\n\n\
           Ends with 0; with 1 if 'verify' finds damage.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let arguments = matches.arguments().iter();
    let text = arguments.map(|it| String::from_utf8_lossy(it).into_owned());
    let text: Vec<String> = text.collect();
    let [action, address, rest @ ..] = text.as_slice() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    refuse_other_options(action, matches)?;
    let cwd = context.repo.cwd.clone();
    // The path as it was typed, which need not be text.
    let path = |at: usize| cwd.join(moving::as_path(&matches.arguments()[at]));
    let ui = &mut context.ui;
    match (action.as_str(), rest) {
        ("list", []) => list(ui, &existing_store(address)?),
        ("put", [_, names @ ..]) if !names.is_empty() => put::put(ui, address, &path(2), names),
        ("restore", [name, _]) => {
            let point = restore_point(matches)?;
            let store = existing_store(address)?;
            restore::restore_thing(ui, &store, (&StoredThing::named(name)?, &path(3)), point)
        }
        ("remove", names) if !names.is_empty() => remove_all(ui, &existing_store(address)?, names),
        ("verify", names) => verify_all(ui, &existing_store(address)?, names),
        ("gc", names) => {
            let options = options(matches)?;
            collect_all(ui, &existing_store(address)?, names, &options)
        }
        _ => Err(COMMAND.usage_error("invalid arguments")),
    }
}

/// An option is honoured or refused.
fn refuse_other_options(action: &str, matches: &Matches) -> Result<(), Abort> {
    let of = [
        ("at-slot", "restore"),
        ("at-time", "restore"),
        ("retention", "gc"),
    ];
    for (option, its_action) in of {
        if matches.value(option).is_some() && action != its_action {
            return Err(Abort::new(format!("--{option} is for '{its_action}'")));
        }
    }
    Ok(())
}

fn number(option: &str, typed: &[u8]) -> Result<u64, Abort> {
    let text = String::from_utf8_lossy(typed);
    let wrong = |_| Abort::new(format!("--{option} needs a whole number, not {text:?}"));
    text.parse().map_err(wrong)
}

fn restore_point(matches: &Matches) -> Result<RestorePoint, Abort> {
    match (matches.value("at-slot"), matches.value("at-time")) {
        (None, None) => Ok(RestorePoint::End),
        (Some(slot), None) => number("at-slot", slot).map(RestorePoint::Slot),
        (None, Some(time)) => {
            let seconds = number("at-time", time)?;
            Ok(RestorePoint::Time(Duration::from_secs(seconds)))
        }
        (Some(_), Some(_)) => Err(Abort::new("--at-slot and --at-time name two states")),
    }
}

fn options(matches: &Matches) -> Result<LogOptions, Abort> {
    let mut options = LogOptions::default();
    if let Some(days) = matches.value("retention") {
        let seconds = number("retention", days)?.saturating_mul(24 * 60 * 60);
        options.retention = Duration::from_secs(seconds);
    }
    Ok(options)
}

fn existing_store(address: &str) -> Result<Arc<dyn ObjectStore>, Abort> {
    let address = StoreAddress::parse(address).map_err(abort)?;
    address.open_existing().map_err(abort)
}

fn abort(error: impl std::fmt::Display) -> Abort {
    Abort::new(error.to_string())
}

/// The things of a store that are named, or all.
fn chosen(store: &Arc<dyn ObjectStore>, names: &[String]) -> Result<Vec<StoredThing>, Abort> {
    let logs = list_logs(store.as_ref()).map_err(abort)?;
    let there: BTreeSet<StoredThing> = logs
        .iter()
        .filter_map(|it| StoredThing::of_log(&it.log))
        .collect();
    if names.is_empty() {
        return Ok(there.into_iter().collect());
    }
    let named = names.iter().map(|name| {
        let thing = StoredThing::named(name)?;
        match there.contains(&thing) {
            true => Ok(thing),
            false => Err(Abort::new(format!(
                "{} has no {}",
                store.address(),
                thing.described()
            ))),
        }
    });
    named.collect()
}

/// Removes everything of databases and repositories but their earlier states.
fn remove_all(ui: &mut Ui, store: &Arc<dyn ObjectStore>, names: &[String]) -> Result<u8, Abort> {
    let catalog = Catalog::new(Arc::clone(store), Arc::new(SystemClock::default()));
    for thing in chosen(store, names)? {
        let failed = |error| Abort::new(format!("{thing}: {error}"));
        let before = catalog.entries(&thing.log).map_err(failed)?;
        let nothing = DiskStorage::new(Path::new(""));
        let done =
            import(store, &thing.log, &LogOptions::default(), (&nothing, &[])).map_err(failed)?;
        catalog.remove(&before).map_err(failed)?;
        let slot = done.slot;
        ui.write(format!(
            "{thing}: removed by record {slot}; its states before can be restored\n"
        ))?;
    }
    Ok(0)
}

fn list(ui: &mut Ui, store: &Arc<dyn ObjectStore>) -> Result<u8, Abort> {
    let owners = ShownOwners::of(store.as_ref())?;
    for log in list_logs(store.as_ref()).map_err(abort)? {
        if let Some(thing) = StoredThing::of_log(&log.log) {
            let (records, bytes) = (log.records, log.bytes);
            ui.write(format!("{thing}: {records} records, {bytes} bytes"))?;
            if let Some(owner) = owners.of_thing(&thing.name) {
                ui.write(format!(", written by {}", owner.address))?;
            }
            ui.write("\n")?;
        }
    }
    Ok(0)
}

/// The servers that write what is in a store, as their heartbeats show it.
struct ShownOwners {
    leader: Option<Node>,
    placement: Placement,
}

impl ShownOwners {
    fn of(store: &dyn ObjectStore) -> Result<ShownOwners, Abort> {
        let live = shown_members(store, SILENCE).map_err(abort)?;
        let leader = newest_leader(store).map_err(abort)?;
        let leader = leader.map(|(_, leader)| leader);
        let leader = leader.filter(|leader| live.iter().any(|it| it.node == *leader));
        let is_candidate =
            |member: &Member| member.has_joined || leader.as_ref() == Some(&member.node);
        let candidates = live.into_iter().filter(is_candidate);
        let placement = Placement::new(candidates.map(|member| member.node));
        Ok(ShownOwners { leader, placement })
    }

    fn of_thing(&self, name: &str) -> Option<&Node> {
        match is_of_leader(name) {
            true => self.leader.as_ref(),
            false => self.placement.owner_of(name),
        }
    }
}

fn verify_all(ui: &mut Ui, store: &Arc<dyn ObjectStore>, names: &[String]) -> Result<u8, Abort> {
    let mut is_whole = true;
    for thing in chosen(store, names)? {
        let name = &thing.name;
        let report = verify(store, &thing.log, &LogOptions::default()).map_err(abort)?;
        for finding in &report.findings {
            ui.write(format!("{name}: {finding}\n"))?;
        }
        is_whole &= report.findings.is_empty();
        if report.leftovers > 0 {
            let leftovers = report.leftovers;
            ui.write(format!(
                "{name}: {leftovers} old checkpoints lead nowhere; states behind them cannot be restored, 'gc' removes them\n"
            ))?;
        }
        let (records, checkpoints) = (report.records, report.checkpoints);
        let (segments, bytes) = (report.segments, report.segment_bytes);
        ui.write(format!(
            "{name}: checked {records} records, {checkpoints} checkpoints, {segments} segments with {bytes} bytes\n"
        ))?;
    }
    Ok(u8::from(!is_whole))
}

fn collect_all(
    ui: &mut Ui,
    store: &Arc<dyn ObjectStore>,
    names: &[String],
    options: &LogOptions,
) -> Result<u8, Abort> {
    for thing in chosen(store, names)? {
        let name = &thing.name;
        let done = collect_garbage(store, None, &thing.log, options).map_err(abort)?;
        let (records, segments) = (done.records, done.segments);
        let (checkpoints, bytes) = (done.checkpoints, done.bytes);
        ui.write(format!(
            "{name}: removed {records} records, {checkpoints} checkpoints, {segments} segments, {bytes} bytes\n"
        ))?;
    }
    Ok(0)
}
