//! One request to one database, with everything its handler needs.

use std::io::Read;
use std::sync::Arc;

use varve_base::ReadMode;
use varve_docdb::{Partition, Snapshot, Viewer};
use varve_json::Value;

use crate::auth::Security;
use crate::couch::access;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::functions::scripts::TimeBudget;
use crate::couch::history;
use crate::couch::partitions;
use crate::couch::replication;
use crate::couch::target::Target;
use crate::couch::users;
use crate::http::{BodyWriter, ContentEncoding, FinishedBody};
use crate::runtime::Pool;
use crate::{Answer, CouchContext, Failure, Request, UserContext};

/// One request of a user who may read the database.
pub struct Call {
    /// The server.
    pub app: Arc<CouchContext>,
    /// The request to be answered.
    pub request: Arc<Request>,
    /// The user who sent it.
    pub user: UserContext,
    /// The database that it addresses.
    pub database: Arc<OpenDatabase>,
    /// Access lists of that database.
    pub security: Security,
    /// Whose documents it reads and writes, in a database with access.
    pub viewer: Viewer,
    /// How the database is read. In [`ReadMode::CachedOnly`] nothing is changed, either.
    pub reads: ReadMode,
    /// The partition that the path names.
    pub partition: Option<Partition>,
    /// Time of the functions that validate edits.
    pub budget: TimeBudget,
}

impl Call {
    /// Opens the database and checks that the user may read it, or the requested part of it.
    ///
    /// # Errors
    /// 404 without such a database; 401 or 403 if the user may not read it.
    pub fn open(
        app: Arc<CouchContext>,
        request: Arc<Request>,
        user: UserContext,
        (name, target): (&str, &Target),
        reads: ReadMode,
    ) -> Result<Call, Failure> {
        let database = app.databases.get_as(name, reads, request.freshness())?;
        let security = match database.documents.snapshot().with_mode(reads).security()? {
            Some(text) => Security::parse(&varve_json::parse_object(&text)?)?,
            None if name == users::USERS => users::default_security(),
            None => Security::default(),
        };
        history::check_reader((&app, &database), (&security, &user), reads)?;
        let viewer = access::viewer(&database, &security, &user);
        let call = Call {
            app,
            request,
            user,
            database,
            security,
            viewer,
            reads,
            partition: None,
            budget: TimeBudget::Full,
        };
        access::check_target(&call, target)?;
        users::check_target(&call, target)?;
        replication::rules::check_target(&call, target)?;
        partitions::check_target(&call, target)?;
        Ok(call)
    }

    /// The same for a thread that other requests wait for, or one that is for long functions.
    pub fn with_budget(self, budget: TimeBudget) -> Call {
        Call { budget, ..self }
    }

    /// The newest commit of the database, to be read as this call may read: with the documents of its user only, where
    /// there is access.
    pub fn snapshot(&self) -> Snapshot {
        let whole = self.database.documents.snapshot().with_mode(self.reads);
        whole.as_seen_by(&self.viewer)
    }

    /// The same commit with the design documents that count for every user.
    pub fn designs(&self) -> Snapshot {
        self.database.designs().with_mode(self.reads)
    }

    /// [`Streams::stream`], in the mode of this call.
    ///
    /// # Errors
    /// Those of [`Streams::stream`].
    pub fn stream<P, F>(&self, content_type: &str, produce: P) -> Result<Answer, Failure>
    where
        P: FnOnce(BodyWriter) -> F,
        F: Future<Output = Result<FinishedBody, Failure>> + Send + 'static,
    {
        self.streams().stream(content_type, produce)
    }

    /// An answer that is sent whole if it is short, and otherwise while it is made. Nothing of it is read twice.
    ///
    /// # Errors
    /// Those of the producer before its first piece; those of [`Streams::stream`].
    pub fn stream_if_long<P, F>(&self, content_type: &str, produce: P) -> Result<Answer, Failure>
    where
        P: FnOnce(BodyWriter) -> F,
        F: Future<Output = Result<FinishedBody, Failure>> + Send + 'static,
    {
        match self.reads {
            ReadMode::Blocking => {
                Answer::stream_if_long(content_type, &self.app.executor().reads, produce)
            }
            ReadMode::CachedOnly => self.stream(content_type, produce),
        }
    }

    /// How bodies are made, for answers that come when this call is over.
    pub fn streams(&self) -> Streams {
        Streams {
            reads: self.reads,
            pool: self.app.executor().reads.clone(),
        }
    }

    /// Refuses users without the right to write documents.
    ///
    /// # Errors
    /// 401 or 403.
    pub fn check_writer(&self) -> Result<(), Failure> {
        self.security.check_writer(&self.user)
    }

    /// Refuses users without the right to change the database itself.
    ///
    /// # Errors
    /// 401 or 403.
    pub fn check_admin(&self) -> Result<(), Failure> {
        self.security.check_admin(&self.user)
    }

    /// The JSON body of a request whose `Content-Type` says that it is JSON.
    ///
    /// # Errors
    /// 415 for another type, 400 for invalid JSON, 413 for values that take more than `[limits] json_body` in memory.
    pub fn json_body(&self) -> Result<Value, Failure> {
        self.request.require_json()?;
        let room = usize::try_from(self.app.settings().limits.json_body);
        let room = room.unwrap_or(usize::MAX);
        Ok(varve_json::parse_bounded(&self.request.body, room)?)
    }

    /// The body that was spooled; empty if it was read before.
    pub fn upload(&self) -> Box<dyn Read> {
        match &self.request.upload {
            Some(upload) => upload.reader(),
            None => Box::new(std::io::empty()),
        }
    }

    /// The body that was spooled, free of its `Content-Encoding`.
    ///
    /// # Errors
    /// 415 for an unknown encoding.
    pub fn plain_upload(&self) -> Result<Box<dyn Read>, Failure> {
        let encoding = self.request.headers.get("content-encoding");
        match encoding.map(|name| ContentEncoding::parse(name.as_bytes())) {
            None => Ok(self.upload()),
            Some(Some(encoding)) => {
                let decoder = encoding.decoder(self.upload());
                decoder.map_err(|error| Failure::internal(error.to_string()))
            }
            Some(None) => Err(Failure::unknown_encoding(ContentEncoding::KNOWN)),
        }
    }

    /// Where a document of this database is found.
    pub fn location(&self, id: &str) -> String {
        let database = crate::couch::names::escape(&self.database.name);
        let document = crate::couch::names::escape(id);
        format!("{}/{database}/{document}", self.request.base())
    }
}

/// How the bodies of one request are made.
#[derive(Clone, Debug)]
pub struct Streams {
    reads: ReadMode,
    pool: Pool,
}

impl Streams {
    /// A 200 whose body is written while it is sent. Without blocking, it is written now, if it is
    /// short.
    ///
    /// # Errors
    /// In [`ReadMode::CachedOnly`], [`Failure::would_block`] for all that goes wrong: a failure of
    /// a body that is being sent cuts the connection, which this one cannot do.
    pub fn stream<P, F>(&self, content_type: &str, produce: P) -> Result<Answer, Failure>
    where
        P: FnOnce(BodyWriter) -> F,
        F: Future<Output = Result<FinishedBody, Failure>> + Send + 'static,
    {
        match self.reads {
            ReadMode::Blocking => Ok(Answer::stream(content_type, &self.pool, produce)),
            ReadMode::CachedOnly => match Answer::short(content_type, produce) {
                Some(Ok(answer)) => Ok(answer),
                Some(Err(_)) | None => Err(Failure::would_block()),
            },
        }
    }
}
