//! The databases of repositories, as pages of these see them. The room of databases lies above this one and gives them.

use crate::Failure;
use std::fmt::Debug;
use varve_repo::Node;

/// A document of people about a changeset: a review, a comment, the result of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remark {
    /// `type` of the document; empty if it has none.
    pub(crate) kind: String,
    pub(crate) author: String,
    pub(crate) date: String,
    /// A word such as `passed` or `approved`.
    pub(crate) state: String,
    pub(crate) text: String,
    /// Only of the schemes `http` and `https`.
    pub(crate) url: Option<String>,
    pub(crate) path: Option<String>,
    /// Number of a line of the file, from 1.
    pub(crate) line: Option<u64>,
}

/// Counts of a repository's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Changesets of each month that has any, in order: year and month of the author's date, and how many.
    pub(crate) months: Vec<(i64, u64, u64)>,
    /// Names with their changesets; the names with the most first.
    pub(crate) authors: Vec<(String, u64)>,
    /// Paths with added and removed lines, those with the most first; none where lines are not counted.
    pub(crate) churn: Vec<(String, u64, u64)>,
    /// Documents that are not counted yet.
    pub(crate) pending: u64,
}

/// The databases of a server's repositories. Readers of a repository may read all that they give of it.
pub(crate) trait RepositoryDatabases: Debug + Send + Sync {
    /// Returns whether a repository is a database now.
    fn is_database(&self, repository: &str) -> bool;

    /// The number of the last change of its database; 0 if there is none.
    ///
    /// # Errors
    /// 500 for a damaged database.
    fn update_seq(&self, repository: &str) -> Result<u64, Failure>;

    /// Documents of people about a changeset in the order of their ids, at most as many as a page shows.
    ///
    /// # Errors
    /// 500 for a damaged database.
    fn remarks(&self, repository: &str, node: &Node) -> Result<Vec<Remark>, Failure>;

    /// Counts of the ready views as their index is now; `None` without a database. The index is brought up to date behind.
    ///
    /// # Errors
    /// 500 for a damaged index.
    fn statistics(&self, repository: &str) -> Result<Option<Statistics>, Failure>;

    /// The number of the last change of its database, if the index of the ready views covers that.
    ///
    /// # Errors
    /// 500 for a damaged index.
    fn counted_seq(&self, repository: &str) -> Result<Option<u64>, Failure>;
}

/// The database of one repository.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepositoryDatabase<'r> {
    databases: &'r dyn RepositoryDatabases,
    repository: &'r str,
}

impl<'r> RepositoryDatabase<'r> {
    /// `None` if the repository is none.
    pub(super) fn of(
        databases: &'r dyn RepositoryDatabases,
        repository: &'r str,
    ) -> Option<RepositoryDatabase<'r>> {
        let is_database = databases.is_database(repository);
        is_database.then_some(RepositoryDatabase {
            databases,
            repository,
        })
    }

    pub(super) fn update_seq(&self) -> Result<u64, Failure> {
        self.databases.update_seq(self.repository)
    }

    pub(super) fn remarks(&self, node: &Node) -> Result<Vec<Remark>, Failure> {
        self.databases.remarks(self.repository, node)
    }

    pub(super) fn statistics(&self) -> Result<Option<Statistics>, Failure> {
        self.databases.statistics(self.repository)
    }

    pub(super) fn counted_seq(&self) -> Result<Option<u64>, Failure> {
        self.databases.counted_seq(self.repository)
    }

    /// The name in addresses of CouchDB's interface.
    pub(super) fn name(&self) -> String {
        varve_history::database_name(self.repository)
    }
}
