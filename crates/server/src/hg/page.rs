//! What a browser sees below `/hg`: plain pages that say how to clone.

use crate::Answer;
use hyper::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in the path of a link.
pub(super) const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// What a repository's page says.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) name: String,
    /// `http://HOST`.
    pub(super) origin: String,
    pub(super) changesets: usize,
    /// The tip's number and node in hexadecimal, if there is any changeset.
    pub(super) tip: Option<String>,
}

/// A repository's page.
pub(super) fn repository(summary: &Summary) -> Answer {
    let Summary {
        name,
        origin,
        changesets,
        tip,
    } = summary;
    let path = utf8_percent_encode(name, IN_PATH);
    let tip = tip
        .as_deref()
        .map(|tip| format!("<p>Tip: <code>{tip}</code></p>\n"));
    let title = escape(name);
    html(
        &title,
        &format!(
            "<h1>{title}</h1>\n<p>{changesets} changesets</p>\n{tip}\
             <pre>hg clone {origin}/hg/{path}</pre>\n<p><a href=\"/hg\">All repositories</a></p>\n",
            tip = tip.unwrap_or_default(),
            origin = escape(origin),
        ),
    )
}

/// The list of all repositories.
pub(super) fn index(names: &[String]) -> Answer {
    let items = names.iter().map(|name| {
        let path = utf8_percent_encode(name, IN_PATH);
        format!("<li><a href=\"/hg/{path}\">{}</a></li>\n", escape(name))
    });
    let items: String = items.collect();
    html(
        "Repositories",
        &format!("<h1>Repositories</h1>\n<ul>\n{items}</ul>\n"),
    )
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

fn escape(text: &str) -> String {
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
            name: "a b/<script>\"".into(),
            origin: "http://h\"<".into(),
            changesets: 3,
            tip: Some("2:abc".into()),
        };
        let answer = repository(&summary);
        let page = std::str::from_utf8(answer.whole_body().unwrap()).unwrap();
        assert!(
            page.contains("hg clone http://h&quot;&lt;/hg/a%20b/%3Cscript%3E%22<"),
            "{page}"
        );
        assert!(!page.contains("<script"), "{page}");
        let answer = index(&["x/<i>".into()]);
        let page = std::str::from_utf8(answer.whole_body().unwrap()).unwrap();
        assert!(
            page.contains("<a href=\"/hg/x/%3Ci%3E\">x/&lt;i&gt;</a>"),
            "{page}"
        );
    }
}
