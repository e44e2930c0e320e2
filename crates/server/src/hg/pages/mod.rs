//! Pages of a repository for browsers and programs, at hgweb's URLs.
//!
//! `paths` reads the address, `read` takes the data from the repository, and `json`, `raw`, `feeds` and `html` write it. All work is
//! done in the pool of reads, as that of other requests; all bodies have a limit, but archives, which are made while they are sent.

mod archive;
mod cache;
mod error;
mod etag;
mod feeds;
mod highlight;
mod html;
mod json;
mod page;
mod paths;
mod people;
mod raw;
mod read;

use crate::hg::database::RepositoryDatabase;
use crate::hg::find::ServedRepository;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::{RepoRegistry, listing};
use crate::{Answer, Failure, Request};
pub(super) use cache::PageCache;
use cache::PageKey;
use error::PageError;
use hyper::StatusCode;
use page::{FileOrDirectory, Page, PageLimits};
pub(super) use paths::is_page_command;
use paths::{Command, PageAddress, Style};
use read::PageReader;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_repo::{RepoView, Repository};

/// The words that `hg serve` puts behind the status 200.
pub(super) const DONE: &str = "Script output follows";

/// A body with its type.
pub(super) struct PageBody {
    answer: Answer,
}

impl PageBody {
    fn whole(media_type: &str, body: Vec<u8>) -> PageBody {
        PageBody {
            answer: Answer::whole(StatusCode::OK, media_type, body),
        }
    }

    fn with_header(mut self, name: &'static str, value: String) -> PageBody {
        self.answer.set_header(name, &value);
        self
    }
}

/// Answers a request for a page of a repository; `segments` are those behind the repository's own.
///
/// # Errors
/// A damaged repository or configuration.
pub(super) fn answer(
    repos: &Arc<RepoRegistry>,
    (found, config): (&ServedRepository, &RepositoryConfig),
    repository: &Repository,
    (request, segments): (&Request, &[&str]),
) -> Result<Answer, Failure> {
    let address = PageAddress::parse(segments, &request.query, usual_style(&config.values));
    if address.command == Some(Command::Static) {
        return Ok(html::asset(&address.path));
    }
    let database = repos.database(found);
    let caches = config.values.boolean("web", "cache", true);
    let tag = match caches.map_err(Failure::internal)? {
        true => etag::of(repository, &address, (&config.values, database))?,
        false => None,
    };
    if let Some(tag) = &tag
        && etag::matches(request, tag)
    {
        let same = Answer::whole(StatusCode::NOT_MODIFIED, "", Vec::new());
        return Ok(same.with_header("etag", tag));
    }
    let key = tag
        .as_ref()
        .map(|tag| PageKey::new(&found.name, request, tag));
    if let Some(kept) = key.as_ref().and_then(|key| repos.page_cache.get(key)) {
        return Ok(kept);
    }
    let view = repository.view().map_err(Failure::internal)?;
    let mut answer = written(repos, (found, config, database), &view, (request, address))?;
    if let Some(tag) = &tag {
        answer.set_header("etag", tag);
    }
    if let Some(key) = key {
        repos.page_cache.insert(key, &answer);
    }
    Ok(answer)
}

/// The style of addresses that name none. A name in `web.style` that no style has is refused by the pages in HTML.
fn usual_style(config: &Hgrc) -> Style {
    let named = config.text("web", "style");
    named
        .and_then(|name| Style::named(&name))
        .unwrap_or(Style::Html)
}

fn written(
    repos: &Arc<RepoRegistry>,
    (found, config, database): (
        &ServedRepository,
        &RepositoryConfig,
        Option<RepositoryDatabase<'_>>,
    ),
    view: &Arc<RepoView>,
    (request, address): (&Request, PageAddress),
) -> Result<Answer, Failure> {
    let stop = &repos.server().hurry;
    let reader = PageReader::new(view, stop).map_err(failed)?;
    let page = Page {
        reader,
        request,
        config: &config.values,
        limits: PageLimits::read(&config.values).map_err(Failure::internal)?,
        about: listing::about(config, found),
        help: repos.server().help.get(),
        root: format!("{}{}", request.mount, found.path()),
        database,
        index: (!found.is_lone).then(|| format!("{}/hg", request.mount)),
        address,
    };
    let rendered = match page.address.command {
        Some(Command::Archive) => archive::render(repos, &page, view),
        Some(command) => render(&page, command),
        None => Err(PageError::told(StatusCode::BAD_REQUEST, "method not found")),
    };
    match rendered {
        Ok(PageBody { mut answer }) => {
            answer.reason = Some(DONE);
            Ok(answer)
        }
        Err(PageError::Failed(failure)) => Err(failure),
        Err(PageError::Refused {
            status,
            reason,
            message,
        }) => {
            let (media, body) = failure(&page, &message);
            let mut answer = Answer::whole(status, media, body);
            answer.reason = reason;
            Ok(answer)
        }
    }
}

fn render(page: &Page<'_>, command: Command) -> Result<PageBody, PageError> {
    match page.address.style {
        Style::Html => html::render(page, command),
        Style::Json => json::render(page, command),
        Style::Raw => raw::render(page, command),
        Style::Atom | Style::Rss => feeds::render(page, command),
    }
}

fn failure(page: &Page<'_>, message: &str) -> (&'static str, Vec<u8>) {
    match page.address.style {
        Style::Html => html::failure(page, message),
        Style::Json => json::failure(message),
        Style::Raw => raw::failure(message),
        style => feeds::failure(style, &page.absolute(""), message),
    }
}

fn failed(error: PageError) -> Failure {
    match error {
        PageError::Failed(failure) => failure,
        PageError::Refused { message, .. } => Failure::internal(message),
    }
}
