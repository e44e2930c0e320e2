//! Hooks of a served repository: lines for the shell. Their output about a push goes to the client, that about reading
//! to the log.

use crate::hg::find::ServedRepository;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::{OpenError, RepoRegistry, absolute};
use parking_lot::{Mutex, MutexGuard};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use varve_base::Storage;
use varve_config::hgrc::Files;
use varve_exchange::apply::PushOutput;
use varve_exchange::server::wire::{ReadHooks, ReaderLocation};
use varve_repo::acl::{AccessControl, user_name};
use varve_repo::hooks::{
    ConfiguredHooks, HookArgs, HookCommand, HookRefusal, Hooks, PushVars, RefusalCause,
    RollbackStage,
};
use varve_repo::{OpenOptions, Repository, ShareAccess};

/// Bytes of one hook's output that go to the client.
const HEARD: u64 = 1 << 20;

/// The hooks of one request.
#[derive(Debug)]
pub(super) struct RequestHooks {
    set: ConfiguredHooks,
    config: RepositoryConfig,
    /// The repository, where hooks run.
    directory: PathBuf,
    /// The storage of the server and the repository's place in it, for access control.
    storage: Arc<dyn Storage>,
    stored_in: PathBuf,
    shares: ShareAccess,
    output: Arc<PushOutput>,
    /// Hooks to be run when all locks are released.
    later: Mutex<Vec<(&'static str, HookArgs)>>,
    /// Variables that the pushing client passes to them.
    given: Mutex<PushVars>,
}

impl RequestHooks {
    pub(super) fn of_repository(
        repos: &Arc<RepoRegistry>,
        found: &ServedRepository,
        config: &RepositoryConfig,
        output: &Arc<PushOutput>,
    ) -> Result<RequestHooks, OpenError> {
        let set = config.hooks()?;
        if !set.is_empty() {
            repos.prepare_for_programs()?;
        }
        Ok(RequestHooks {
            set,
            config: config.clone(),
            directory: absolute(repos, found),
            storage: Arc::clone(repos.storage()),
            stored_in: PathBuf::from(&found.directory),
            shares: repos.share_access(),
            output: Arc::clone(output),
            later: Mutex::default(),
            given: Mutex::default(),
        })
    }

    /// The hooks of a request that reads.
    ///
    /// # Errors
    /// A section `[hooks]` that cannot be read; a copy that cannot be fetched.
    pub(super) fn for_reading(
        repos: &Arc<RepoRegistry>,
        found: &ServedRepository,
        config: &RepositoryConfig,
    ) -> Result<ReadHooks, OpenError> {
        if config.hooks()?.is_empty() {
            return Ok(ReadHooks::default());
        }
        let (server, name) = (Arc::clone(repos.server()), found.name.clone());
        let output = PushOutput::to_listener(move |text| {
            let text = String::from_utf8_lossy(text);
            let text = text.trim_end();
            if !text.is_empty() {
                let log = &server.log;
                log.scope(|| tracing::info!(repository = name, "hook of {name}: {text}"));
            }
        });
        let hooks = RequestHooks::of_repository(repos, found, config, &Arc::new(output))?;
        Ok(ReadHooks::new(Arc::new(hooks), ReaderLocation::Elsewhere))
    }

    /// Calls all that was to wait.
    pub(super) fn after_locks(&self) {
        loop {
            let waiting = std::mem::take(&mut *self.queue());
            if waiting.is_empty() {
                return;
            }
            for (kind, args) in waiting {
                self.notify(kind, &args);
            }
        }
    }

    fn given_now(&self) -> PushVars {
        self.given.lock().clone()
    }

    fn queue(&self) -> MutexGuard<'_, Vec<(&'static str, HookArgs)>> {
        self.later.lock()
    }

    fn run(
        &self,
        kind: &str,
        script: &HookCommand,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), HookRefusal> {
        if !self.config.trusts(script) {
            return Err(HookRefusal::untrusted(script));
        }
        script.check()?;
        if script.controls_access() {
            return self.control_access(kind, script, args);
        }
        let mut process = script.process((args, &self.given_now()), &self.directory, pending);
        process.stdin(Stdio::null());
        let heard = || -> io::Result<_> {
            let (mut reader, writer) = io::pipe()?;
            process.stdout(writer.try_clone()?).stderr(writer);
            let mut child = process.spawn()?;
            // It holds the ends that are written to.
            drop(process);
            let mut said = Vec::new();
            reader.by_ref().take(HEARD).read_to_end(&mut said)?;
            io::copy(&mut reader, &mut io::sink())?;
            self.output.write(kind, &said);
            child.wait()
        };
        script.judge(heard())
    }

    /// Checks what the hook is called about; a refusal is reported to the client.
    fn control_access(
        &self,
        kind: &str,
        hook: &HookCommand,
        args: &HookArgs,
    ) -> Result<(), HookRefusal> {
        let control = AccessControl {
            config: &self.config.values,
            files: &NoIncludes,
            directory: Path::new(""),
            process_user: &process_user,
            report: &|_| {},
        };
        let checked = control.check(kind, args, &|| {
            let opening = OpenOptions {
                pending: true,
                shares: self.shares,
                ..OpenOptions::default()
            };
            Repository::open_with(Arc::clone(&self.storage), &self.stored_in, opening)
        });
        checked.map_err(|refusal| {
            self.output
                .write(kind, refusal.report(&hook.name).as_bytes());
            HookRefusal {
                words: refusal.to_string(),
                cause: RefusalCause::AccessControl,
            }
        })
    }
}

impl Hooks for RequestHooks {
    fn has_hook(&self, kind: &str) -> bool {
        self.set.of(kind).next().is_some()
    }

    fn run_now(
        &self,
        kind: &'static str,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), HookRefusal> {
        self.set.check_followers(kind)?;
        for script in self.set.of(kind) {
            self.run(kind, script, args, pending)?;
        }
        Ok(())
    }

    fn notify(&self, kind: &str, args: &HookArgs) {
        for script in self.set.of(kind) {
            if let Err(refusal) = self.run(kind, script, args, false) {
                self.output.write(kind, refusal.warning().as_bytes());
            }
        }
    }

    fn run_later(&self, kind: &'static str, args: HookArgs) {
        if self.has_hook(kind) {
            self.queue().push((kind, args));
        }
    }

    fn set_push_vars(&self, vars: PushVars) {
        *self.given.lock() = vars;
    }

    fn on_rollback(&self, stage: RollbackStage) {
        let words: &[u8] = match stage {
            // Said of the whole, whichever part it was that failed.
            RollbackStage::Started => b"transaction abort!\n",
            RollbackStage::Done => b"rollback completed\n",
            RollbackStage::Failed => b"rollback failed - please run hg recover\n",
        };
        self.output.write_about_push(words);
    }
}

/// Fails to include files in that of `acl.config`: its repository must not name files of the server, and rules that
/// were passed over would permit too much.
struct NoIncludes;

impl Files for NoIncludes {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn expand(&self, path: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(path))
    }
}

/// Login name of the user who runs the server, for keys that a client sets without saying who it is.
fn process_user() -> Vec<u8> {
    let variables = ["LOGNAME", "USER", "LNAME", "USERNAME"].iter();
    let mut named = variables.filter_map(std::env::var_os);
    let named = named.find(|name| !name.is_empty());
    let named = named.map(OsStringExt::into_vec);
    let id = rustix::process::getuid().as_raw();
    named.or_else(|| user_name(id)).unwrap_or_default()
}
