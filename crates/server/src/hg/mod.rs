//! Repositories: Mercurial's wire protocol below `/hg/`, and plain pages for browsers.
//!
//! Everybody may read whatever stands below `repos/`, as with `hg serve`, unless
//! `[chttpd] require_valid_user` asks for a login. Nobody may write yet.

mod find;
mod page;

use crate::{Answer, App, Failure, Request};
use find::Found;
use hyper::{Method, StatusCode, Uri};
use page::Summary;
use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::StorageFile;
use varve_base::storage::read_if_there;
use varve_config::hgrc::{self, Hgrc};
use varve_exchange::wire::{self, StreamBody, TYPE_ERROR, WireRequest, WireResponse, WireSettings};
use varve_exchange::{ChunkSink, ExchangeError, SinkClosed, copy_file};
use varve_repo::Repository;

use crate::http::{BodyWriter, FilePiece};

/// Whether the request is for a repository. `/hg%2FNAME` is not: that is a database.
pub(crate) fn claims(request: &Request) -> bool {
    request.raw_path == "/hg" || request.raw_path.starts_with("/hg/")
}

/// Whether the request's body is of no use: a push is refused whatever it brings.
pub(crate) fn discards_body(uri: &Uri) -> bool {
    let mut pairs = uri.query().unwrap_or("").split('&');
    uri.path().starts_with("/hg/") && pairs.any(|pair| pair == "cmd=unbundle")
}

/// A repository that is kept open.
#[derive(Debug)]
pub(crate) struct OpenRepository {
    repository: Repository,
    /// `.hg/requires` as it was when the repository was opened: another one means that another
    /// repository stands there now. Everything else is noticed by the repository itself.
    requires: Option<Vec<u8>>,
}

/// Answers everything below `/hg`.
pub(crate) async fn route(app: Arc<App>, request: Request) -> Result<Answer, Failure> {
    if !request.is_read() && request.method != Method::POST {
        return Err(Failure::method_not_allowed("GET,HEAD,POST"));
    }
    App::blocking(move || answer(&app, &request)).await
}

fn answer(app: &Arc<App>, request: &Request) -> Result<Answer, Failure> {
    let storage = app.storage().as_ref();
    let segments = &request.segments[1..];
    if segments.is_empty() {
        let names = find::list(storage).map_err(Failure::internal)?;
        return Ok(page::index(&names));
    }
    let found = find::find(storage, segments).map_err(Failure::internal)?;
    let Some(found) = found else {
        let missing = format!("there is no repository {:?}\n", segments.join("/"));
        return Ok(Answer::text(StatusCode::NOT_FOUND, missing));
    };
    let repository = match open(app, &found) {
        Ok(repository) => repository,
        Err(error) => return Ok(refuse(&error.to_string())),
    };
    if request.query("cmd").is_some() || request.headers.contains_key("x-hgargs-post") {
        let settings = match settings(app, &found) {
            Ok(settings) => settings,
            Err(error) => return Ok(refuse(&error.to_string())),
        };
        return Ok(respond(app, &repository.repository, request, &settings));
    }
    browse(&repository.repository, &found, request)
}

/// The repository, opened anew if another one stands in its place.
fn open(app: &App, found: &Found) -> Result<Arc<OpenRepository>, OpenError> {
    let requires = read_if_there(app.storage().as_ref(), &found.folder.join(".hg/requires"))?;
    if let Some(known) = app.repositories.get(&found.name)
        && known.requires != requires
    {
        app.repositories.forget(&found.name);
    }
    app.repositories.get_or_open(&found.name, || {
        let repository = Repository::open(Arc::clone(app.storage()), Path::new(&found.folder))?;
        Ok(OpenRepository {
            repository,
            requires,
        })
    })
}

/// Why a repository cannot be served.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error(transparent)]
    Storage(#[from] varve_base::StorageError),
    #[error(transparent)]
    Repository(#[from] varve_repo::RepoError),
    #[error(transparent)]
    Hgrc(#[from] hgrc::HgrcError),
}

fn respond(
    app: &Arc<App>,
    repository: &Repository,
    request: &Request,
    settings: &WireSettings,
) -> Answer {
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let query = request.raw_query.as_bytes();
    let response = WireRequest::parse(headers, query, &request.body)
        .and_then(|wire| wire::respond(repository, &wire, settings));
    match response.unwrap_or_else(|error| WireResponse::refusal(&error)) {
        WireResponse::Whole { content_type, body } => {
            Answer::whole(StatusCode::OK, content_type, body)
        }
        WireResponse::Stream { content_type, body } => {
            let app = Arc::clone(app);
            let asked = format!("{} {}", request.method, request.raw_path);
            stream(content_type, body, move |error| {
                app.report(&format!("{asked}: {error}"))
            })
        }
    }
}

/// What the server's settings and the repository's own `.hg/hgrc` say. A `hgrc` that cannot be
/// read is refused rather than passed over: it may be what keeps drafts from being published.
fn settings(app: &App, found: &Found) -> Result<WireSettings, OpenError> {
    let path = found.folder.join(".hg/hgrc");
    let text = read_if_there(app.storage().as_ref(), &path)?.unwrap_or_default();
    let included = NothingIncluded::default();
    let mut hgrc = Hgrc::default();
    hgrc.add_text(&included, &path, &text)?;
    // Another file may say that drafts stay drafts; publishing them could not be taken back.
    let unsaid = !included.asked.get();
    let hg = &app.settings().hg;
    Ok(WireSettings {
        stream_clones: hg.uncompressed,
        zlib_level: hg.zlib_level,
        zstd_level: hg.zstd_level,
        publishing: hgrc.boolean("phases", "publish", unsaid)?,
    })
}

/// Files that a repository's `hgrc` includes are not read, so that a repository cannot name files
/// of the server.
#[derive(Default)]
struct NothingIncluded {
    /// Whether there was one to read.
    asked: Cell<bool>,
}

impl hgrc::Files for NothingIncluded {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        self.asked.set(true);
        Err(io::ErrorKind::NotFound.into())
    }

    fn expand(&self, path: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(path))
    }
}

fn stream(
    content_type: &str,
    body: StreamBody,
    report: impl Fn(&ExchangeError) + Send + 'static,
) -> Answer {
    Answer::stream(content_type, move |writer| -> Result<(), ExchangeError> {
        body(&mut Sink { writer, report })
    })
}

/// Hands the buffers of an exchange on to the connection.
struct Sink<'a, R> {
    writer: &'a mut BodyWriter,
    report: R,
}

impl<R: Fn(&ExchangeError)> ChunkSink for Sink<'_, R> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.writer.send(bytes).map_err(|_closed| SinkClosed)
    }

    fn send_file(
        &mut self,
        file: &Arc<dyn StorageFile>,
        offset: u64,
        len: u64,
    ) -> Result<(), ExchangeError> {
        if !FilePiece::can_send(file.as_ref()) {
            return copy_file(file.as_ref(), offset, len, |bytes| self.send(bytes));
        }
        for piece in FilePiece::cut(file, offset, len) {
            piece.read_ahead()?;
            self.writer
                .send_piece(piece)
                .map_err(|_closed| SinkClosed)?;
        }
        Ok(())
    }

    fn broke_off(&mut self, error: &ExchangeError) {
        (self.report)(error);
    }
}

/// A text that `hg` shows to its user before it stops.
fn refuse(reason: &str) -> Answer {
    Answer::whole(
        StatusCode::OK,
        TYPE_ERROR,
        format!("{reason}\n").into_bytes(),
    )
}

fn browse(repository: &Repository, found: &Found, request: &Request) -> Result<Answer, Failure> {
    let view = repository.view().map_err(Failure::internal)?;
    let changelog = view.changelog();
    let tip = view.tip().map(|rev| format!("{}", changelog.node(rev)));
    let summary = Summary {
        name: found.name.clone(),
        origin: request.origin(),
        changesets: changelog.len(),
        tip,
    };
    Ok(page::repository(&summary))
}
