//! `/_utils/`: the files of Fauxton, as the program has them.

use crate::couch::admin::read_only;
use crate::couch::etag;
use crate::http::{BodyWriter, FinishedBody, STREAM_BUFFER};
use crate::{Answer, CouchContext, Failure, Request};
use hyper::{Method, StatusCode};
use std::io::Read;
use varve_config::Csp;
use varve_console::{FILES, File, VERSION};

/// Path of the console, without a slash at its end.
const HOME: &str = "/_utils";
const START: &str = "index.html";
/// CouchDB has its manual below its console, and pages of Fauxton link to it there. The package does not have it.
const DOCUMENTS: &str = "https://docs.couchdb.org/en/stable/";
/// Browsers keep files whose names change with their contents for a year.
const KEPT: &str = "public, max-age=31536000, immutable";
/// Browsers ask each time whether the others have changed.
const ASKED_FOR: &str = "no-cache";

/// Whether the request is for the console.
pub(crate) fn claims(request: &Request) -> bool {
    request.raw_path == HOME || path(request).is_some()
}

/// The path below the console.
fn path(request: &Request) -> Option<&str> {
    request.raw_path.strip_prefix(HOME)?.strip_prefix('/')
}

/// Answers requests that [`claims`] took.
///
/// # Errors
/// 404 for a file that is not there, 405 for other methods than GET and HEAD.
pub(crate) fn route(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let csp = &app.settings().csp;
    let Some(path) = path(request) else {
        return Ok(moved(request));
    };
    if let Some(document) = path.strip_prefix("docs/") {
        return Ok(moved_to(
            StatusCode::FOUND,
            &format!("{DOCUMENTS}{document}"),
        ));
    }
    let path = if path.is_empty() { START } else { path };
    if FILES.is_empty() && path == START {
        return Ok(protected(missing_console(), csp));
    }
    let file = varve_console::find(FILES, path);
    let file = file.ok_or_else(|| Failure::not_found("missing"))?;
    Ok(protected(answer(app, request, file), csp))
}

/// To the path with a slash, below which the page finds its scripts.
fn moved(request: &Request) -> Answer {
    let mut to = format!("{}{HOME}/", request.base());
    if !request.raw_query.is_empty() {
        to.push('?');
        to.push_str(&request.raw_query);
    }
    moved_to(StatusCode::MOVED_PERMANENTLY, &to)
}

fn moved_to(status: StatusCode, to: &str) -> Answer {
    Answer::text(status, format!("{to}\n")).with_header("location", to)
}

fn answer(app: &CouchContext, request: &Request, file: &'static File) -> Answer {
    let is_gzip = file.is_gzip && accepts_gzip(request);
    // Each form has a tag of its own, as caches keep both.
    let tag = match is_gzip {
        true => format!("\"{}-gzip\"", file.tag),
        false => format!("\"{}\"", file.tag),
    };
    let mut answer = match (etag::matches(request, &tag), &request.method) {
        (true, _) => etag::not_modified(&tag),
        (false, &Method::HEAD) => Answer::whole(StatusCode::OK, file.media_type, Vec::new()),
        (false, _) => Answer::stream(file.media_type, &app.executor().reads, move |writer| {
            body(file, is_gzip, writer)
        }),
    };
    if answer.status == StatusCode::OK {
        let length = match is_gzip {
            true => file.stored.len(),
            false => file.length,
        };
        answer.set_header("content-length", &length.to_string());
        if is_gzip {
            answer.set_header("content-encoding", "gzip");
        }
    }
    let cache = match file.is_versioned {
        true => KEPT,
        false => ASKED_FOR,
    };
    answer
        .with_header("etag", &tag)
        .with_header("cache-control", cache)
        .with_header("vary", "Accept-Encoding")
}

/// Writes a file piece by piece, so that slow clients of long scripts hold a piece each.
async fn body(
    file: &'static File,
    is_gzip: bool,
    mut writer: BodyWriter,
) -> Result<FinishedBody, Failure> {
    if is_gzip || !file.is_gzip {
        for piece in file.stored.chunks(STREAM_BUFFER) {
            writer.write(piece).await?;
        }
        return Ok(writer.finish());
    }
    let mut plain = file.plain();
    loop {
        let mut piece = plain.by_ref().take(STREAM_BUFFER as u64);
        if piece.read_to_end(writer.buffer())? == 0 {
            return Ok(writer.finish());
        }
        writer.flush_if_full().await?;
    }
}

/// Whether the client takes gzip: by its name or by `*`, unless its quality is 0.
fn accepts_gzip(request: &Request) -> bool {
    let accepted = request.header("accept-encoding").unwrap_or_default();
    let codings = accepted.split(',').map(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let quality = parameters.trim().strip_prefix("q=");
        let quality = quality.map_or(Ok(1.0), |quality| quality.trim().parse::<f32>());
        (name.trim(), quality.is_ok_and(|quality| quality > 0.0))
    });
    let find = |wanted: &str| {
        let mut all = codings.clone();
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let found = find("gzip").or_else(|| find("*"));
    found.is_some_and(|(_, is_taken)| is_taken)
}

fn protected(mut answer: Answer, csp: &Csp) -> Answer {
    if let Some((name, value)) = csp.for_utils() {
        answer.set_header(name, value);
    }
    answer.with_header("x-content-type-options", "nosniff")
}

/// Tells people in front of a program without a console how to get one.
fn missing_console() -> Answer {
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>No console</title>\n\
         <h1>This program has no console</h1>\n\
         <p>It was built without <code>npm</code>, or without a network. Databases are served as always.\n\
         <p>To get the console, install npm, run <code>touch crates/console/fauxton.lock</code> and build again.\n\
         Without a network there, run <code>npm pack fauxton@{VERSION}</code> elsewhere, and build with\n\
         <code>VARVE_FAUXTON=FILE</code>.\n</html>\n"
    );
    let media = "text/html; charset=utf-8";
    Answer::whole(StatusCode::NOT_FOUND, media, page.into_bytes())
        .with_header("cache-control", "no-store")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;

    fn request(path: &str, accepted: &str) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert("accept-encoding", accepted.parse().unwrap());
        let uri = path.parse().unwrap();
        Request::new(Method::GET, &uri, headers, Vec::new()).unwrap()
    }

    #[test]
    fn gzip_is_for_clients_that_accept_it() {
        for (accepted, takes) in [
            ("gzip", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP;q=0.8", true),
            ("*", true),
            ("br, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip;q=0.000, *", false),
            ("gzip; q=x", false),
            ("*;q=0", false),
            ("identity", false),
            ("", false),
        ] {
            assert_eq!(accepts_gzip(&request("/", accepted)), takes, "{accepted}");
        }
    }

    #[test]
    fn the_console_is_one_directory() {
        for (path, claimed) in [
            ("/_utils", true),
            ("/_utils/", true),
            ("/_utils/a", true),
            ("/_utilsx", false),
            ("/_util", false),
            ("/x/_utils/", false),
        ] {
            assert_eq!(claims(&request(path, "gzip")), claimed, "{path}");
        }
    }

    #[test]
    fn a_program_without_files_says_how_to_get_them() {
        let page = protected(missing_console(), &Csp::default());
        assert_eq!(page.status, StatusCode::NOT_FOUND);
        let text = String::from_utf8_lossy(page.whole_body().unwrap());
        assert!(
            text.contains(&format!("npm pack fauxton@{VERSION}")),
            "{text}"
        );
        assert!(page.headers.contains_key("content-security-policy"));
    }
}
