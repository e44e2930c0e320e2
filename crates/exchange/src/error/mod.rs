//! Errors between a request and its answer.

mod bundlespec;
mod push_refusal;

pub use bundlespec::BundleSpecError;
pub use push_refusal::{NewHeads, PushRefusal};

use std::error::Error;
use std::io;
use varve_repo::RepoError;
use varve_repo::hooks::PushKey;
use varve_revlog::{Node, RevlogError};

/// A request could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The request is longer than this server reads.
    #[error("{what} of the request has {found} bytes, more than the {limit} that are read")]
    TooLong {
        /// Which part of the request.
        what: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Part of the request breaks the protocol.
    #[error("{what} of the request is damaged: {reason}")]
    BadRequest {
        /// Which part of the request.
        what: &'static str,
        /// Reason for the refusal.
        reason: String,
    },
    /// The command needs an argument that was not sent.
    #[error("command {command} needs the argument {name}")]
    MissingArgument {
        /// Name of the wire command.
        command: String,
        /// The argument's name.
        name: &'static str,
    },
    /// An argument is not of its type.
    #[error("argument {name} of command {command} must be {expected}")]
    BadArgument {
        /// Name of the wire command.
        command: String,
        /// The argument's name.
        name: &'static str,
        /// The type, in words.
        expected: &'static str,
    },
    /// This server has no such command.
    #[error("unknown command {command:?}")]
    UnknownCommand {
        /// Its name as sent.
        command: String,
    },
    /// The command writes, and was sent where only reading is possible.
    #[error("{command} needs a repository that may be written to")]
    ReadOnly {
        /// Name of the wire command.
        command: String,
    },
    /// The repository is not as it was when a push was prepared; how it differs follows.
    #[error("remote repository changed while pushing - please try again{0}")]
    RepositoryChanged(String),
    /// A key that had to be set was not.
    #[error("the key {:?} could not be set", String::from_utf8_lossy(&key.key))]
    KeyRefused {
        /// Number of the part that it stood in.
        part: u32,
        /// Namespace, key and values of the request.
        key: PushKey,
    },
    /// The client wants changesets that this repository does not show.
    #[error("unknown revision '{0}'")]
    UnknownRevision(String),
    /// Stream clones are switched off, or would show secret changesets.
    #[error("this server does not allow a stream clone of this repository")]
    NoStreamClone,
    /// A client wants the files of the store, and names no form of them that it reads.
    #[error("stream data requested but supported streaming clone versions were not specified")]
    NoStreamVersion,
    /// A client wants the files of the store, but not the markers that belong to them.
    #[error("server has obsolescence markers, but client cannot receive them via stream clone")]
    StreamWithMarkers,
    /// Another program wrote the manifest of clone bundles.
    #[error("clonebundles.manifest was written by hand, or by another program")]
    ForeignManifest,
    /// Clone bundles are being made elsewhere.
    #[error("clone bundles of this repository are being made already")]
    CloneBundlesLocked,
    /// A bundlespec that no clone bundle can have.
    #[error("bundles of type '{0}' cannot be clone bundles")]
    NotForClones(String),
    /// A clone bundle that is not there, in Mercurial's words.
    #[error("clonebundle {0} does not exist")]
    NoCloneBundle(String),
    /// A client is too old for this server, in Mercurial's words.
    #[error(
        "incompatible Mercurial client; bundle2 required\n(see https://www.mercurial-scm.org/wiki/IncompatibleClient)"
    )]
    Bundle2Required,
    /// A client wants everything, where it has to take the files of the store or a clone bundle instead.
    #[error("server has pull-based clones disabled")]
    FullBundleDisabled,
    /// The list of bundles for pulls cannot be used.
    #[error("pullbundles.manifest: {0}")]
    PullBundleManifest(String),
    /// A clone bundle's name leads out of the directory of such bundles, in Mercurial's words.
    #[error("clonebundle {0} is using an illegal path")]
    IllegalCloneBundle(String),
    /// A form of changegroup that is not known here.
    #[error("repository does not support bundle version {0}")]
    ChangegroupVersion(String),
    /// A push must not be sent.
    #[error(transparent)]
    PushRefused(#[from] PushRefusal),
    /// A bundlespec is wrong.
    #[error(transparent)]
    BundleSpec(#[from] BundleSpecError),
    /// A manifest cannot be read.
    #[error("manifest {node} is damaged at byte {offset}: {reason}")]
    DamagedManifest {
        /// Its name.
        node: Node,
        /// Where in its text.
        offset: usize,
        /// Damage that the parser found.
        reason: &'static str,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// A revlog cannot be read.
    #[error(transparent)]
    Revlog(#[from] RevlogError),
    /// The answer could not be put together.
    #[error("cannot write the answer")]
    Write(#[source] io::Error),
    /// The client left.
    #[error("the client closed the connection")]
    Closed(#[from] SinkClosed),
    /// The answer could not be compressed.
    #[error("cannot compress the answer")]
    Compress(#[from] varve_codec::CodecError),
    /// A bundle ends in the middle.
    #[error("stream ended unexpectedly (got {got} bytes, expected {expected})")]
    StreamEnded {
        /// Bytes that were there.
        got: usize,
        /// Bytes that were wanted.
        expected: usize,
    },
    /// A bundle ends in the middle of a part's payload; Mercurial says so with two blanks.
    #[error("stream ended unexpectedly  (got {got} bytes, expected {expected})")]
    ChunkEnded {
        /// Bytes of the chunk that were there.
        got: usize,
        /// Bytes that it announced.
        expected: usize,
    },
    /// A chunk of a changegroup is shorter than its own length, or than a header.
    #[error("invalid chunk length {0}")]
    ChunkLength(i32),
    /// The bytes do not begin as a bundle does.
    #[error("not a Mercurial bundle")]
    NotABundle,
    /// A bundle of a version that nothing here reads.
    #[error("unknown bundle version {0}")]
    UnknownBundleVersion(String),
    /// A bundle of the first version with another engine.
    #[error("unknown stream compression type: {0}")]
    UnknownCompression(String),
    /// A bundle2 has something that must be understood, and is not.
    #[error("unknown bundle feature, {0}")]
    UnknownBundleFeature(String),
    /// A bundle has obsolescence markers, which are not switched on.
    #[error("creating obsolete markers is not enabled on this repo")]
    MarkersNotEnabled,
    /// The files of a store, where changesets are wanted.
    #[error("packed bundles cannot be applied with \"hg unbundle\"")]
    PackedBundle,
    /// A push is longer than this server takes.
    #[error("this server takes no push of more than {longest} bytes (web.max-push-size)")]
    PushTooLong {
        /// Bytes that a push may have.
        longest: u64,
    },
    /// The files of a store come from a packed bundle into a repository that has changesets.
    #[error("cannot apply stream clone bundle on non-empty repo")]
    PackedIntoHistory,
    /// The same, from a part of a bundle2.
    #[error("cannot apply stream clone to non empty repository")]
    StreamIntoHistory,
    /// The files of a store have requirements that are unknown here.
    #[error("unable to apply stream clone: unsupported format: {0}")]
    StreamRequirements(String),
    /// The files of a store cannot be looked at as a repository; these are Mercurial's words.
    #[error("bundle type <class 'mercurial.streamclone.streamcloneapplier'> cannot be read")]
    PackedBundleRepo,
    /// A bundle that is looked at as a repository has no changesets.
    #[error("No changegroups found")]
    NoChangegroup,
    /// A bundle breaks its format.
    #[error("the bundle is damaged: {0}")]
    DamagedBundle(String),
    /// A bundle expands past all measure.
    #[error("the bundle makes {expanded} bytes of {compressed}: it may never end")]
    EndlessBundle {
        /// Bytes read.
        compressed: u64,
        /// Expanded bytes, so far.
        expanded: u64,
    },
    /// A repository finds no revision of the name that it was asked for.
    #[error("{message}")]
    LookupRefused {
        /// Its answer.
        message: String,
        /// The repository is asked over a connection.
        is_remote: bool,
    },
    /// The remote reports that it failed.
    #[error("{message}")]
    RemoteAbort {
        /// Its words.
        message: String,
        /// Its advice.
        hint: Option<String>,
    },
    /// A bundle could not be read or expanded.
    #[error("cannot read the bundle: {0}")]
    Read(#[source] io::Error),
    /// A URL, or the files or settings for it, cannot be used.
    #[error("cannot use {url}: {reason}")]
    BadAddress {
        /// The URL as messages show it.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The certificate of a server has none of the fingerprints that it has to have.
    #[error("certificate for {host} has unexpected fingerprint {fingerprint}")]
    UnexpectedFingerprint {
        /// Name of the server.
        host: String,
        /// Hash of the certificate: with SHA-256, or else with SHA-1 and without the function's name.
        fingerprint: String,
        /// Whether fingerprints in the older form were given.
        is_legacy: bool,
    },
    /// The server's certificate is for another host.
    #[error("error: {reason}")]
    CertificateOfAnotherHost {
        /// The verdict on the certificate.
        reason: String,
    },
    /// No connection, or it broke before an answer came.
    #[error("error: {reason}")]
    Unreachable {
        /// The system's words.
        reason: String,
    },
    /// A file could not be asked for.
    #[error("error fetching bundle: {reason}")]
    FetchFailed {
        /// Why not.
        reason: String,
    },
    /// The connection broke in the middle of an answer.
    #[error("the answer broke off: {0}")]
    Broken(#[source] io::Error),
    /// A part that names a URL lacks a parameter, or has an impossible one.
    #[error("remote-changegroup{0}")]
    RemoteChangegroup(String),
    /// A URL in a bundle leads to no bundle, or to one that may not stand there.
    #[error("{url}: {reason}")]
    RemoteBundle {
        /// The URL as the bundle has it.
        url: String,
        /// Reason for the refusal.
        reason: String,
    },
    /// The data at a URL in a bundle has another length or digest than the bundle says.
    #[error("bundle at {url} is corrupted:\n{reason}")]
    RemoteDamaged {
        /// The URL as the bundle has it.
        url: String,
        /// The mismatch.
        reason: String,
    },
    /// A server wants a login.
    #[error("http authorization required for {url}")]
    LoginNeeded {
        /// The URL, without a password.
        url: String,
        /// The server's name for the area that it guards.
        realm: String,
    },
    /// A server does not know this name, or not with this password.
    #[error("authorization failed")]
    WrongPassword,
    /// A server refuses in its own way.
    #[error("HTTP Error {status}: {reason}")]
    HttpStatus {
        /// HTTP status of the response.
        status: u16,
        /// Meaning of the status.
        reason: String,
    },
    /// Something else than a repository answered.
    #[error(
        "'{url}' does not appear to be an hg repository:\n---%<--- ({kind})\n{page}\n---%<---\n"
    )]
    NotARepository {
        /// The URL, without a password.
        url: String,
        /// Content type of the answer.
        kind: String,
        /// The beginning of the answer.
        page: String,
    },
    /// A server refuses in words.
    #[error("remote error:\n{0}")]
    Remote(String),
    /// An answer has not the form of its command's answers.
    #[error("unexpected response from remote server: {command} answered {answer:?}")]
    UnexpectedAnswer {
        /// Name of the wire command.
        command: &'static str,
        /// The beginning of the answer.
        answer: String,
    },
    /// The remote reports that it could not store a push.
    #[error("push failed on remote")]
    PushFailed {
        /// Its words.
        message: String,
        /// Its advice.
        hint: Option<String>,
    },
    /// The other side has changed since it was asked.
    #[error("push failed:\n'{0}'")]
    PushRaced(String),
    /// The other side does not understand a part of a push.
    #[error("missing support for {0}")]
    NotSupportedThere(String),
    /// The other side is too old to be sent something.
    #[error("the other side is too old: {0} cannot be pushed to it")]
    TooOldToPush(&'static str),
    /// The other side cannot be pushed to in this way.
    #[error("this repository cannot be pushed to over a connection")]
    NoPush,
    /// A URL of ssh has no host.
    #[error("couldn't parse location {0}")]
    NoLocation(String),
    /// A URL of ssh has a password; ssh asks for it itself.
    #[error("password in URL not supported")]
    PasswordForSsh,
    /// A word of a URL would be an option to another program.
    #[error("potentially unsafe url: '{0}'")]
    UnsafeUrl(String),
    /// No repository could be made over ssh.
    #[error("could not create remote repo")]
    NotCreated,
    /// The program started over ssh is no server of repositories.
    #[error("no suitable response from remote hg")]
    NoSuitableResponse {
        /// Lines that the other side said.
        said: Vec<Vec<u8>>,
    },
    /// Over ssh something came that is no answer.
    #[error("unexpected response: {}", if .0.is_empty() { "empty string" } else { .0 })]
    NoAnswer(String),
    /// Two repositories have not one changeset in common.
    #[error("repository is unrelated")]
    Unrelated,
    /// The user does not want what a bundle brings.
    #[error("the changes are not accepted")]
    Declined,
    /// The repository's storage failed.
    #[error(transparent)]
    Storage(#[from] varve_base::StorageError),
}

impl ExchangeError {
    /// Whether the request is to blame and not the server: the text is for the client's user.
    pub fn is_clients_fault(&self) -> bool {
        matches!(
            self,
            ExchangeError::TooLong { .. }
                | ExchangeError::BadRequest { .. }
                | ExchangeError::MissingArgument { .. }
                | ExchangeError::BadArgument { .. }
                | ExchangeError::UnknownCommand { .. }
                | ExchangeError::ReadOnly { .. }
                | ExchangeError::NoStreamClone
                | ExchangeError::NoStreamVersion
                | ExchangeError::StreamWithMarkers
                | ExchangeError::NoCloneBundle(_)
                | ExchangeError::Bundle2Required
                | ExchangeError::FullBundleDisabled
                | ExchangeError::UnknownRevision(_)
                | ExchangeError::MarkersNotEnabled
                | ExchangeError::Repo(RepoError::BadMarker { .. })
        )
    }
}

impl ExchangeError {
    /// True if a hook of this side refuses.
    pub fn is_hooks(&self) -> bool {
        matches!(self, ExchangeError::Repo(RepoError::Hook(_)))
    }

    /// Whether the files of this side are to blame: its operator has to know.
    pub fn is_damage(&self) -> bool {
        match self {
            ExchangeError::Revlog(_)
            | ExchangeError::Storage(_)
            | ExchangeError::DamagedManifest { .. } => true,
            ExchangeError::Repo(error) => matches!(
                error,
                RepoError::Storage(_)
                    | RepoError::Revlog(_)
                    | RepoError::NotFound { .. }
                    | RepoError::DamagedChangeset { .. }
                    | RepoError::DamagedManifest { .. }
                    | RepoError::DamagedLine { .. }
                    | RepoError::LostChangelog { .. }
                    | RepoError::MissingFileData(_)
                    | RepoError::TornFncache
                    | RepoError::JournalOutside { .. }
                    | RepoError::AbandonedTransaction
            ),
            _ => false,
        }
    }

    /// Advice to the user, as Mercurial puts it in brackets under the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            ExchangeError::Repo(error) => error.hint().map(str::to_owned),
            ExchangeError::RemoteAbort { hint, .. } => hint.clone(),
            ExchangeError::FullBundleDisabled => {
                Some("remove --pull if specified or upgrade Mercurial".to_owned())
            }
            ExchangeError::NoStreamVersion => Some("the client seems buggy".to_owned()),
            _ => None,
        }
    }
}

impl ExchangeError {
    /// The text with those of all causes, separated by colons.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// The client closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client closed the connection")]
pub struct SinkClosed;

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<SinkClosed>() {
            Ok(closed) => ExchangeError::Closed(closed),
            Err(error) => ExchangeError::Write(error),
        }
    }
}
