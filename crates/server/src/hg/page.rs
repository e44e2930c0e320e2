//! Lists of repositories for browsers.

use crate::Answer;
use crate::http::IN_PATH;
use askama::Template;
use hyper::StatusCode;
use percent_encoding::percent_encode;
use varve_lang::date::Date;

/// The style sheet of all pages.
pub(super) const STYLE: &str = include_str!("../../templates/style.css");

/// Words about a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct About {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) contact: Option<String>,
}

/// A line of the list of repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedRepository {
    pub(super) about: About,
    /// The path of its URL behind that of the server.
    pub(super) path: String,
}

/// A line of a collection's list.
#[derive(Clone, Debug)]
pub(super) struct IndexRow {
    pub(super) name: String,
    /// Path of the URL, not escaped.
    pub(super) url: Vec<u8>,
    pub(super) description: String,
    pub(super) contact: String,
    /// Seconds since 1970, and seconds that the zone is west of UTC.
    pub(super) last_change: (i64, i32),
    pub(super) is_directory: bool,
}

/// A line of any list.
#[derive(Debug, Default)]
struct ListRow {
    name: String,
    url: String,
    description: String,
    contact: String,
    date: String,
}

/// A link below the list.
#[derive(Debug)]
struct ListLink {
    url: String,
    text: &'static str,
}

#[derive(Template)]
#[template(path = "repositories.html")]
struct RepositoriesPage {
    title: String,
    style: &'static str,
    message: Option<String>,
    has_dates: bool,
    rows: Vec<ListRow>,
    links: Vec<ListLink>,
}

impl RepositoriesPage {
    fn new(title: &str, rows: Vec<ListRow>) -> RepositoriesPage {
        RepositoriesPage {
            title: title.to_owned(),
            style: STYLE,
            message: rows.is_empty().then(|| "There are none.".to_owned()),
            has_dates: false,
            rows,
            links: Vec::new(),
        }
    }

    fn answer(&self) -> Answer {
        // Writing to memory does not fail.
        let page = self.render().unwrap_or_default();
        let page = page.into_bytes();
        Answer::whole(StatusCode::OK, "text/html; charset=utf-8", page)
    }
}

/// The list of all repositories; `mount` is the path below which the server has everything.
pub(super) fn index(title: &str, listed: &[ListedRepository], mount: &str) -> Answer {
    let row = |ListedRepository { about, path }: &ListedRepository| ListRow {
        name: about.name.clone(),
        url: format!("{mount}{path}"),
        description: about.description.clone().unwrap_or_default(),
        contact: about.contact.clone().unwrap_or_default(),
        date: String::new(),
    };
    let mut page = RepositoriesPage::new(title, listed.iter().map(row).collect());
    page.links.push(ListLink {
        url: format!("{mount}/_utils/"),
        text: "Databases",
    });
    page.answer()
}

/// The list of a collection's repositories and directories.
pub(super) fn collection_index(title: &str, rows: &[IndexRow]) -> Answer {
    let row = |row: &IndexRow| {
        let (time, zone) = row.last_change;
        let plain = ListRow {
            name: row.name.clone(),
            url: percent_encode(&row.url, IN_PATH).to_string(),
            date: Date { time, zone }.format("%Y-%m-%d %H:%M %1%2"),
            ..ListRow::default()
        };
        match row.is_directory {
            true => plain,
            false => ListRow {
                description: row.description.clone(),
                contact: row.contact.clone(),
                ..plain
            },
        }
    };
    let mut page = RepositoriesPage::new(title, rows.iter().map(row).collect());
    page.has_dates = true;
    let mut answer = page.answer();
    answer.reason = Some("Script output follows");
    answer
}

/// The page for a path that no repository has.
pub(super) fn no_repository(path: &str) -> Answer {
    let mut page = RepositoriesPage::new("No repository", Vec::new());
    page.message = Some(format!("There is no repository {path}."));
    let mut answer = page.answer();
    answer.status = StatusCode::NOT_FOUND;
    answer
}

/// A text within HTML or XML, as Mercurial escapes it.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        let listed = ListedRepository {
            about: About {
                name: "x/<i>".into(),
                description: Some("<u>".into()),
                contact: Some("a <a@b>".into()),
            },
            path: "/hg/x/%3Ci%3E".into(),
        };
        let answer = index("<b>", &[listed], "/\"");
        let page = std::str::from_utf8(answer.whole_body().unwrap()).unwrap();
        for markup in ["<b>", "<i>", "<u>", "<a@b>", "\"/\""] {
            assert!(!page.contains(markup), "{page}");
        }
        assert!(page.contains("/hg/x/%3Ci%3E\">"), "{page}");
        let answer = no_repository("<script>");
        let page = std::str::from_utf8(answer.whole_body().unwrap()).unwrap();
        assert!(!page.contains("<script>"), "{page}");
    }
}
