//! Pages for browsers below `/hg`: they say how to clone.

use crate::Answer;
use crate::http::IN_PATH;
use hyper::StatusCode;
use percent_encoding::percent_encode;
use varve_lang::date::Date;

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

/// Content of a repository's page.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) about: About,
    pub(super) url: String,
    /// The path of the list of all, if there is one.
    pub(super) index: Option<String>,
    pub(super) changesets: usize,
    /// The tip's number and node in hexadecimal, if there is any changeset.
    pub(super) tip: Option<String>,
}

/// A repository's page.
pub(super) fn repository(summary: &Summary) -> Answer {
    let Summary {
        about: About {
            name,
            description,
            contact,
        },
        url,
        index,
        changesets,
        tip,
    } = summary;
    let index = index.as_deref().map(|path| {
        let path = escape(path);
        format!("<p><a href=\"{path}\">All repositories</a></p>\n")
    });
    let tip = tip
        .as_deref()
        .map(|tip| format!("<p>Tip: <code>{tip}</code></p>\n"));
    let title = escape(name);
    let description = paragraph(description.as_deref());
    let contact = contact
        .as_deref()
        .map(|contact| format!("Contact: {contact}"));
    let contact = paragraph(contact.as_deref());
    html(
        &title,
        &format!(
            "<h1>{title}</h1>\n{description}{contact}<p>{changesets} changesets</p>\n{tip}\
             <pre>hg clone {url}</pre>\n{index}",
            tip = tip.unwrap_or_default(),
            url = escape(url),
            index = index.unwrap_or_default(),
        ),
    )
}

/// The list of all repositories; `mount` is the path below which the server has everything.
pub(super) fn index(title: &str, listed: &[ListedRepository], mount: &str) -> Answer {
    let (title, mount) = (escape(title), escape(mount));
    let items = listed.iter().map(|ListedRepository { about, path }| {
        let details = [&about.description, &about.contact];
        let details = details.into_iter().flatten();
        let details = details.map(|text| format!(" – {}", escape(text)));
        let (path, name) = (escape(path), escape(&about.name));
        let details: String = details.collect();
        format!("<li><a href=\"{mount}{path}\">{name}</a>{details}</li>\n")
    });
    let items: String = items.collect();
    html(&title, &format!("<h1>{title}</h1>\n<ul>\n{items}</ul>\n"))
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

/// The list of a collection's repositories and directories.
pub(super) fn collection_index(title: &str, rows: &[IndexRow]) -> Answer {
    let rows = rows.iter().map(|row| {
        let (time, zone) = row.last_change;
        let date = Date { time, zone }.format("%Y-%m-%d %H:%M %1%2");
        let url = percent_encode(&row.url, IN_PATH);
        let cells = match row.is_directory {
            true => format!("<td></td><td></td><td>{date}</td>"),
            false => format!(
                "<td>{}</td><td>{}</td><td>{date}</td>",
                escape(&row.description),
                escape(&row.contact)
            ),
        };
        let name = escape(&row.name);
        format!("<tr><td><a href=\"{url}\">{name}</a></td>{cells}</tr>\n")
    });
    let rows: String = rows.collect();
    let title = escape(title);
    let mut page = html(
        &title,
        &format!(
            "<h1>{title}</h1>\n<table>\n<tr><th>Name</th><th>Description</th><th>Contact</th>\
             <th>Last change</th></tr>\n{rows}</table>\n"
        ),
    );
    page.reason = Some("Script output follows");
    page
}

/// The page for a path that no repository has.
pub(super) fn no_repository(path: &str) -> Answer {
    let path = escape(path);
    let mut page = html(
        "No repository",
        &format!("<h1>No repository</h1>\n<p>There is no repository {path}.</p>\n"),
    );
    page.status = StatusCode::NOT_FOUND;
    page
}

fn paragraph(text: Option<&str>) -> String {
    let paragraph = text.map(|text| format!("<p>{}</p>\n", escape(text)));
    paragraph.unwrap_or_default()
}

fn html(title: &str, body: &str) -> Answer {
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>body {{ font: 1rem/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}\n\
         pre {{ background: #f3f3f0; padding: .5rem 1rem; overflow: auto }}</style>\n{body}</html>\n"
    );
    Answer::whole(
        StatusCode::OK,
        "text/html; charset=utf-8",
        page.into_bytes(),
    )
}

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
        let summary = Summary {
            about: About {
                name: "a b/<script>\"".into(),
                description: Some("<script>1".into()),
                contact: Some("a <a@b>".into()),
            },
            url: "http://h\"</hg/a%20b".into(),
            index: Some("/\"/hg".into()),
            changesets: 3,
            tip: Some("2:abc".into()),
        };
        let answer = repository(&summary);
        let page = std::str::from_utf8(answer.whole_body().unwrap()).unwrap();
        assert!(
            page.contains("hg clone http://h&quot;&lt;/hg/a%20b<")
                && page.contains("<a href=\"/&quot;/hg\">"),
            "{page}"
        );
        assert!(!page.contains("<script"), "{page}");
        assert!(page.contains("<p>&lt;script&gt;1</p>\n<p>Contact: a &lt;a@b&gt;</p>"));
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
        assert!(
            page.contains(
                "<a href=\"/&quot;/hg/x/%3Ci%3E\">x/&lt;i&gt;</a> – &lt;u&gt; – a &lt;a@b&gt;</li>"
            ) && page.contains("<h1>&lt;b&gt;</h1>"),
            "{page}"
        );
    }
}
