//! Failures of a command, in the form that scripts know from Mercurial.

use super::failure_kind::{ExitCodes, FailureKind};
use std::io;
use std::path::PathBuf;
use varve_base::StorageError;
use varve_config::hgrc::HgrcError;
use varve_exchange::{ExchangeError, PushRefusal};
use varve_repo::{LookupError, RepoError, RevlogError};
use varve_workdir::{TagRefusal, WorkdirError};

/// A command ends without having done its work.
#[derive(Debug, thiserror::Error)]
pub enum Abort {
    /// `abort: message`, and maybe a hint in parentheses on the next line.
    #[error("abort: {message}")]
    Failed {
        /// Message behind `abort:`.
        message: String,
        /// Advice to the user.
        hint: Option<String>,
        /// Decides the exit code.
        kind: FailureKind,
    },
    /// Typed text has bytes that are no characters of the terminal's encoding; the message holds some of them.
    #[error("abort: {}", String::from_utf8_lossy(message))]
    Undecodable {
        /// Message behind `abort:`, in the terminal's encoding.
        message: Vec<u8>,
    },
    /// The command waits for the user; the words say what for.
    #[error("{0}")]
    Intervention(&'static str),
    /// The same with advice, in parentheses on the next line.
    #[error("{message}")]
    Waits {
        /// The reason why the command waits.
        message: String,
        /// How the user goes on.
        hint: String,
    },
    /// A revset, template, pattern or date does not follow its grammar.
    #[error("hg: parse error{}: {message}", at.map(|at| format!(" at {at}")).unwrap_or_default())]
    Parse {
        /// Fault in the text.
        message: String,
        /// Where, in bytes from the beginning.
        at: Option<usize>,
        /// A hint, or the text with a mark below the place.
        hint: Option<String>,
    },
    /// A file of configuration cannot be used.
    #[error("{0}")]
    Config(HgrcError),
    /// A setting has a value that it cannot have.
    #[error("config error: {0}")]
    Setting(HgrcError),
    /// An alias or a merge tool is defined wrongly.
    #[error("config error: {0}")]
    Definition(String),
    /// A command needs a setting that there is not.
    #[error("config error: {message}")]
    Unconfigured {
        /// The missing setting.
        message: &'static str,
        /// Where to read about it.
        hint: &'static str,
    },
    /// A command was called with wrong arguments; its usage follows.
    #[error("hg {name}: {message}")]
    Usage {
        /// Name of the command whose usage follows.
        command: &'static str,
        /// Its name, or that of the alias which leads to it.
        name: String,
        /// Fault in the arguments.
        message: String,
    },
    /// The global options before the command are wrong.
    #[error("hg: {0}")]
    GlobalUsage(String),
    /// There is no such command.
    #[error("hg: unknown command '{name}'")]
    UnknownCommand {
        /// As typed.
        name: String,
        /// Commands with similar names.
        similar: Option<String>,
    },
    /// A command whose extension is not switched on; words about that follow.
    #[error("hg: unknown command '{name}'")]
    OfExtension {
        /// As typed.
        name: String,
        /// The extension.
        extension: &'static str,
        /// Lines about it.
        description: &'static [&'static str],
    },
    /// A command of Mercurial that is not here.
    #[error("hg: hg has {name}, Varve does not (yet)")]
    AbsentCommand {
        /// Its whole name.
        name: String,
    },
    /// Several commands begin like this.
    #[error("hg: command '{name}' is ambiguous:\n    {}", candidates.join(" "))]
    AmbiguousCommand {
        /// As typed.
        name: String,
        /// All that it may mean, sorted.
        candidates: Vec<String>,
    },
    /// A signal ended the command, at a sound point.
    #[error("{0}")]
    Stopped(&'static str),
    /// The results could not be written.
    #[error("abort: {0}")]
    Output(#[from] io::Error),
}

impl Abort {
    /// `abort: message`, of no particular class.
    pub fn new(message: impl Into<String>) -> Abort {
        Abort::of_kind(FailureKind::Other, message)
    }

    /// [`Abort::new`] about arguments.
    pub fn input(message: impl Into<String>) -> Abort {
        Abort::of_kind(FailureKind::Input, message)
    }

    /// [`Abort::new`] about the state of the repository or the working copy.
    pub fn state(message: impl Into<String>) -> Abort {
        Abort::of_kind(FailureKind::State, message)
    }

    /// `abort: message`, of one class.
    pub fn of_kind(kind: FailureKind, message: impl Into<String>) -> Abort {
        Abort::Failed {
            message: message.into(),
            hint: None,
            kind,
        }
    }

    /// The same with a second line in parentheses.
    #[must_use]
    pub fn hint(self, words: impl Into<String>) -> Abort {
        match self {
            Abort::Failed { message, kind, .. } => Abort::Failed {
                message,
                hint: Some(words.into()),
                kind,
            },
            Abort::Parse { message, at, .. } => Abort::Parse {
                message,
                at,
                hint: Some(words.into()),
            },
            other => other,
        }
    }

    /// There is no repository where one is needed.
    pub fn no_repository(directory: &std::path::Path) -> Abort {
        let directory = directory.display();
        Abort::input(format!(
            "no repository found in '{directory}' (.hg not found)"
        ))
    }

    /// The line behind the message, in parentheses.
    pub fn hint_text(&self) -> Option<String> {
        match self {
            Abort::Failed { hint, .. } | Abort::Parse { hint, .. } => hint.clone(),
            Abort::Unconfigured { hint, .. } => Some((*hint).to_owned()),
            Abort::Waits { hint, .. } => Some(hint.clone()),
            Abort::GlobalUsage(_) => {
                Some("use 'hg help -v' for a list of global options".to_owned())
            }
            Abort::UnknownCommand { similar, .. } => Some(
                (similar.clone())
                    .unwrap_or_else(|| "use 'hg help' for a list of commands".to_owned()),
            ),
            Abort::AbsentCommand { .. } => Some("hg can be used in the same repository".to_owned()),
            _ => None,
        }
    }

    /// Class of the failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Abort::Failed { kind, .. } => *kind,
            Abort::Parse { .. }
            | Abort::Usage { .. }
            | Abort::GlobalUsage(_)
            | Abort::UnknownCommand { .. }
            | Abort::OfExtension { .. }
            | Abort::AbsentCommand { .. }
            | Abort::AmbiguousCommand { .. } => FailureKind::Input,
            Abort::Config(_)
            | Abort::Setting(_)
            | Abort::Definition(_)
            | Abort::Unconfigured { .. } => FailureKind::Configuration,
            Abort::Stopped(_) => FailureKind::Interrupted,
            Abort::Intervention(_) | Abort::Waits { .. } => FailureKind::InterventionRequired,
            Abort::Output(_) | Abort::Undecodable { .. } => FailureKind::Other,
        }
    }

    /// Code that the program ends with.
    pub fn code(&self, codes: ExitCodes) -> u8 {
        self.kind().exit_code(codes)
    }

    /// A reader that has seen enough, such as `head`, gets no further output.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Abort::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<HgrcError> for Abort {
    fn from(error: HgrcError) -> Abort {
        match error {
            HgrcError::Syntax { .. } => Abort::Config(error),
            HgrcError::Argument(_) => Abort::input(error.to_string()),
            HgrcError::Value { .. } => Abort::Setting(error),
            other => Abort::new(other.to_string()),
        }
    }
}

impl From<RepoError> for Abort {
    fn from(error: RepoError) -> Abort {
        match error {
            RepoError::Storage(error) => error.into(),
            RepoError::Revlog(error) => error.into(),
            RepoError::NotFound { path } => {
                Abort::new(format!("repository {} not found", path.display()))
            }
            RepoError::UnknownRequirements { features, .. } => {
                let features = features.replace(',', "");
                let message =
                    format!("repository requires features unknown to this Mercurial: {features}");
                Abort::new(message).hint(
                    "see https://mercurial-scm.org/wiki/MissingRequirement for more information",
                )
            }
            other => {
                let abort = Abort::of_kind((&other).into(), other.to_string());
                match other.hint() {
                    Some(hint) => abort.hint(hint),
                    None => abort,
                }
            }
        }
    }
}

impl From<LookupError> for Abort {
    fn from(error: LookupError) -> Abort {
        match error {
            LookupError::Repo(error) => error.into(),
            other => Abort::input(other.to_string()),
        }
    }
}

impl From<RevlogError> for Abort {
    fn from(error: RevlogError) -> Abort {
        match error {
            RevlogError::Storage(error) => error.into(),
            RevlogError::DamagedIndex { path, .. } => {
                let name = path.file_stem().unwrap_or_default().display();
                Abort::of_kind(FailureKind::Storage, format!("index {name} is corrupted"))
            }
            other => Abort::of_kind(FailureKind::Storage, other.to_string()),
        }
    }
}

impl From<WorkdirError> for Abort {
    fn from(error: WorkdirError) -> Abort {
        let kind = FailureKind::from(&error);
        match error {
            WorkdirError::Repo(error) => error.into(),
            WorkdirError::Revlog(error) => error.into(),
            WorkdirError::Storage(error) => error.into(),
            WorkdirError::Io { path, source, .. } => Abort::file(&source, path),
            WorkdirError::NotLinear | WorkdirError::Conflicting => {
                Abort::of_kind(kind, error.to_string())
                    .hint("commit or update --clean to discard changes")
            }
            WorkdirError::ChangedFiles => {
                Abort::of_kind(kind, error.to_string()).hint("use 'hg status' to list changes")
            }
            WorkdirError::MergesDescendant => {
                Abort::of_kind(kind, error.to_string()).hint("use 'hg update' or check 'hg heads'")
            }
            WorkdirError::UnresolvedFiles => {
                Abort::of_kind(kind, error.to_string()).hint("use 'hg resolve' to resolve")
            }
            WorkdirError::Tags(TagRefusal::ChangedFile) => {
                Abort::of_kind(kind, error.to_string()).hint("please commit .hgtags manually")
            }
            WorkdirError::Patch(error) if error.is_malformed() => {
                Abort::of_kind(kind, error.to_string())
                    .hint("check that whitespace in the patch has not been mangled")
            }
            WorkdirError::Setting(error) => Abort::Setting(error),
            WorkdirError::WrongPremerge { .. } => Abort::Definition(error.to_string()),
            WorkdirError::UnsupportedTool(_) => Abort::of_kind(kind, error.to_string())
                .hint("see 'hg help update' for what merges files"),
            other => Abort::of_kind(kind, other.to_string()),
        }
    }
}

impl From<ExchangeError> for Abort {
    fn from(error: ExchangeError) -> Abort {
        let kind = FailureKind::from(&error);
        match error {
            ExchangeError::Repo(error) => error.into(),
            ExchangeError::Revlog(error) => error.into(),
            ExchangeError::Storage(error) => error.into(),
            ExchangeError::PackedBundle => Abort::of_kind(kind, error.to_string())
                .hint("use \"hg debugapplystreamclonebundle\""),
            ExchangeError::ForeignManifest => {
                Abort::of_kind(kind, error.to_string()).hint("use --force to replace it")
            }
            ExchangeError::PushRefused(refusal) => refusal.into(),
            ExchangeError::UnexpectedFingerprint { is_legacy, .. } => {
                let section = match is_legacy {
                    true => "hostfingerprint",
                    false => "hostsecurity",
                };
                Abort::of_kind(kind, error.to_string())
                    .hint(format!("check {section} configuration"))
            }
            ExchangeError::RemoteAbort {
                message,
                hint: Some(hint),
            } => Abort::of_kind(kind, message).hint(hint),
            other => Abort::of_kind(kind, other.to_string()),
        }
    }
}

impl From<PushRefusal> for Abort {
    fn from(refusal: PushRefusal) -> Abort {
        let kind = FailureKind::from(&refusal);
        let hint = match &refusal {
            PushRefusal::NewBranches { .. } => {
                "use 'hg push --new-branch' to create new remote branches".to_owned()
            }
            PushRefusal::NewHeads(new) => {
                let first = if new.has_unknown { "pull and " } else { "" };
                format!("{first}merge or see 'hg help push' for details about pushing new heads")
            }
            PushRefusal::Unstable { .. } | PushRefusal::SecretBookmark(_) => {
                return Abort::of_kind(kind, refusal.to_string());
            }
        };
        Abort::of_kind(kind, refusal.to_string()).hint(hint)
    }
}

/// Mercurial's page about features of bundles.
const FEATURES: &str = "see https://mercurial-scm.org/wiki/BundleFeature for more information";

impl Abort {
    /// A bundle cannot be used; an error of the whole bundle is printed with its name.
    pub fn of_bundle(error: ExchangeError, name: &[u8]) -> Abort {
        let kind = FailureKind::from(&error);
        let named = format!("{}: {error}", String::from_utf8_lossy(name));
        match error {
            ExchangeError::NotABundle | ExchangeError::UnknownBundleVersion(_) => {
                Abort::of_kind(kind, named)
            }
            ExchangeError::UnknownBundleFeature(_) => Abort::of_kind(kind, named).hint(FEATURES),
            ExchangeError::RemoteAbort { message, hint } => Abort::Failed {
                message,
                hint,
                kind: FailureKind::Other,
            },
            other => other.into(),
        }
    }
}

impl From<StorageError> for Abort {
    fn from(error: StorageError) -> Abort {
        match error {
            StorageError::Io { path, source, .. } => Abort::file(&source, path),
            other @ (StorageError::Short { .. } | StorageError::WouldBlock) => {
                Abort::new(other.to_string())
            }
        }
    }
}

impl Abort {
    /// The system refused something about a file: `abort: Permission denied: '/x'`.
    pub fn file(error: &io::Error, path: impl Into<PathBuf>) -> Abort {
        let words = system_words(error);
        Abort::new(format!("{words}: '{}'", path.into().display()))
    }
}

/// The system's words without Rust's ` (os error 2)`.
pub fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
