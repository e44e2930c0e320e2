//! One bundle, written and applied.

use super::QUANTITIES;
use crate::BenchError;
use crate::measuring::processor_seconds;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use varve_base::{Interrupt, OpenMode, Silent, Storage, StorageFile};
use varve_exchange::apply::BundleApplier;
use varve_exchange::format::bundle::open_bundle;
use varve_exchange::format::bundlespec::BundleSpec;
use varve_exchange::format::limits::BundleLimits;
use varve_exchange::generate::{BundlePlan, OutgoingChangesets};
use varve_repo::{LockKind, Node, RepoView, Repository, StorageSettings};

/// Bytes that are buffered before the file grows, and read at once.
const BUFFER: usize = 256 << 10;

/// The served changesets.
pub(super) struct History {
    pub view: Arc<RepoView>,
    pub outgoing: OutgoingChangesets,
}

impl History {
    pub fn of(repository: &Repository) -> Result<History, BenchError> {
        let view = repository.view()?;
        let revs = view.changelog().revs().filter(|rev| view.is_visible(*rev));
        let outgoing = OutgoingChangesets {
            revs: revs.collect(),
            heads: view.heads(),
            common: Vec::new(),
        };
        match outgoing.revs.is_empty() {
            true => Err(BenchError::Nothing),
            false => Ok(History { view, outgoing }),
        }
    }

    /// Names of all changesets, in order: these fix the manifests and files, whose hashes are checked on arrival.
    fn nodes(&self) -> Vec<Node> {
        let revs = self.outgoing.revs.iter();
        revs.map(|rev| self.view.changelog().node(*rev)).collect()
    }
}

/// Everything that a run needs.
pub(super) struct Trial<'t> {
    pub history: &'t History,
    pub spec: &'t BundleSpec,
    pub directory: PathBuf,
    pub storage: &'t Arc<dyn Storage>,
    pub interrupt: &'t Interrupt,
}

/// Appends to a file.
struct Appending<'f>(&'f dyn StorageFile);

impl Write for Appending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file from its beginning.
struct Reading {
    file: Arc<dyn StorageFile>,
    at: u64,
}

impl Read for Reading {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(self.at, out).map_err(io::Error::other)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Trial<'_> {
    /// Writes the bundle, applies it to an empty repository, compares, and removes both. Also returns the bundle's bytes.
    pub fn run(&self) -> Result<([f64; QUANTITIES], u64), BenchError> {
        self.storage.create_directory(&self.directory)?;
        let path = self.directory.join("bundle");
        let file = self.storage.open(&path, OpenMode::CreateNew)?;
        let write = measured(|| self.write(file.as_ref()))?;
        let size = file.len()?;
        let apply = measured(|| self.apply(Arc::clone(&file)))?;
        drop(file);
        self.storage.remove_tree(&self.directory)?;
        Ok(([write.0, write.1, apply.0, apply.1], size))
    }

    fn write(&self, file: &dyn StorageFile) -> Result<(), BenchError> {
        let History { view, outgoing } = self.history;
        let mut out = BufWriter::with_capacity(BUFFER, Appending(file));
        let plan = BundlePlan::new(view, outgoing, self.spec.contents())?;
        plan.write(self.spec.setting(), &mut out, self.interrupt)?;
        out.flush().map_err(varve_exchange::ExchangeError::Write)?;
        Ok(())
    }

    fn apply(&self, file: Arc<dyn StorageFile>) -> Result<(), BenchError> {
        let root = self.directory.join("client");
        let client = Repository::create(Arc::clone(self.storage), &root)?;
        let source = io::BufReader::with_capacity(BUFFER, Reading { file, at: 0 });
        let bundle = open_bundle(source, BundleLimits::default())?;
        let applier = BundleApplier {
            repository: &client,
            write: StorageSettings::default().write_options(client.requirements()),
            source: "bundle",
            url: Vec::new(),
            takes_markers: false,
            checks_all: false,
            only_history: true,
            downloads: None,
            progress: &Silent,
            stop: self.interrupt,
            debug: false,
            asks: false,
            on_event: &mut |_| {},
            push: None,
            pull: None,
        };
        let (_, _lock) = applier.apply(client.try_lock(LockKind::Store)?, bundle)?;
        let found = History::of(&client)?.nodes();
        match found == self.history.nodes() {
            true => Ok(()),
            false => Err(BenchError::OtherHistory),
        }
    }
}

/// Wall and processor seconds of `work`.
fn measured(work: impl FnOnce() -> Result<(), BenchError>) -> Result<(f64, f64), BenchError> {
    let (start, used) = (Instant::now(), processor_seconds());
    work()?;
    Ok((start.elapsed().as_secs_f64(), processor_seconds() - used))
}
