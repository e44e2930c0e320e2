//! One request to one database, with everything its handler needs.

use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use varve_json::Value;

use crate::auth::Security;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::target::Target;
use crate::couch::users;
use crate::{CouchContext, Failure, Request, UserContext};

/// One request by somebody who may read the database.
pub struct Call {
    /// The server.
    pub app: Arc<CouchContext>,
    /// What was asked.
    pub request: Arc<Request>,
    /// By whom.
    pub user: UserContext,
    /// Of which database.
    pub database: Arc<OpenDatabase>,
    /// Who may do what there.
    pub security: Security,
}

impl Call {
    /// Opens the database and checks that the user may read it, or what is asked for of it.
    ///
    /// # Errors
    /// 404 without such a database; 401 or 403 if the user may not read it.
    pub fn open(
        app: Arc<CouchContext>,
        request: Arc<Request>,
        user: UserContext,
        name: &str,
        target: &Target,
    ) -> Result<Call, Failure> {
        let database = app.databases.get(name)?;
        let security = match database.documents.snapshot().security()? {
            Some(text) => Security::parse(&varve_json::parse_object(&text)?)?,
            None if name == users::USERS => users::default_security(),
            None => Security::default(),
        };
        security.check_reader(&user)?;
        let call = Call {
            app,
            request,
            user,
            database,
            security,
        };
        users::check_target(&call, target)?;
        Ok(call)
    }

    /// Refuses those who may not write documents.
    ///
    /// # Errors
    /// 401 or 403.
    pub fn check_writer(&self) -> Result<(), Failure> {
        self.security.check_writer(&self.user)
    }

    /// Refuses those who may not change the database itself.
    ///
    /// # Errors
    /// 401 or 403.
    pub fn check_admin(&self) -> Result<(), Failure> {
        self.security.check_admin(&self.user)
    }

    /// The JSON body of a request whose `Content-Type` says that it is JSON.
    ///
    /// # Errors
    /// 415 for another type, 400 for what is no JSON.
    pub fn json_body(&self) -> Result<Value, Failure> {
        self.request.require_json()?;
        Ok(varve_json::parse(&self.request.body)?)
    }

    /// The body as it arrives. Nothing, if somebody has taken it.
    pub fn upload(&self) -> Box<dyn Read> {
        match &self.request.upload {
            Some(upload) => Box::new(upload.reader()),
            None => Box::new(std::io::empty()),
        }
    }

    /// The body as it arrives, free of its `Content-Encoding`.
    ///
    /// # Errors
    /// 415 for an unknown encoding.
    pub fn plain_upload(&self) -> Result<Box<dyn Read>, Failure> {
        match self.request.header("content-encoding") {
            None | Some("identity") => Ok(self.upload()),
            Some("gzip") => Ok(Box::new(MultiGzDecoder::new(self.upload()))),
            Some(_) => Err(Failure::unknown_encoding()),
        }
    }

    /// Where a document of this database is found.
    pub fn location(&self, id: &str) -> String {
        let database = crate::couch::names::escape(&self.database.name);
        let document = crate::couch::names::escape(id);
        format!("{}/{database}/{document}", self.request.base())
    }
}
