//! `shared`: copies of databases in a shared store, with every state of the retention time.

use super::moving;
use crate::store_address::StoreAddress;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use varve_base::{DiskStorage, OpenMode, Storage};
use varve_btree::NodeCache;
use varve_docdb::{Database, DatabaseOptions};
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::{Abort, Ui};
use varve_server::couch::database::files::file_of;
use varve_server::couch::database::logs::{self, FILE, database_of};
use varve_server::couch::names::check_database_name;
use varve_server::directory::{DATABASES, OfflineDirectory};
use varve_server::runtime::is_of_leader;
use varve_shared::{
    Catalog, LogId, LogOptions, Member, Node, ObjectStore, Placement, RestorePoint, SystemClock,
    collect_garbage, import, list_logs, newest_leader, probe, restore, shown_members, verify,
};

/// Memory for nodes; one look at a restored database needs few.
const CACHE: usize = 1 << 20;

/// Each copy reads all records since the last checkpoint, so there are more of these than a long-lived owner makes.
const CHECKPOINT_SLOTS: u64 = 32;

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
    synopsis: "list STORE | put STORE DIR DB... | restore STORE DB DIR | verify STORE [DB]... | gc STORE [DB]...",
    summary: "keep copies of databases in a shared store, and restore any of their states",
    help: "STORE is the address of a store of objects: file:///PATH is a directory, on this machine or on a file system that \
           machines share, and s3://BUCKET/PREFIX a part of a bucket of S3, whose server and keys are those of the \
           environment (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY). (docs/shared.md has \
           its protocol.)\n\n\
           'put' copies the databases DB of DIR, a directory that 'varve serve' serves, which it may do meanwhile. A \
           database that is in the store already is brought up to date: only bytes that the store does not have are \
           sent, and its earlier states stay.\n\n\
           'restore' makes DB in DIR, which must not be served meanwhile, and where it must not be. --at-slot and --at-time \
           choose an earlier state than the newest.\n\n\
           'list' shows the databases of the store, 'verify' reads everything that they have there, and 'gc' removes \
           what no state of the last DAYS needs.\n\n\
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
        ("put", [_, names @ ..]) if !names.is_empty() => put(ui, address, &path(2), names),
        ("restore", [name, _]) => {
            let point = restore_point(matches)?;
            let store = existing_store(address)?;
            restore_database(ui, &store, (name, &path(3)), point)
        }
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

/// The log of a database.
fn log_of(name: &str) -> Result<LogId, Abort> {
    if let Err(refused) = check_database_name(name) {
        return Err(Abort::new(refused.reason));
    }
    logs::log_of(name).map_err(abort)
}

/// The databases of a store that are named, or all.
fn chosen(store: &Arc<dyn ObjectStore>, names: &[String]) -> Result<Vec<String>, Abort> {
    let logs = list_logs(store.as_ref()).map_err(abort)?;
    let there: BTreeSet<String> = logs.iter().filter_map(|it| database_of(&it.log)).collect();
    if names.is_empty() {
        return Ok(there.into_iter().collect());
    }
    match names.iter().find(|name| !there.contains(*name)) {
        Some(name) => Err(Abort::new(format!(
            "{} has no database {name:?}",
            store.address()
        ))),
        None => Ok(names.to_vec()),
    }
}

fn list(ui: &mut Ui, store: &Arc<dyn ObjectStore>) -> Result<u8, Abort> {
    let owners = ShownOwners::of(store.as_ref())?;
    for log in list_logs(store.as_ref()).map_err(abort)? {
        if let Some(name) = database_of(&log.log) {
            let (records, bytes) = (log.records, log.bytes);
            ui.write(format!("{name}: {records} records, {bytes} bytes"))?;
            if let Some(owner) = owners.of_database(&name) {
                ui.write(format!(", written by {}", owner.address))?;
            }
            ui.write("\n")?;
        }
    }
    Ok(0)
}

/// The servers that write the databases of a store, as their heartbeats show it.
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

    fn of_database(&self, name: &str) -> Option<&Node> {
        match is_of_leader(name) {
            true => self.leader.as_ref(),
            false => self.placement.owner_of(name),
        }
    }
}

fn put(ui: &mut Ui, address: &str, directory: &Path, names: &[String]) -> Result<u8, Abort> {
    let source = DiskStorage::new(directory);
    let mut files = Vec::new();
    for name in names {
        let (id, file) = (log_of(name)?, file_of(name));
        if source.kind(&file)?.is_none() {
            let path = directory.display();
            return Err(Abort::new(format!("{path} has no database {name:?}")));
        }
        files.push((id, file));
    }
    let address = StoreAddress::parse(address).map_err(abort)?;
    let store = address.open().map_err(abort)?;
    probe(store.as_ref()).map_err(abort)?;
    let options = LogOptions {
        checkpoint_slots: CHECKPOINT_SLOTS,
        ..LogOptions::default()
    };
    let catalog = Catalog::new(Arc::clone(&store), Arc::new(SystemClock::default()));
    for (name, (id, file)) in names.iter().zip(files) {
        let files = [(file, PathBuf::from(FILE))];
        let failed = |error| Abort::new(format!("{name}: {error}"));
        let done = import(&store, &id, &options, (&source, &files)).map_err(failed)?;
        // A server that deletes the database meanwhile removes entries that it saw before; so the new one comes first.
        let before = catalog.entries(&id).map_err(failed)?;
        catalog.add(&id).map_err(failed)?;
        catalog.remove(&before).map_err(failed)?;
        let (stored, kept, slot) = (done.stored, done.kept, done.slot);
        let line = format!("{name}: {stored} bytes stored, {kept} were there, record {slot}\n");
        ui.write(line)?;
    }
    Ok(0)
}

fn restore_database(
    ui: &mut Ui,
    store: &Arc<dyn ObjectStore>,
    (name, directory): (&str, &Path),
    point: RestorePoint,
) -> Result<u8, Abort> {
    let (id, file) = (log_of(name)?, file_of(name));
    let target = OfflineDirectory::open(directory).map_err(abort)?;
    if target.storage.kind(&file)?.is_some() {
        let path = directory.display();
        return Err(Abort::new(format!(
            "{path} has a database {name:?} already"
        )));
    }
    let mut scratch = file.clone().into_os_string();
    scratch.push(".restoring");
    let scratch = PathBuf::from(scratch);
    target.storage.remove_tree(&scratch)?;
    target.storage.create_directory(&scratch)?;
    let local = Arc::new(DiskStorage::new(target.path.join(&scratch)));
    let done = restore(store, &id, &LogOptions::default(), (point, local));
    let done = match done {
        Ok(done) => done,
        Err(error) => {
            target.storage.remove_tree(&scratch)?;
            return Err(abort(error));
        }
    };
    let restored = scratch.join(FILE);
    let documents = documents_of(&target, &restored)?;
    let private = Permissions::from_mode(0o600);
    let path = target.path.join(&restored);
    fs::set_permissions(&path, private).map_err(abort)?;
    target.storage.open(&restored, OpenMode::Append)?.sync()?;
    target.storage.rename(&restored, &file)?;
    target.storage.sync_directory(Path::new(DATABASES))?;
    target.storage.remove_tree(&scratch)?;
    let (slot, bytes) = (done.slot, done.bytes);
    let line = format!("{name}: {documents} documents, {bytes} bytes, as of record {slot}\n");
    ui.write(line)?;
    Ok(0)
}

/// Opens a restored database, which may end with a part of a commit, and counts its documents.
fn documents_of(target: &OfflineDirectory, path: &Path) -> Result<u64, Abort> {
    let options = DatabaseOptions::new(target.compression, NodeCache::new(CACHE));
    let snapshot = Database::read_only(&target.storage, path, &options).map_err(abort)?;
    Ok(snapshot.info().map_err(abort)?.doc_count)
}

fn verify_all(ui: &mut Ui, store: &Arc<dyn ObjectStore>, names: &[String]) -> Result<u8, Abort> {
    let mut is_whole = true;
    for name in chosen(store, names)? {
        let report = verify(store, &log_of(&name)?, &LogOptions::default()).map_err(abort)?;
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
    for name in chosen(store, names)? {
        let done = collect_garbage(store, None, &log_of(&name)?, options).map_err(abort)?;
        let (records, segments) = (done.records, done.segments);
        let (checkpoints, bytes) = (done.checkpoints, done.bytes);
        ui.write(format!(
            "{name}: removed {records} records, {checkpoints} checkpoints, {segments} segments, {bytes} bytes\n"
        ))?;
    }
    Ok(0)
}
