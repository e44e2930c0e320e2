//! Interface between the listener and the handlers of requests.

use crate::http::{AccessLog, Answer, Failure, Mount, Request, TrustPolicy};
use crate::runtime::{RequestClass, ServerContext};
use hyper::header::HeaderMap;
use std::sync::Arc;

/// Finds the user of a request and answers it.
pub(crate) trait Handler: Clone + Send + Sync + 'static {
    /// A user, and how they proved it.
    type Login: Send + Sync;

    /// The name of a user who has logged in.
    fn user_name(login: &Self::Login) -> Option<&str>;

    /// Finds the user of a request. One that another server has forwarded gets the address of its client.
    ///
    /// # Errors
    /// 401 or 400 for a login that is none, 403 for one that no server of the store has forwarded.
    fn login(
        &self,
        request: &mut Request,
    ) -> impl Future<Output = Result<Self::Login, Failure>> + Send;

    /// The most bytes of body that this request may have, and how the body is read.
    fn body_plan(&self, request: &Request, login: &Self::Login) -> BodyPlan;

    /// Refuses a request before its body is read. Not asked for short bodies: answering them does it.
    ///
    /// # Errors
    /// Any [`Failure`] that answering would have for these rights.
    fn check_rights(
        &self,
        request: &Request,
        login: &Self::Login,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Which limit a request counts against.
    fn class(&self, request: &Request) -> RequestClass;

    /// Answers a request; failures are answers too.
    fn answer(&self, request: Request, login: Self::Login) -> impl Future<Output = Answer> + Send;

    /// The database or repository that a path is about, for logs and metrics.
    fn subject<'p>(&self, path: &'p str) -> Subject<'p>;

    /// Whether bodies are compressed for clients that accept it.
    fn compresses_answers(&self) -> bool;

    /// Whether a `+` in this path is a space.
    fn reads_plus_as_space(&self, path: &str) -> bool;

    /// Takes headers out of an answer to a client that would do with few, and hides the server's version if it is to be
    /// hidden.
    fn finish_headers(&self, wishes_few: bool, headers: &mut HeaderMap);

    /// Whether answers carry the headers that CouchDB's clients know.
    fn answers_as_couchdb(&self) -> bool;

    /// Ends feeds, and background work that no request waits for.
    fn stop(&self);
}

/// Resource that a request addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject<'p> {
    /// A database, by its name as it stands in the path.
    Database(&'p str),
    /// A repository, by the path below `/hg/`, which may go on behind the repository's name.
    Repository(&'p str),
    /// The server itself.
    Server,
}

/// How the body of a request is read, and its most bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyPlan {
    /// The body is in memory before the request is answered.
    Whole(u64),
    /// The handler reads the body while it arrives.
    WhileArriving(u64),
}

/// State shared by the connections of one listener.
#[derive(Debug)]
pub(crate) struct HttpContext {
    pub(crate) server: Arc<ServerContext>,
    /// The path below which everything is.
    pub(crate) mount: Mount,
    pub(crate) access: Option<Arc<AccessLog>>,
    pub(crate) trust: TrustPolicy,
}
