//! Everything a command may touch: output, configuration, folder, repository.

use super::hooks::SessionHooks;
use super::layers::{Layers, Stranger};
use super::signals::Guard;
use super::{Abort, encoding, environment};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupt, Progress, Storage};
use varve_config::hgrc::Hgrc;
use varve_repo::hooks::Hooks;
use varve_repo::{Audience, Opening, RepoView, Repository};

/// Bytes of output that are collected before the system is called.
const OUTPUT_BUFFER: usize = 64 << 10;

/// How much a command prints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verbosity {
    /// `-q`, unless `-v` or `--debug` is given too.
    pub(crate) quiet: bool,
    /// `-v` or `--debug`.
    pub(crate) verbose: bool,
    /// `--debug`.
    pub(crate) debug: bool,
}

/// One call of one command.
pub(crate) struct Session {
    /// Results; everything else goes to standard error through [`Session::warn`].
    pub(crate) out: BufWriter<Box<dyn Write>>,
    /// How much is printed.
    pub(crate) verbosity: Verbosity,
    /// The folder that paths are relative to.
    pub(crate) cwd: PathBuf,
    /// All layers of configuration.
    pub(crate) config: Arc<Hgrc>,
    /// The same one by one, without that of a repository.
    pub(crate) layers: Layers,
    /// Those who have configured the repository and are not trusted.
    pub(crate) strangers: Vec<Stranger>,
    /// Files of the system's and the user's configuration that there are.
    pub(crate) files_read: Vec<PathBuf>,
    /// Name of this program as called, `hg` or `varve`.
    pub(crate) program: String,
    /// Whether `--hidden` asks for hidden changesets too.
    pub(crate) hidden: bool,
    /// Whether it was looked whether changesets are obsolete although that is not allowed.
    pub(super) told_of_markers: bool,
    /// Whether `--time` asks how long the command took.
    pub(crate) show_time: bool,
    /// Where long steps tell how far they are.
    pub(crate) progress: Box<dyn Progress>,
    /// Raised when the user wants the command to stop.
    pub(crate) stop: Interrupt,
    /// Who is asked and told about what is done.
    pub(crate) hooks: Arc<SessionHooks>,
    /// What is done about typed bytes that are no text.
    pub(crate) encoding: encoding::Mode,
    /// Whether hooks may print at any time, so that output must not wait.
    pub(crate) hurried: bool,
    /// Says how a signal may end the command.
    pub(crate) guard: Guard,
    place: Place,
    repository: Option<Repository>,
    view: Option<Arc<RepoView>>,
}

/// Where the repository is, as far as the arguments and the folder tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At this folder, which has a `.hg`.
    Found(PathBuf),
    /// `-R` names what is no repository.
    NotThere(String),
    /// Neither this folder nor one above it has a `.hg`.
    Nowhere,
}

impl Place {
    /// The folder `named` by `-R`, or the nearest one with a `.hg` from `cwd` upwards.
    pub(crate) fn find(
        named: Option<&[u8]>,
        cwd: &Path,
        files: &environment::Environment,
    ) -> Place {
        use varve_config::hgrc::Files;
        let named = named.filter(|path| !path.is_empty());
        if let Some(named) = named {
            let path = cwd.join(files.expand(named));
            return match path.canonicalize() {
                Ok(root) if root.join(".hg").is_dir() => Place::Found(root),
                _ => Place::NotThere(String::from_utf8_lossy(named).into_owned()),
            };
        }
        let mut folders = cwd.ancestors();
        match folders.find(|folder| folder.join(".hg").is_dir()) {
            Some(folder) => Place::Found(folder.to_owned()),
            None => Place::Nowhere,
        }
    }

    /// The folder, if there is a repository.
    pub(crate) fn root(&self) -> Option<&Path> {
        match self {
            Place::Found(root) => Some(root),
            Place::NotThere(_) | Place::Nowhere => None,
        }
    }
}

impl Session {
    /// A session that writes to the standard output.
    pub(crate) fn new(program: &str, cwd: PathBuf, layers: Layers, place: Place) -> Session {
        Session {
            out: BufWriter::with_capacity(OUTPUT_BUFFER, Box::new(io::stdout())),
            verbosity: Verbosity::default(),
            cwd,
            config: Arc::default(),
            layers,
            strangers: Vec::new(),
            files_read: Vec::new(),
            program: program.to_owned(),
            hidden: false,
            told_of_markers: false,
            show_time: false,
            progress: Box::new(crate::terminal::TerminalProgress::default()),
            stop: Interrupt::default(),
            hooks: Arc::default(),
            encoding: encoding::Mode::default(),
            hurried: false,
            guard: Guard::default(),
            place,
            repository: None,
            view: None,
        }
    }

    /// The repository's folder, without opening it.
    pub(crate) fn root(&self) -> Result<&Path, Abort> {
        match &self.place {
            Place::Found(root) => Ok(root),
            Place::NotThere(name) => Err(Abort::new(format!("repository {name} not found"))),
            Place::Nowhere => Err(Abort::no_repository(&self.cwd)),
        }
    }

    /// Works on the repository in the folder `path` from now on.
    pub(crate) fn go_to(&mut self, path: &[u8]) {
        self.place = Place::find(Some(path), &self.cwd, &environment::Environment);
        self.repository = None;
        self.view = None;
    }

    /// Where the repository is, if there is one.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The repository, opened at the first call.
    pub(crate) fn repository(&mut self) -> Result<Repository, Abort> {
        if let Some(repository) = &self.repository {
            return Ok(repository.clone());
        }
        let hooks: Arc<dyn Hooks> = self.hooks.clone();
        let opening = Opening {
            pending: environment::shows_pending(self.root()?),
            hooks: Some(hooks),
        };
        let repository = Repository::open_as(disk(), self.root()?, opening)?;
        // A bad setting stops every command that opens the repository, not only those that write.
        self.storage_settings()?;
        self.repository = Some(repository.clone());
        Ok(repository)
    }

    /// The repository as it was at the first call, with what its owner sees.
    pub(crate) fn view(&mut self) -> Result<Arc<RepoView>, Abort> {
        if let Some(view) = &self.view {
            return Ok(view.clone());
        }
        let audience = if self.hidden {
            Audience::Everything
        } else {
            Audience::Owner
        };
        let view = self.repository()?.view_for(audience)?;
        self.view = Some(view.clone());
        Ok(view)
    }

    /// Lets the next [`Session::view`] look at the repository again, as after a commit.
    pub(crate) fn forget_view(&mut self) {
        self.view = None;
    }

    /// Prints a result.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.out.write_all(bytes.as_ref())?;
        if self.hurried {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Prints unless `--quiet`.
    pub(crate) fn status(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        if self.verbosity.quiet {
            Ok(())
        } else {
            self.write(bytes)
        }
    }

    /// Prints with `--verbose`.
    pub(crate) fn note(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        if self.verbosity.verbose {
            self.write(bytes)
        } else {
            Ok(())
        }
    }

    /// Prints to standard error, behind all output so far.
    pub(crate) fn warn(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.out.flush()?;
        // Nothing is left to do if even standard error is gone.
        let _ = io::stderr().write_all(bytes.as_ref());
        Ok(())
    }

    /// The program that edits messages.
    pub(crate) fn editor(&self) -> Vec<u8> {
        let configured = || self.config.get("ui", "editor").map(<[u8]>::to_vec);
        let editor = environment::variable("HGEDITOR").or_else(configured);
        editor.unwrap_or_else(|| b"vi".to_vec())
    }
}

/// The local disk; paths are used as they are.
pub(crate) fn disk() -> Arc<dyn Storage> {
    Arc::new(DiskStorage::new(Path::new("")))
}
