//! Clone bundles as files: served below the repository's URL, in ranges too.

use crate::hg::find::{ServedRepository, is_plain};
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::settings;
use crate::hg::streams::{SendError, send_file};
use crate::hg::{OpenError, RepoRegistry};
use crate::http::range::{Part, parse_range};
use crate::{Answer, Request};
use hyper::StatusCode;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use varve_base::StorageFile;
use varve_exchange::server::clone_bundles::open_clone_bundle;
use varve_repo::Repository;

/// The path segment between a repository's URL and the name of a bundle.
const SEGMENT: &str = "bundle-cache";

/// Content type of a file without further meaning.
const TYPE: &str = "application/octet-stream";

/// Where the repository's bundles are served.
pub(super) fn location(found: &ServedRepository, request: &Request) -> String {
    format!("{}{}/{SEGMENT}", request.base(), found.path())
}

/// The bundle that the segments behind a repository name, if they do.
pub(super) fn named<'a>(found: &ServedRepository, segments: &'a [String]) -> Option<&'a str> {
    match segments.get(found.depth()..) {
        Some([segment, name]) if segment == SEGMENT => Some(name),
        _ => None,
    }
}

/// Sends a bundle, or the part of it that was asked for.
pub(super) fn send(
    repos: &Arc<RepoRegistry>,
    repository: &Repository,
    (request, config): (&Request, &RepositoryConfig),
    name: &str,
) -> Result<Answer, OpenError> {
    if !request.is_read() {
        let answer = Answer::text(StatusCode::METHOD_NOT_ALLOWED, "it can only be read\n");
        return Ok(answer.with_header("allow", "GET,HEAD"));
    }
    let file = match is_plain(name) {
        true => {
            let (view, cache) = (repository.view()?, settings::bundle_cache(config));
            open_clone_bundle(repository, &view, &cache, name)?
        }
        false => None,
    };
    let Some(file) = file else {
        let missing = format!("there is no clone bundle {name:?}\n");
        return Ok(Answer::text(StatusCode::NOT_FOUND, missing));
    };
    let len = file.len()?;
    let tag = tag_of(file.as_ref(), len);
    if request
        .header("if-none-match")
        .is_some_and(|known| names(known, &tag))
    {
        let answer = Answer::whole(StatusCode::NOT_MODIFIED, "", Vec::new());
        return Ok(answer.with_header("etag", &tag));
    }
    // A part of another file than the one before is of no use.
    let same = request.header("if-range").is_none_or(|known| known == tag);
    let part = parse_range(request.header("range").filter(|_| same), len);
    let mut status = StatusCode::OK;
    let mut range = 0..len;
    if let Part::Bytes(bytes) = part {
        status = StatusCode::PARTIAL_CONTENT;
        range = bytes;
    } else if part == Part::Unsatisfiable {
        let answer = Answer::text(StatusCode::RANGE_NOT_SATISFIABLE, "");
        return Ok(answer.with_header("content-range", &format!("bytes */{len}")));
    }
    let count = range.end - range.start;
    let mut answer = match request.method == hyper::Method::HEAD {
        true => Answer::whole(status, TYPE, Vec::new()),
        false => body(repos, file, range.start, count),
    };
    answer.status = status;
    if status == StatusCode::PARTIAL_CONTENT {
        let words = format!("bytes {}-{}/{len}", range.start, range.end - 1);
        answer.set_header("content-range", &words);
    }
    answer.set_header("content-length", &count.to_string());
    answer.set_header("accept-ranges", "bytes");
    Ok(answer.with_header("etag", &tag))
}

fn body(repos: &RepoRegistry, file: Arc<dyn StorageFile>, start: u64, count: u64) -> Answer {
    let reads = &repos.server().executor.reads;
    Answer::stream(TYPE, reads, move |mut writer| async move {
        send_file(&mut writer, &file, start, count).await?;
        Ok::<_, SendError>(writer.finish())
    })
}

/// Another one for each file that ever had the name.
fn tag_of(file: &dyn StorageFile, len: u64) -> String {
    let found = file.disk_file().and_then(|file| file.metadata().ok());
    let (inode, seconds, rest) = found.map_or((0, 0, 0), |found| {
        (found.ino(), found.mtime(), found.mtime_nsec())
    });
    format!("\"{inode:x}-{seconds:x}-{rest:x}-{len:x}\"")
}

/// Whether a list of tags, as clients send it, has this one.
fn names(list: &str, tag: &str) -> bool {
    let mut tags = list.split(',').map(str::trim);
    tags.any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}
