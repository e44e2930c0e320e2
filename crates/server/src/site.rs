//! What is served: a folder with repositories and databases, or one repository.

use crate::auth::Login;
use crate::hg::Shelf;
use crate::house::House;
use crate::{App, Failure, Request, UserContext, couch, hg};
use hyper::header::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

/// Largest body that a request without a login may send: arguments of reads, no data.
const ANONYMOUS_BODY: u64 = 8 << 20;

/// Where the answers of a server come from.
#[derive(Clone, Debug)]
pub(crate) enum Site {
    /// Repositories, databases, and the server itself as a resource.
    Folder(Arc<App>),
    /// One repository, whose users have no names.
    Repository(Arc<Shelf>),
}

impl Site {
    /// What every server has.
    pub(crate) fn house(&self) -> &House {
        match self {
            Site::Folder(app) => &app.house,
            Site::Repository(shelf) => shelf.house(),
        }
    }

    /// Finds the user of a request.
    ///
    /// # Errors
    /// 401 or 400 for a login that is none.
    pub(crate) async fn login(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        match self {
            Site::Folder(app) => app.auth.login(headers).await,
            Site::Repository(_) => Ok(Login::default()),
        }
    }

    /// Bytes that a request of this user may have as its body.
    pub(crate) fn body_limit(&self, user: &UserContext) -> u64 {
        match (self, &user.name) {
            (Site::Folder(app), Some(_)) => app.settings().max_request_size,
            (Site::Folder(app), None) => app.settings().max_request_size.min(ANONYMOUS_BODY),
            (Site::Repository(_), _) => ANONYMOUS_BODY,
        }
    }

    /// How long a body that is to be read as it arrives may be, of a request whose body may usually
    /// have `limit` bytes; `None` for one that is to be whole before it is answered.
    pub(crate) fn upload_limit(&self, request: &Request, limit: u64) -> Option<u64> {
        let is_about_hg = match self {
            Site::Folder(_) => hg::claims(&request.raw_path),
            Site::Repository(_) => true,
        };
        if is_about_hg {
            return hg::reads_while_arriving(&request.raw_query).then_some(u64::MAX);
        }
        couch::reads_while_arriving(request).then_some(limit)
    }

    /// Waits, but not longer than this, for what works in the background to be undone.
    pub(crate) fn wait_for_end(&self, limit: Duration) {
        if let Site::Folder(app) = self {
            app.databases.end_builds();
            app.compactor.wait_for_end(limit);
        }
    }

    /// To be called when nothing works any more.
    pub(crate) fn close(&self) {
        if let Site::Folder(app) = self {
            app.databases.seal_all();
        }
    }

    /// Lets feeds and what works in the background end.
    pub(crate) fn stop(&self) {
        match self {
            Site::Folder(app) => app.stop(),
            Site::Repository(shelf) => shelf.stop(),
        }
        self.house().stop();
    }
}
