//! Files of a repository through its database, at any changeset:
//!
//! ```text
//! /hg%2FNAME/_file/PATH?rev=REV       bytes
//! /hg%2FNAME/_tree/PATH?rev=REV       entries of a directory
//! /hg%2FNAME/_log/PATH?rev=REV        changesets that changed a file
//! /hg%2FNAME/_annotate/PATH?rev=REV   the changeset of each line
//! /hg%2FNAME/_diff/REV?path=PATH      changes to the first parent
//! ```

mod file;
mod lines;
mod tree;

use crate::couch::etag;
use crate::history::HistoryDatabases;
use crate::http::blocking;
use crate::{Answer, Failure, Request, UserContext};
use hyper::StatusCode;
use std::sync::Arc;
use varve_history::{DATABASE_PREFIX, repository_name};
use varve_json::{Object, Value};
use varve_repo::{
    BranchHeads, DEFAULT_BRANCH, LookupError, ManifestEntry, RepoError, RepoView, Rev,
};

/// The answers that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource {
    File,
    Tree,
    Log,
    Annotate,
    Diff,
}

impl Resource {
    fn named(segment: &str) -> Option<Resource> {
        Some(match segment {
            "_file" => Resource::File,
            "_tree" => Resource::Tree,
            "_log" => Resource::Log,
            "_annotate" => Resource::Annotate,
            "_diff" => Resource::Diff,
            _ => return None,
        })
    }
}

/// Returns whether the request is for files of a repository.
pub(crate) fn claims(request: &Request) -> bool {
    matches!(
        *request.path(),
        [database, resource, ..]
            if database.starts_with(DATABASE_PREFIX) && Resource::named(resource).is_some()
    )
}

/// Answers a request for files of a repository.
///
/// # Errors
/// 404 if there is no such repository, changeset or file; 401 or 403 for those who may not read the repository.
pub(crate) async fn route(
    history: Arc<HistoryDatabases>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    if !request.is_read() {
        return Err(Failure::method_not_allowed("GET,HEAD"));
    }
    let pool = history.couch.executor().reads.clone();
    blocking(&pool, move || answer(&history, &request, &user)).await
}

fn answer(
    history: &HistoryDatabases,
    request: &Request,
    user: &UserContext,
) -> Result<Answer, Failure> {
    let path = request.path();
    let [database, resource, parts @ ..] = path.as_slice() else {
        return Err(missing("database"));
    };
    let name = repository_name(database).ok_or_else(|| missing("database"))?;
    let settings = history.couch.settings();
    let source = history.hg.history_source(&name, &settings.history);
    let source = source.map_err(Failure::internal)?;
    let source = source.ok_or_else(|| missing("database"))?;
    if !user.is_admin() && !history.hg.may_read(&name, user)? {
        return Err(user.refused("You are not authorized to access this db."));
    }
    let view = source.repository.view().map_err(internal)?;
    let resource = Resource::named(resource);
    let behind = parts.join("/").trim_end_matches('/').to_owned();
    let (rev, path) = match resource {
        Some(Resource::Diff) => {
            let path = request.query("path").unwrap_or_default();
            (Some(behind.as_str()), path.trim_matches('/').to_owned())
        }
        _ => (request.query("rev"), behind.clone()),
    };
    let file = RequestedPath {
        changeset: changeset(&view, rev)?,
        view: &view,
        path,
    };
    match resource {
        Some(Resource::File) => {
            let answer = file::answer(&file, request)?;
            // A file must not act in the name of this server's pages.
            Ok(match settings.csp.for_attachments() {
                Some((name, value)) => answer.with_header(name, value),
                None => answer,
            })
        }
        Some(Resource::Tree) => tagged(request, &tree::listing(&file)?),
        Some(Resource::Log) => tagged(request, &lines::log(&file, request.query("limit"))?),
        Some(Resource::Annotate) => {
            let stop = &history.couch.server().hurry;
            tagged(request, &lines::annotation(&file, stop)?)
        }
        Some(Resource::Diff) => {
            let stop = &history.couch.server().hurry;
            tagged(request, &lines::diff(&file, stop)?)
        }
        None => Err(missing("resource")),
    }
}

/// A path in a changeset.
struct RequestedPath<'v> {
    view: &'v RepoView,
    changeset: Rev,
    /// Without a slash at either end; empty for the root.
    path: String,
}

impl RequestedPath<'_> {
    fn manifest(&self) -> Result<Vec<u8>, Failure> {
        let text = self.view.manifest_text(Some(self.changeset));
        text.map_err(internal)
    }

    /// The file's entry in the text of the manifest.
    fn entry<'t>(&self, manifest: &'t [u8]) -> Result<ManifestEntry<'t>, Failure> {
        let entry = self.view.find_in_manifest(manifest, self.path.as_bytes());
        entry.map_err(internal)?.ok_or_else(|| missing("file"))
    }

    fn node(&self) -> String {
        self.view.changelog().node(self.changeset).to_string()
    }
}

/// The changeset that `rev` names, or the tip of the default branch.
fn changeset(view: &RepoView, rev: Option<&str>) -> Result<Rev, Failure> {
    let node = match rev {
        Some(rev) => view.lookup(rev.as_bytes()).map_err(|error| match error {
            LookupError::Repo(error) => internal(error),
            error => Failure::not_found(error.to_string()),
        })?,
        None => {
            let branches = view.branchmap().map_err(internal)?;
            let default = branches.get(DEFAULT_BRANCH).and_then(BranchHeads::tip);
            let tip = default.or_else(|| view.tip());
            view.changelog().node_or_null(tip)
        }
    };
    let rev = view.changelog().rev(&node);
    rev.ok_or_else(|| missing("changeset"))
}

/// An object as a body with its tag.
fn tagged(request: &Request, object: &Object) -> Result<Answer, Failure> {
    let mut body = Vec::new();
    varve_json::write_object(object, &mut body);
    body.push(b'\n');
    let tag = etag::opaque(&[&body]);
    if etag::matches(request, &tag) {
        return Ok(etag::not_modified(&tag));
    }
    Ok(Answer::json(StatusCode::OK, body).with_header("etag", &tag))
}

fn lossy(bytes: &[u8]) -> Value {
    Value::from(String::from_utf8_lossy(bytes).into_owned())
}

fn internal(error: RepoError) -> Failure {
    Failure::internal(error.to_string())
}

fn missing(what: &str) -> Failure {
    Failure::not_found(format!("There is no such {what}."))
}
