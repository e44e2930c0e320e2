//! Creation of the bundles, and of the manifest that lists them.

use super::{directory, read_manifest};
use crate::ExchangeError;
use crate::format::bundlespec::{BundleSpec, BundleType, SpecDefaults};
use crate::format::clone_bundle_manifest::{BUNDLE_ENDING, HEADS_ENDING, INLINE, OWN, PATH};
use crate::format::quoting::QUOTED;
use crate::generate::FileWriter;
use crate::generate::{BundlePlan, OutgoingChangesets, StreamBundle, StreamExtras};
use percent_encoding::utf8_percent_encode;
use sha1::{Digest, Sha1};
use std::fs::TryLockError;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::replace;
use varve_base::{Interrupt, OpenMode, Progress, Storage, StorageFile, Unit};
use varve_repo::{RepoError, RepoView, Repository};
use varve_revlog::Node;

/// Bundlespecs by default: small for slow connections, the store's files for fast ones.
pub const DEFAULT_FORMATS: [&str; 2] = [
    "zstd-v2;compressionlevel=15;compressionthreads=-1",
    "none-v2;stream=v2",
];

/// Held while bundles are created.
const LOCK: &str = "varve.lock";

/// Bytes that are buffered before a file grows.
const BUFFER: usize = 256 << 10;

/// Attempts to list the store's files without a commit meanwhile.
const TRIES: u32 = 8;

/// Parameters of bundlespecs for the writer, which are not in the manifest.
const FOR_WRITERS: [&str; 2] = ["compressionlevel", "compressionthreads"];

/// Which bundles are created, and how.
pub struct CloneBundleOptions<'a> {
    /// Bundlespecs.
    pub formats: &'a [String],
    /// Their directory, relative to `.hg`: `server.peer-bundle-cache-root`, or [`super::BUNDLE_CACHE`].
    pub cache: &'a Path,
    /// Whether a manifest that another program wrote may be replaced.
    pub replaces_manifest: bool,
    /// Whether cloned changesets become public; else the files of a store go with their phases.
    pub publishing: bool,
    /// Gets the number of bytes written.
    pub progress: &'a dyn Progress,
    /// Ends the work with an error; the bundles before stay.
    pub stop: &'a Interrupt,
}

/// One bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneBundle {
    /// Name of the file.
    pub name: String,
    /// Bundlespec in the manifest, for readers.
    pub spec: String,
    /// Its length.
    pub bytes: u64,
}

/// The bundles created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneBundleReport {
    /// All bundles, in the order of the list.
    pub bundles: Vec<CloneBundle>,
    /// Changesets in each.
    pub changesets: usize,
    /// Whether bundles of the store's files were left out, because these hold secret or obsolete
    /// changesets too.
    pub left_out: bool,
}

/// Makes bundles of the served changesets, lists them, and removes the ones before. Until the new
/// list stands, the old one and its bundles do.
///
/// # Errors
/// [`ExchangeError::ForeignManifest`]; [`ExchangeError::CloneBundlesLocked`]; a format that is none or
/// not for clones; errors of the storage; that the work was stopped.
pub fn make_clone_bundles(
    repository: &Repository,
    options: &CloneBundleOptions<'_>,
) -> Result<CloneBundleReport, ExchangeError> {
    let formats = options.formats.iter().map(|text| Format::parse(text));
    let formats: Vec<Format> = formats.collect::<Result<_, _>>()?;
    check_manifest(repository, options)?;
    let storage = repository.storage();
    let directory = directory(repository, options.cache);
    storage.create_directory(&directory)?;
    let _lock = lock(storage.as_ref(), &directory)?;
    let (view, stream) = Subject::find(repository, &formats, options)?;
    let subject = Subject {
        id: id_of(&view),
        storage,
        directory: &directory,
        view: &view,
        stream: stream.as_ref(),
    };
    let mut report = CloneBundleReport {
        changesets: visible(&view).count(),
        ..CloneBundleReport::default()
    };
    for format in &formats {
        if format.is_stream() && stream.is_none() {
            report.left_out = true;
        } else if report.changesets > 0 {
            report.bundles.push(subject.make(format, options)?);
        }
    }
    check_manifest(repository, options)?;
    list(&subject, repository, &report.bundles)?;
    sweep(&subject, &report.bundles)?;
    Ok(report)
}

fn check_manifest(
    repository: &Repository,
    options: &CloneBundleOptions<'_>,
) -> Result<(), ExchangeError> {
    let is_foreign = read_manifest(repository)?.is_some_and(|manifest| !manifest.is_own());
    match is_foreign && !options.replaces_manifest {
        true => Err(ExchangeError::ForeignManifest),
        false => Ok(()),
    }
}

/// Held until it is dropped, or the process is gone.
fn lock(storage: &dyn Storage, directory: &Path) -> Result<Arc<dyn StorageFile>, ExchangeError> {
    let path = directory.join(LOCK);
    let file = match storage.open(&path, OpenMode::CreateNew) {
        Err(error) if error.is_already_there() => storage.open(&path, OpenMode::Append)?,
        opened => opened?,
    };
    match file.disk_file().map_or(Ok(()), |file| file.try_lock()) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ExchangeError::CloneBundlesLocked),
        Err(TryLockError::Error(error)) => Err(ExchangeError::Write(error)),
    }
}

/// A bundlespec, for writers and for readers.
struct Format {
    spec: BundleSpec,
    /// Without the parameters for writers.
    told: String,
}

impl Format {
    fn parse(text: &str) -> Result<Format, ExchangeError> {
        // Clients want to know the engine, so nothing is guessed.
        let habits = SpecDefaults {
            general_delta: true,
        };
        let spec = BundleSpec::parse(text, habits)?;
        let told: Vec<&str> = text
            .split(';')
            .filter(|part| !FOR_WRITERS.iter().any(|name| part.trim().starts_with(name)))
            .collect();
        let stream = spec.contents().stream.as_deref();
        let is_fit = match spec.kind() {
            BundleType::V1 | BundleType::V2 | BundleType::StreamV2 => {
                stream.is_none_or(|form| form == "v2")
            }
            _ => false,
        };
        let told = match stream {
            Some(_) => "none-v2;stream=v2".to_owned(),
            None => told.join(";").to_lowercase(),
        };
        match is_fit && text.contains('-') {
            true => Ok(Format { spec, told }),
            false => Err(ExchangeError::NotForClones(text.to_owned())),
        }
    }

    fn is_stream(&self) -> bool {
        self.spec.contents().stream.is_some()
    }

    /// The part of a file's name that tells it from others.
    fn word(&self) -> String {
        let word = match self.is_stream() {
            true => "stream-v2",
            false => &self.told,
        };
        let plain = |letter: char| match letter {
            'a'..='z' | '0'..='9' | '-' | '.' => letter,
            _ => '_',
        };
        word.chars().map(plain).collect()
    }
}

/// Source and target of the bundles.
struct Subject<'a> {
    id: String,
    storage: &'a Arc<dyn Storage>,
    directory: &'a Path,
    view: &'a Arc<RepoView>,
    stream: Option<&'a StreamBundle>,
}

impl Subject<'_> {
    /// A view, and the store's files as they were at the same moment, if they are wanted and
    /// the view hides nothing.
    fn find(
        repository: &Repository,
        formats: &[Format],
        options: &CloneBundleOptions<'_>,
    ) -> Result<(Arc<RepoView>, Option<StreamBundle>), ExchangeError> {
        let wants_files = formats.iter().any(Format::is_stream);
        for _ in 0..TRIES {
            let view = repository.view()?;
            if !wants_files || view.phases().any_secret() || view.has_obsolete()? {
                return Ok((view, None));
            }
            let extras = StreamExtras {
                phases: !options.publishing,
                markers: false,
                caches: true,
            };
            let stream = StreamBundle::plan(repository, &view, extras)?;
            let after = repository.view()?;
            let is_same = after.changelog().len() == view.changelog().len()
                && heads_of(&after) == heads_of(&view)
                && after.phases().roots() == view.phases().roots();
            if is_same {
                return Ok((view, Some(stream)));
            }
        }
        let path = repository.root().to_owned();
        Err(RepoError::Busy { path, tries: TRIES }.into())
    }

    fn make(
        &self,
        format: &Format,
        options: &CloneBundleOptions<'_>,
    ) -> Result<CloneBundle, ExchangeError> {
        let name = format!("{}-{}{BUNDLE_ENDING}", self.id, format.word());
        let (path, beside) = (self.directory.join(&name), self.beside(&name));
        if self.storage.kind(&beside)?.is_some() {
            self.storage.remove(&beside)?;
        }
        options.progress.begin(&name, Unit::Bytes, None);
        let file = self.storage.open(&beside, OpenMode::CreateNew)?;
        let written = self.write(format, file.as_ref(), options);
        let written = written.and_then(|spec| {
            file.sync()?;
            self.storage.rename(&beside, &path)?;
            Ok(spec)
        });
        if written.is_err() {
            // The next run removes the leftover.
            let _ = self.storage.remove(&beside);
        }
        options.progress.end();
        Ok(CloneBundle {
            spec: written?,
            bytes: file.len()?,
            name,
        })
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.new"))
    }

    /// Writes a bundle and gives the bundlespec for readers.
    fn write(
        &self,
        format: &Format,
        file: &dyn StorageFile,
        options: &CloneBundleOptions<'_>,
    ) -> Result<String, ExchangeError> {
        let counted = Counted(FileWriter(file), options.progress);
        let mut out = BufWriter::with_capacity(BUFFER, counted);
        if let Some(stream) = self.stream.filter(|_| format.is_stream()) {
            stream.write_bundle2(&mut out, options.stop)?;
            let needs = format!("requirements={}", stream.requirements().join(","));
            let needs = utf8_percent_encode(&needs, QUOTED);
            out.flush()?;
            return Ok(format!("{};{needs}", format.told));
        }
        let outgoing = OutgoingChangesets {
            revs: visible(self.view).collect(),
            heads: self.view.heads(),
            common: Vec::new(),
        };
        let plan = BundlePlan::new(self.view, &outgoing, format.spec.contents())?;
        plan.write(format.spec.setting(), &mut out, options.stop)?;
        out.flush()?;
        Ok(format.told.clone())
    }
}

fn visible(view: &RepoView) -> impl Iterator<Item = varve_revlog::Rev> {
    view.changelog().revs().filter(|rev| view.is_visible(*rev))
}

fn heads_of(view: &RepoView) -> Vec<Node> {
    let heads = view.heads().into_iter();
    let mut heads: Vec<Node> = heads.map(|head| view.changelog().node(head)).collect();
    heads.sort_unstable();
    heads
}

/// `varve-COUNT-HASH`.
fn id_of(view: &RepoView) -> String {
    let mut hash = Sha1::new();
    for node in heads_of(view) {
        hash.update(node.0);
    }
    let hash = Node(hash.finalize().into()).to_string();
    let hash = hash.get(..12).unwrap_or_default();
    format!("{OWN}{}-{hash}", visible(view).count())
}

/// Writes the heads and the list, or removes a list that would have nothing to name.
fn list(
    subject: &Subject<'_>,
    repository: &Repository,
    bundles: &[CloneBundle],
) -> Result<(), ExchangeError> {
    let storage = subject.storage.as_ref();
    let path = repository.root().join(PATH);
    if bundles.is_empty() {
        if storage.kind(&path)?.is_some() {
            storage.remove(&path)?;
        }
        return Ok(());
    }
    let heads: String = heads_of(subject.view)
        .iter()
        .map(|node| format!("{node}\n"))
        .collect();
    let heads_path = subject
        .directory
        .join(format!("{}{HEADS_ENDING}", subject.id));
    replace(storage, &heads_path, heads.as_bytes())?;
    let lines = bundles
        .iter()
        .map(|made| format!("{INLINE}{} BUNDLESPEC={}\n", made.name, made.spec));
    Ok(replace(
        storage,
        &path,
        lines.collect::<String>().as_bytes(),
    )?)
}

/// Removes own files that are not listed any more, and leftovers of an interruption.
fn sweep(subject: &Subject<'_>, bundles: &[CloneBundle]) -> Result<(), ExchangeError> {
    let heads = format!("{}{HEADS_ENDING}", subject.id);
    for entry in subject.storage.list(subject.directory)? {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        let is_listed =
            bundles.iter().any(|made| made.name == name) || (name == heads && !bundles.is_empty());
        if name.starts_with(OWN) && !is_listed {
            subject.storage.remove(&subject.directory.join(name))?;
        }
    }
    Ok(subject.storage.sync_directory(subject.directory)?)
}

/// Tells how many bytes went through.
struct Counted<'a>(FileWriter<'a>, &'a dyn Progress);

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.0.write(bytes)?;
        self.1.advance(len as u64);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
