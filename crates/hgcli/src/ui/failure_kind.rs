//! Classes of failures, and the exit code of each.

use varve_config::hgrc::{Hgrc, HgrcError};
use varve_exchange::{ExchangeError, PushRefusal};
use varve_lang::patterns::PatternError;
use varve_repo::RepoError;
use varve_repo::hooks::RefusalCause;
use varve_workdir::{AmendRefusal, BookmarkRefusal, TagRefusal, WorkdirError};

/// Class of a failure, as Mercurial's exit codes distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Arguments, expressions or names that cannot be used.
    Input,
    /// The repository or the working copy is in a state that the command does not work in.
    State,
    /// A setting is missing or wrong.
    Configuration,
    /// A hook refused.
    Hook,
    /// The data of the repository cannot be used.
    Storage,
    /// Another repository did not answer, or refused.
    Remote,
    /// A certificate, login or address is not safe.
    Security,
    /// The user has to resolve something before the command can go on.
    InterventionRequired,
    /// The user answered a question so that nothing is done.
    Canceled,
    /// A signal ended the command.
    Interrupted,
    /// All others.
    Other,
}

/// Code of every failure for which the user has nothing to resolve.
pub const FAILED: u8 = 255;

/// Which codes the program ends with, by `ui.detailed-exit-code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCodes {
    /// One code for nearly all failures.
    Coarse,
    /// A code for each [`FailureKind`].
    Detailed,
}

impl ExitCodes {
    /// Reads the setting; like Mercurial, only where the user and the command line set it.
    pub fn read(config: &Hgrc) -> Result<ExitCodes, HgrcError> {
        match config.boolean("ui", "detailed-exit-code", false)? {
            true => Ok(ExitCodes::Detailed),
            false => Ok(ExitCodes::Coarse),
        }
    }
}

impl FailureKind {
    /// The cause in words, for `--traceback`.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Input => "wrong arguments",
            FailureKind::State => "not possible in the present state of the repository",
            FailureKind::Configuration => "missing or wrong setting",
            FailureKind::Hook => "refused by a hook",
            FailureKind::Storage => "unusable data in the repository",
            FailureKind::Remote => "failure of another repository",
            FailureKind::Security => "unsafe connection or address",
            FailureKind::InterventionRequired => "the user has to settle something",
            FailureKind::Canceled => "canceled by the user",
            FailureKind::Interrupted => "interrupted by a signal",
            FailureKind::Other => "other failure",
        }
    }

    /// Code that the program ends with.
    pub fn exit_code(self, codes: ExitCodes) -> u8 {
        match (codes, self) {
            (ExitCodes::Coarse, FailureKind::InterventionRequired) => 1,
            (ExitCodes::Coarse, _) | (ExitCodes::Detailed, FailureKind::Other) => FAILED,
            (ExitCodes::Detailed, FailureKind::Input) => 10,
            (ExitCodes::Detailed, FailureKind::State) => 20,
            (ExitCodes::Detailed, FailureKind::Configuration) => 30,
            (ExitCodes::Detailed, FailureKind::Hook) => 40,
            (ExitCodes::Detailed, FailureKind::Storage) => 50,
            (ExitCodes::Detailed, FailureKind::Remote) => 100,
            (ExitCodes::Detailed, FailureKind::Security) => 150,
            (ExitCodes::Detailed, FailureKind::InterventionRequired) => 240,
            (ExitCodes::Detailed, FailureKind::Canceled) => 250,
            (ExitCodes::Detailed, FailureKind::Interrupted) => 254,
        }
    }
}

impl From<&RepoError> for FailureKind {
    fn from(error: &RepoError) -> FailureKind {
        match error {
            RepoError::Hook(refusal) if refusal.cause == RefusalCause::AccessControl => {
                FailureKind::Other
            }
            RepoError::Hook(_) | RepoError::KeyRefused { .. } => FailureKind::Hook,
            RepoError::Revlog(_) | RepoError::MissingNode { .. } => FailureKind::Storage,
            RepoError::SettingNotInteger { .. } | RepoError::SettingNotBoolean { .. } => {
                FailureKind::Configuration
            }
            RepoError::LockHeld { .. } => FailureKind::State,
            RepoError::Interrupted(_) => FailureKind::Interrupted,
            _ => FailureKind::Other,
        }
    }
}

impl From<&PatternError> for FailureKind {
    fn from(error: &PatternError) -> FailureKind {
        match error {
            PatternError::Fileset(_)
            | PatternError::Revisions(_)
            | PatternError::IllegalComponent(_)
            | PatternError::NestedMetadata { .. } => FailureKind::Input,
            _ => FailureKind::Other,
        }
    }
}

impl From<&WorkdirError> for FailureKind {
    fn from(error: &WorkdirError) -> FailureKind {
        match error {
            WorkdirError::Repo(error) => error.into(),
            WorkdirError::Pattern(error) => error.into(),
            WorkdirError::UntrackedDiffer(_)
            | WorkdirError::UncommittedChanges
            | WorkdirError::UncommittedMerge
            | WorkdirError::UnresolvedFiles
            | WorkdirError::ChangedFiles
            | WorkdirError::PartialToolFailed { .. }
            | WorkdirError::Conflicting => FailureKind::State,
            WorkdirError::CannotAmend(AmendRefusal::Merge) => FailureKind::State,
            WorkdirError::CannotClose(_)
            | WorkdirError::CannotAmend(_)
            | WorkdirError::UnknownBranch(_)
            | WorkdirError::EmptyEditedLines
            | WorkdirError::MalformedEditedLine(_)
            | WorkdirError::Uncommittable { .. } => FailureKind::Input,
            WorkdirError::Bookmark(refusal) => refusal.into(),
            WorkdirError::Patch(error) if error.is_malformed() => FailureKind::Input,
            WorkdirError::Patch(_) => FailureKind::State,
            WorkdirError::Tags(refusal) => refusal.into(),
            WorkdirError::Interrupted(_) => FailureKind::Interrupted,
            _ => FailureKind::Other,
        }
    }
}

impl From<&TagRefusal> for FailureKind {
    fn from(refusal: &TagRefusal) -> FailureKind {
        match refusal {
            TagRefusal::Merge => FailureKind::State,
            TagRefusal::ChangedFile => FailureKind::Other,
            _ => FailureKind::Input,
        }
    }
}

impl From<&BookmarkRefusal> for FailureKind {
    fn from(refusal: &BookmarkRefusal) -> FailureKind {
        match refusal {
            BookmarkRefusal::Unknown(_) => FailureKind::Input,
            BookmarkRefusal::Exists(_) | BookmarkRefusal::BranchName => FailureKind::Other,
        }
    }
}

impl From<&PushRefusal> for FailureKind {
    fn from(refusal: &PushRefusal) -> FailureKind {
        match refusal {
            PushRefusal::NewBranches { .. } | PushRefusal::NewHeads(_) => FailureKind::State,
            PushRefusal::Unstable { .. } | PushRefusal::SecretBookmark(_) => FailureKind::Other,
        }
    }
}

impl From<&ExchangeError> for FailureKind {
    fn from(error: &ExchangeError) -> FailureKind {
        match error {
            ExchangeError::Repo(error) => error.into(),
            ExchangeError::Revlog(_) => FailureKind::Storage,
            ExchangeError::PushRefused(refusal) => refusal.into(),
            ExchangeError::LookupRefused { is_remote, .. } if !is_remote => FailureKind::Input,
            ExchangeError::PackedBundle => FailureKind::Input,
            ExchangeError::UnexpectedFingerprint { .. }
            | ExchangeError::CertificateOfAnotherHost { .. } => FailureKind::Security,
            ExchangeError::Unreachable { .. }
            | ExchangeError::HttpStatus { .. }
            | ExchangeError::RemoteAbort { .. }
            | ExchangeError::PushFailed { .. } => FailureKind::Remote,
            _ => FailureKind::Other,
        }
    }
}
