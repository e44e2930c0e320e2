//! What all requests share.

use crate::auth::{Auth, UserContext};
use crate::couch::{Compactor, Databases};
use crate::folder::{DATABASES, Folder};
use crate::hg::{Keeper, OpenRepository, SharedAnswers};
use crate::node::{NodeConfig, Uuids};
use crate::tasks::Tasks;
use crate::{Failure, Registry, ServerError, databases};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use varve_base::{Interrupt, Storage};
use varve_btree::NodeCache;
use varve_config::Settings;
use varve_docdb::{DatabaseOptions, Limits};

/// Largest body that a request without a login may send: arguments of reads, no data.
const ANONYMOUS_BODY: u64 = 8 << 20;

/// Repositories that stay open although nobody asks for them at the moment.
const IDLE_REPOSITORIES: usize = 64;

/// Memory for decoded nodes of all databases and indexes.
const NODE_CACHE: usize = 256 << 20;

/// One running server.
#[derive(Debug)]
pub struct App {
    /// The served folder, locked for this process.
    pub folder: Folder,
    /// Users and sessions.
    pub auth: Auth,
    /// What runs for longer.
    pub tasks: Tasks,
    pub(crate) repositories: Registry<OpenRepository>,
    /// Answers that several clients get at the moment.
    pub(crate) shared: SharedAnswers,
    /// Makes clone bundles.
    pub(crate) keeper: Keeper,
    pub(crate) databases: Databases,
    pub(crate) compactor: Compactor,
    pub(crate) uuids: Uuids,
    pub(crate) config: NodeConfig,
    report: fn(&str),
    stopping: watch::Sender<bool>,
    /// Raised when what still runs has no more time.
    pub(crate) hurry: Interrupt,
    requests: AtomicU64,
}

impl App {
    /// Serves a folder; nothing below it is read before somebody asks for it.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub(crate) fn new(folder: Folder, report: fn(&str)) -> Result<App, ServerError> {
        let options = DatabaseOptions {
            setting: folder.compression,
            cache: NodeCache::new(NODE_CACHE),
            limits: Limits {
                document: folder.settings.max_document_size,
                attachment: folder.settings.max_attachment_size,
            },
        };
        let storage = Arc::clone(&folder.storage);
        Ok(App {
            databases: Databases::new(storage, options, report),
            auth: Auth::new(&folder.settings)?,
            tasks: Tasks::default(),
            repositories: Registry::new(IDLE_REPOSITORIES),
            keeper: Keeper::default(),
            compactor: Compactor::default(),
            shared: SharedAnswers::new(&folder.path),
            uuids: Uuids::new()?,
            config: NodeConfig::of(&folder.ini),
            folder,
            report,
            stopping: watch::Sender::new(false),
            hurry: Interrupt::default(),
            requests: AtomicU64::new(0),
        })
    }

    /// The served folder's files; paths are relative to it.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.folder.storage
    }

    /// What `varve.ini` says.
    pub fn settings(&self) -> &Settings {
        &self.folder.settings
    }

    /// Runs storage work on a blocking thread.
    ///
    /// # Errors
    /// That of `work`; 500 if it panicked.
    pub async fn blocking<T, W>(work: W) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Failure> + Send + 'static,
    {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Failure::internal("the handler of this request failed")))
    }

    /// A new document id.
    pub fn new_uuid(&self) -> String {
        self.uuids.next()
    }

    /// Names of all databases, in order.
    ///
    /// # Errors
    /// 500 if the folder cannot be listed.
    pub fn database_names(&self) -> Result<Vec<String>, Failure> {
        let entries = self.storage().list(Path::new(DATABASES));
        let entries = entries.map_err(Failure::internal)?.into_iter();
        let names = entries.filter_map(|entry| databases::name_of(entry.name.to_str()?));
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Becomes `true` when the server stops: feeds then end.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Tells the operator what went wrong.
    pub(crate) fn report(&self, line: &str) {
        (self.report)(line);
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
        self.keeper.stop();
        self.compactor.stop();
        self.databases.noticed().end();
    }

    /// Bytes that a request of this user may have as its body.
    pub(crate) fn body_limit(&self, user: &UserContext) -> u64 {
        let limit = self.settings().max_request_size;
        match user.name {
            Some(_) => limit,
            None => limit.min(ANONYMOUS_BODY),
        }
    }

    /// Ten hexadecimal digits that tell this request from others in the log.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("{:010x}", number & 0xff_ffff_ffff)
    }
}
