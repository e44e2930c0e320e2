//! Pages for browsers, without scripts: templates in `templates`, filled with rows that `rows` makes.

mod comparison;
mod files;
mod frame;
mod graph;
mod history;
mod marked;
mod remarks;
mod rows;
mod statistics;
mod tree;

use super::error::PageError;
use super::paths::{Command, Style};
use super::{Page, PageBody};
use crate::Answer;
use askama::Template;
use frame::Frame;
use hyper::StatusCode;

const MEDIA_TYPE: &str = "text/html; charset=UTF-8";
/// The only file that pages load.
const STYLE_SHEET: &str = "varve.css";
/// Nothing that a committer wrote can act in a page: there are no scripts, and forms lead back here.
const POLICY: &str = "default-src 'none'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'self'; style-src ";

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    message: String,
}

/// A page with the message.
pub(super) fn failure(page: &Page<'_>, message: &str) -> (&'static str, Vec<u8>) {
    let error = ErrorPage {
        frame: Frame::new(page, "Error".to_owned(), None),
        message: message.to_owned(),
    };
    let text = error.render().unwrap_or_else(|_| message.to_owned());
    (MEDIA_TYPE, text.into_bytes())
}

/// The page in HTML.
///
/// # Errors
/// 404 for what there is not.
pub(super) fn render(page: &Page<'_>, command: Command) -> Result<PageBody, PageError> {
    if page.config.get("web", "templates").is_some() {
        let words = "web.templates is not supported";
        return Err(PageError::told(StatusCode::NOT_IMPLEMENTED, words));
    }
    let style = page.config.text("web", "style");
    if let Some(name) = style.filter(|name| !name.is_empty())
        && Style::named(&name).is_none()
    {
        return Err(PageError::Refused {
            status: StatusCode::NOT_IMPLEMENTED,
            reason: None,
            message: format!("web.style: there is no style \"{name}\""),
        });
    }
    let text = match command {
        Command::Summary => history::summary(page)?,
        Command::Log | Command::Changelog => history::log(page)?,
        Command::Shortlog => history::shortlog(page)?,
        Command::Search => history::search(page)?,
        Command::Changeset => history::changeset(page)?,
        Command::Tags | Command::Bookmarks | Command::Branches => history::labels(page, command)?,
        Command::Help => history::help(page)?,
        Command::Graph => graph::graph(page)?,
        Command::File | Command::Manifest => files::file_or_directory(page, command)?,
        Command::Annotate => files::annotation(page)?,
        Command::FileDiff => files::file_diff(page)?,
        Command::Comparison => comparison::comparison(page)?,
        Command::FileLog => files::file_log(page)?,
        Command::Statistics => statistics::statistics(page)?,
        Command::Archive | Command::Static => {
            return Err(PageError::told(StatusCode::BAD_REQUEST, "method not found"));
        }
    };
    let styles = match frame::static_url(page) {
        Some(_) => "*",
        None => "'self'",
    };
    Ok(PageBody::whole(MEDIA_TYPE, text.into_bytes())
        .with_header("content-security-policy", format!("{POLICY}{styles}"))
        .with_header("x-content-type-options", "nosniff".to_owned())
        .with_header("referrer-policy", "same-origin".to_owned()))
}

/// Fills a template; its only failures are those of writing.
fn filled(template: &impl Template) -> Result<String, PageError> {
    let failed = |error: askama::Error| PageError::Failed(crate::Failure::internal(error));
    template.render().map_err(failed)
}

/// A file that pages load.
pub(super) fn asset(path: &str) -> Answer {
    match path {
        STYLE_SHEET => {
            let sheet = crate::hg::page::STYLE.as_bytes().to_vec();
            Answer::whole(StatusCode::OK, "text/css; charset=utf-8", sheet)
                .with_header("cache-control", "max-age=3600")
        }
        _ => Answer::text(StatusCode::NOT_FOUND, "no such file\n"),
    }
}
