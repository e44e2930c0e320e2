//! Everything a command may touch: output, configuration, folder, repository.

use crate::arguments::CommandTable;
use crate::context::bundles::StandIn;
use crate::context::layers::{Layers, Stranger};
use crate::context::place::Place;
use crate::hooks::SessionHooks;
use crate::ui::signals::Guard;
use crate::ui::{Abort, encoding, environment};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use varve_base::{DiskStorage, Interrupt, Progress, Storage};
use varve_config::hgrc::Hgrc;
use varve_exchange::client::peer::{Remote, Traffic};
use varve_repo::hooks::Hooks;
use varve_repo::{OpenOptions, RepoView, Repository, ViewFilter};

/// Bytes of output that are collected before the system is called.
const OUTPUT_BUFFER: usize = 64 << 10;

/// How much a command prints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verbosity {
    /// `-q`, unless `-v` or `--debug` is given too.
    pub quiet: bool,
    /// `-v` or `--debug`.
    pub verbose: bool,
    /// `--debug`.
    pub debug: bool,
}

/// One call of one command.
pub struct Session {
    /// Results; everything else goes to standard error through [`Session::warn`].
    pub out: BufWriter<Box<dyn Write>>,
    /// How much is printed.
    pub verbosity: Verbosity,
    /// The folder that paths are relative to.
    pub cwd: PathBuf,
    /// The folder that the process was started in, if `--cwd` has left it.
    pub started_in: Option<PathBuf>,
    /// All layers of configuration.
    pub config: Arc<Hgrc>,
    /// The same one by one, without that of a repository.
    pub layers: Layers,
    /// Those who have configured the repository and are not trusted.
    pub strangers: Vec<Stranger>,
    /// Files of the system's and the user's configuration that there are.
    pub files_read: Vec<PathBuf>,
    /// Name of this program as called, `hg` or `varve`.
    pub program: String,
    /// What a call may name.
    pub commands: Arc<CommandTable>,
    /// Whether `--hidden` asks for hidden changesets too.
    pub hidden: bool,
    /// Whether it was looked whether changesets are obsolete although that is not allowed.
    pub told_of_markers: bool,
    /// Whether `--insecure` has any certificate believed.
    pub insecure: bool,
    /// Whether `--time` asks how long the command took.
    pub show_time: bool,
    /// Where long steps tell how far they are.
    pub progress: Box<dyn Progress>,
    /// Raised when the user wants the command to stop.
    pub stop: Interrupt,
    /// Who is asked and told about what is done.
    pub hooks: Arc<SessionHooks>,
    /// What is done about typed bytes that are no text.
    pub encoding: encoding::Mode,
    /// Whether hooks may print at any time, so that output must not wait.
    pub hurried: bool,
    /// Says how a signal may end the command.
    pub guard: Guard,
    /// When the files of a store began to come.
    pub load_began: Option<Instant>,
    /// Whether it looks at a repository whose working folder does not count.
    pub is_elsewhere: bool,
    /// What was heard from repositories elsewhere and is not printed yet.
    heard: Arc<Mutex<Vec<u8>>>,
    /// What went over the connections of which nothing has been said yet.
    pub traffic: Vec<Traffic>,
    place: Place,
    /// What stands for the folder of a repository that is only a bundle.
    pub stand_in: Option<StandIn>,
    repository: Option<Repository>,
    view: Option<Arc<RepoView>>,
}

impl Session {
    /// A session that writes to the standard output.
    pub fn new(program: &str, cwd: PathBuf, layers: Layers, place: Place) -> Session {
        Session {
            out: BufWriter::with_capacity(OUTPUT_BUFFER, Box::new(io::stdout())),
            verbosity: Verbosity::default(),
            cwd,
            started_in: None,
            config: Arc::default(),
            layers,
            strangers: Vec::new(),
            files_read: Vec::new(),
            program: program.to_owned(),
            commands: Arc::default(),
            hidden: false,
            told_of_markers: false,
            insecure: false,
            show_time: false,
            progress: Box::new(crate::ui::progress::TerminalProgress::default()),
            stop: Interrupt::default(),
            hooks: Arc::default(),
            encoding: encoding::Mode::default(),
            hurried: false,
            guard: Guard::default(),
            load_began: None,
            is_elsewhere: false,
            heard: Arc::default(),
            traffic: Vec::new(),
            place,
            stand_in: None,
            repository: None,
            view: None,
        }
    }

    /// The repository's folder, without opening it.
    pub fn root(&self) -> Result<&Path, Abort> {
        match &self.place {
            Place::Found(root) => Ok(root),
            Place::Bundle(bundle) => Ok(bundle.root()),
            Place::NotThere(name) => Err(Abort::new(format!("repository {name} not found"))),
            Place::Nowhere => Err(Abort::no_repository(&self.cwd)),
        }
    }

    /// Works on the repository in the folder `path` from now on.
    pub fn go_to(&mut self, path: &[u8]) {
        self.place = Place::find(Some(path), &self.cwd, None);
        self.repository = None;
        self.view = None;
    }

    /// Whether a bundle is looked at, to which nothing can be written.
    pub fn is_bundle(&self) -> bool {
        matches!(self.place, Place::Bundle(_))
    }

    /// Where the repository is, if there is one.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The repository, opened at the first call.
    pub fn repository(&mut self) -> Result<Repository, Abort> {
        if let Some(repository) = &self.repository {
            return Ok(repository.clone());
        }
        if let Place::Bundle(place) = self.place.clone() {
            let repository = self.open_bundle_place(&place)?;
            self.repository = Some(repository.clone());
            return Ok(repository);
        }
        let hooks: Arc<dyn Hooks> = self.hooks.clone();
        let opening = OpenOptions {
            pending: environment::shows_pending(self.root()?),
            hooks: Some(hooks),
        };
        let repository = Repository::open_with(disk(), self.root()?, opening)?;
        // A bad setting stops every command that opens the repository, not only those that write.
        self.storage_settings()?;
        self.repository = Some(repository.clone());
        Ok(repository)
    }

    /// The repository as it was at the first call, with what its owner sees.
    pub fn view(&mut self) -> Result<Arc<RepoView>, Abort> {
        if let Some(view) = &self.view {
            return Ok(view.clone());
        }
        let audience = if self.hidden {
            ViewFilter::Unfiltered
        } else {
            ViewFilter::Visible
        };
        let view = self.repository()?.view_for(audience)?;
        self.view = Some(view.clone());
        Ok(view)
    }

    /// Lets the next [`Session::view`] look at the repository again, as after a commit.
    pub fn forget_view(&mut self) {
        self.view = None;
    }

    /// Looks at another repository, whose working folder does not count, until `look` is done.
    pub fn looking_at<T>(
        &mut self,
        other: Repository,
        look: impl FnOnce(&mut Session) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let (own, view) = (self.repository.replace(other), self.view.take());
        self.is_elsewhere = true;
        let looked = look(self);
        self.is_elsewhere = false;
        (self.repository, self.view) = (own, view);
        looked
    }

    /// Lets the repository be opened again at the next call, as after other requirements.
    pub fn reopen(&mut self) {
        self.repository = None;
        self.view = None;
    }

    /// Lets a repository elsewhere tell with `--debug` what it is asked: the words are kept, and
    /// stand before what is printed next.
    pub fn listen_to(&mut self, remote: &mut Remote) {
        if self.verbosity.debug {
            let heard = Arc::clone(&self.heard);
            remote.tell(Box::new(move |words| {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.extend_from_slice(words.as_bytes());
            }));
        }
    }

    /// Prints what was heard from elsewhere.
    pub fn tell_heard(&mut self) -> io::Result<()> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        self.out.write_all(&std::mem::take(&mut *heard))
    }

    /// Says with `--verbose` how much was asked over HTTP since the last time.
    pub fn tell_traffic(&mut self) -> Result<(), Abort> {
        let all = std::mem::take(&mut self.traffic);
        if all.is_empty() {
            return Ok(());
        }
        let sum = |count: fn(&Traffic) -> u64| all.iter().map(count).sum::<u64>();
        let (requests, sent) = (sum(Traffic::requests), sum(Traffic::sent));
        let received = sum(Traffic::received);
        self.note(format!(
            "(sent {requests} HTTP requests and {sent} bytes; received {received} bytes in responses)\n"
        ))
    }

    /// Prints a result.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.tell_heard()?;
        self.out.write_all(bytes.as_ref())?;
        if self.hurried {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Prints unless `--quiet`.
    pub fn status(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        if self.verbosity.quiet {
            Ok(())
        } else {
            self.write(bytes)
        }
    }

    /// Prints with `--verbose`.
    pub fn note(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        if self.verbosity.verbose {
            self.write(bytes)
        } else {
            Ok(())
        }
    }

    /// Prints with `--debug`.
    pub fn debug(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        match self.verbosity.debug {
            true => self.write(bytes),
            false => Ok(()),
        }
    }

    /// Prints to standard error, behind all output so far.
    pub fn warn(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.tell_heard()?;
        self.out.flush()?;
        // Nothing is left to do if even standard error is gone.
        let _ = io::stderr().write_all(bytes.as_ref());
        Ok(())
    }

    /// The program that edits messages.
    pub fn editor(&self) -> Vec<u8> {
        let configured = || self.config.get("ui", "editor").map(<[u8]>::to_vec);
        let editor = environment::variable("HGEDITOR").or_else(configured);
        editor.unwrap_or_else(|| b"vi".to_vec())
    }
}

/// The local disk; paths are used as they are.
pub fn disk() -> Arc<dyn Storage> {
    Arc::new(DiskStorage::new(Path::new("")))
}
