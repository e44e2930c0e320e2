//! Maps the path behind a database's name to a resource, and lists its methods.

use hyper::Method;

use crate::couch::{partitions, search};
use crate::{Failure, Request};

/// Resource that a path addresses within a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The database itself.
    Database,
    /// Rows of all documents.
    AllDocs,
    /// Several such queries at once.
    AllDocsQueries,
    /// Rows of the design documents.
    DesignDocs,
    /// Several such queries at once.
    DesignDocsQueries,
    /// Rows of the local documents.
    LocalDocs,
    /// Several such queries at once.
    LocalDocsQueries,
    /// Many writes at once.
    BulkDocs,
    /// Many reads at once.
    BulkGet,
    /// The changes feed.
    Changes,
    /// Which revisions are missing, with possible ancestors.
    RevsDiff,
    /// Which revisions are missing.
    MissingRevs,
    /// The security object.
    Security,
    /// How many ancestors each revision keeps.
    RevsLimit,
    /// How the database is compressed.
    Compression,
    /// Forgetting of revisions.
    Purge,
    /// The recorded purges.
    PurgedInfos,
    /// How many purges are remembered.
    PurgedInfosLimit,
    /// Does nothing: every answered write is durable.
    EnsureFullCommit,
    /// Where its shards are, or that of a document.
    Shards(Option<String>),
    SyncShards,
    /// Compaction of the database, or of one design document's views.
    Compact(Option<String>),
    /// Removal of view files that no design document needs.
    ViewCleanup,
    /// Gone since CouchDB 2.
    TempView,
    /// A view's rows: design document (without `_design/`) and view.
    View(String, String),
    /// Several queries of one view at once.
    ViewQueries(String, String),
    /// An update function: design document, function, and perhaps a document.
    Update(String, String, Option<String>),
    /// A path below `_update` that names no function.
    NoUpdate,
    /// A show function: design document, function, and perhaps a document.
    Show(String, String, Option<String>),
    /// A path below `_show` that names no function.
    NoShow,
    /// A list function: design document and function, and the view with its design document, if that is another one.
    List(String, String, Option<String>, String),
    /// A path below `_list` that names no function and view.
    NoList,
    /// A request that another one takes the place of, as this design document says.
    Rewrite(String),
    /// Information on a design document's views.
    ViewInfo(String),
    /// A path that lacks the name of a partition.
    NoPartition,
    /// Counts and sizes of a partition.
    Partition(String),
    /// A resource as far as it is about one partition.
    InPartition(String, Box<Target>),
    /// Documents by selector.
    Find,
    /// How documents by selector would be found.
    Explain,
    /// The json indexes.
    Index,
    /// One of them: design document, kind and name.
    IndexNamed(String, String, String),
    /// Removal of many.
    IndexBulkDelete,
    /// Another path below `_index`.
    NoIndex,
    /// A document, also `_design/…` and `_local/…`.
    Document(String),
    /// An attachment: document and name, which may have slashes.
    Attachment(String, String),
    /// A path of text search, of which there is none.
    Search(search::Service),
    /// A path that begins with `_` and means nothing here.
    Unknown(String),
}

/// More rows than this are not thought to be there at once.
const FEW_ROWS: u64 = 500;
/// Longer documents take a while to be compressed.
const SHORT_DOCUMENT: usize = 16 << 10;

impl Target {
    /// Whether the answer only reads, and hardly more than can be had at once.
    pub fn is_brief(&self, request: &Request) -> bool {
        let reads = request.is_read();
        let is_few = |limit: &str| limit.parse().is_ok_and(|limit: u64| limit <= FEW_ROWS);
        match self {
            Target::Database => reads,
            Target::AllDocs => {
                let skips_few = request.query("skip").is_none_or(is_few);
                reads && skips_few && request.query("limit").is_some_and(is_few)
            }
            Target::Document(_) => {
                let long = ["attachments", "open_revs", "atts_since"];
                reads && long.iter().all(|name| request.query(name).is_none())
            }
            Target::InPartition(_, target) => target.is_brief(request),
            Target::Partition(_) => reads,
            // Many rows would block.
            Target::View(..) => reads,
            Target::Find => request.upload.is_none() && request.body.len() <= SHORT_DOCUMENT,
            _ => false,
        }
    }

    /// Whether it is a query of an index.
    pub fn is_query(&self) -> bool {
        match self {
            Target::View(..) | Target::ViewQueries(..) | Target::List(..) | Target::Find => true,
            Target::InPartition(_, target) => target.is_query(),
            _ => false,
        }
    }

    /// The id of the document that a request writes, if that is short.
    pub fn brief_write(&self, request: &Request) -> Option<&str> {
        let is_short = request.upload.is_none() && request.body.len() <= SHORT_DOCUMENT;
        match self {
            Target::Document(id) if is_short && request.method == Method::PUT => Some(id),
            _ => None,
        }
    }

    /// Whether the request changes the database, or may do so.
    pub fn writes(&self, request: &Request) -> bool {
        match self {
            Target::Update(..) => true,
            Target::InPartition(_, target) => target.writes(request),
            Target::AllDocs
            | Target::AllDocsQueries
            | Target::DesignDocs
            | Target::DesignDocsQueries
            | Target::LocalDocs
            | Target::LocalDocsQueries
            | Target::BulkGet
            | Target::Changes
            | Target::RevsDiff
            | Target::MissingRevs
            | Target::View(..)
            | Target::ViewQueries(..)
            | Target::Show(..)
            | Target::NoShow
            | Target::List(..)
            | Target::NoList
            | Target::Rewrite(_)
            | Target::Find
            | Target::Explain
            | Target::Search(_) => false,
            _ => !request.is_read(),
        }
    }

    /// Reads the decoded segments behind the database's name.
    pub fn parse(segments: &[&str]) -> Target {
        let owned = |text: &str| text.to_owned();
        match *segments {
            [] => Target::Database,
            ["_all_docs"] => Target::AllDocs,
            ["_all_docs", "queries"] => Target::AllDocsQueries,
            ["_design_docs"] => Target::DesignDocs,
            ["_design_docs", "queries"] => Target::DesignDocsQueries,
            ["_local_docs"] => Target::LocalDocs,
            ["_local_docs", "queries"] => Target::LocalDocsQueries,
            ["_bulk_docs"] => Target::BulkDocs,
            ["_bulk_get"] => Target::BulkGet,
            ["_changes"] => Target::Changes,
            ["_revs_diff"] => Target::RevsDiff,
            ["_missing_revs"] => Target::MissingRevs,
            ["_security"] => Target::Security,
            ["_revs_limit"] => Target::RevsLimit,
            ["_compression"] => Target::Compression,
            ["_purge"] => Target::Purge,
            ["_purged_infos"] => Target::PurgedInfos,
            ["_purged_infos_limit"] => Target::PurgedInfosLimit,
            ["_ensure_full_commit"] => Target::EnsureFullCommit,
            ["_shards"] => Target::Shards(None),
            ["_shards", id] => Target::Shards(Some((*id).to_owned())),
            ["_sync_shards"] => Target::SyncShards,
            ["_compact"] => Target::Compact(None),
            ["_compact", design] => Target::Compact(Some(owned(design))),
            ["_view_cleanup"] => Target::ViewCleanup,
            ["_temp_view"] => Target::TempView,
            ["_partition"] => Target::NoPartition,
            ["_partition", partition] => Target::Partition(owned(partition)),
            // A partition has no partitions.
            ["_partition", partition, "_partition", ..] => Target::InPartition(
                owned(partition),
                Box::new(Target::Unknown("_partition".to_owned())),
            ),
            ["_partition", partition, ref rest @ ..] => {
                Target::InPartition(owned(partition), Box::new(Target::parse(rest)))
            }
            ["_design", design, ref rest @ ..] => Target::of_design(design, rest),
            ["_find"] => Target::Find,
            ["_explain"] => Target::Explain,
            ["_index"] => Target::Index,
            ["_index", "_bulk_delete"] => Target::IndexBulkDelete,
            ["_index", design, kind, name] | ["_index", "_design", design, kind, name] => {
                Target::IndexNamed(owned(design), owned(kind), owned(name))
            }
            ["_index", ..] => Target::NoIndex,
            ["_search_cleanup"] => Target::Search(search::Service::Clouseau),
            ["_nouveau_cleanup"] => Target::Search(search::Service::Nouveau),
            ["_local", name, ref attachment @ ..] => document(format!("_local/{name}"), attachment),
            [id, ref attachment @ ..] => document(owned(id), attachment),
        }
    }

    /// Reads the segments behind a design document's name.
    fn of_design(name: &str, rest: &[&str]) -> Target {
        let owned = |text: &str| text.to_owned();
        let design = name.to_owned();
        match *rest {
            ["_view", view] => Target::View(design, owned(view)),
            ["_view", view, "queries"] => Target::ViewQueries(design, owned(view)),
            ["_update"] => Target::NoUpdate,
            ["_update", function] => Target::Update(design, owned(function), None),
            ["_update", function, ref id @ ..] => {
                Target::Update(design, owned(function), Some(id.join("/")))
            }
            ["_show", ref named @ ..] => match *named {
                [] => Target::NoShow,
                [function] => Target::Show(design, owned(function), None),
                [function, ref id @ ..] => {
                    Target::Show(design, owned(function), Some(id.join("/")))
                }
            },
            ["_list", ref named @ ..] => match *named {
                [function, view] => Target::List(design, owned(function), None, owned(view)),
                [function, other, view] => {
                    let other = Some(owned(other));
                    Target::List(design, owned(function), other, owned(view))
                }
                _ => Target::NoList,
            },
            ["_rewrite", ..] => Target::Rewrite(design),
            ["_info"] => Target::ViewInfo(design),
            ["_search" | "_search_info" | "_search_disk_size", ..] => {
                Target::Search(search::Service::Clouseau)
            }
            ["_nouveau" | "_nouveau_info", ..] => Target::Search(search::Service::Nouveau),
            _ => document(format!("_design/{name}"), rest),
        }
    }

    /// Refuses a method that the target does not know.
    ///
    /// # Errors
    /// 405 with the methods that it knows.
    pub fn check_method(&self, method: &Method) -> Result<(), Failure> {
        if let (Target::Partition(name), &Method::POST) = (self, method) {
            partitions::check_post(name)?;
        }
        let allowed = self.allowed();
        // CouchDB does not name these.
        let is_more = matches!(self, Target::List(..)) && method == Method::OPTIONS;
        // HEAD is answered as GET, named or not.
        let asked = match *method == Method::HEAD {
            true => "GET",
            false => method.as_str(),
        };
        if is_more || allowed.split(',').any(|known| known == asked) {
            return Ok(());
        }
        Err(Failure::method_not_allowed(allowed))
    }

    /// In the order in which CouchDB names them.
    fn allowed(&self) -> &'static str {
        match self {
            // PUT makes the database and is answered before there is one to have targets.
            Target::Database => "DELETE,GET,HEAD,POST",
            Target::AllDocs
            | Target::DesignDocs
            | Target::LocalDocs
            | Target::Changes
            | Target::View(..) => "GET,HEAD,POST",
            Target::BulkDocs
            | Target::BulkGet
            | Target::RevsDiff
            | Target::MissingRevs
            | Target::AllDocsQueries
            | Target::DesignDocsQueries
            | Target::LocalDocsQueries
            | Target::ViewQueries(..)
            | Target::EnsureFullCommit
            | Target::SyncShards
            | Target::Purge
            | Target::Compact(_)
            | Target::ViewCleanup
            | Target::Find
            | Target::Explain
            | Target::IndexBulkDelete
            | Target::TempView => "POST",
            Target::Update(..) | Target::NoUpdate => "GET,HEAD,POST,PUT",
            Target::Show(..) | Target::NoShow | Target::Rewrite(_) => {
                "COPY,DELETE,GET,HEAD,OPTIONS,POST,PUT"
            }
            Target::List(..) | Target::NoList => "GET,POST,HEAD",
            Target::Index => "GET,POST",
            Target::NoIndex => "DELETE,GET,HEAD,POST,PUT,COPY,OPTIONS",
            Target::IndexNamed(..) => "DELETE",
            Target::Security
            | Target::RevsLimit
            | Target::Compression
            | Target::PurgedInfosLimit => "PUT,GET",
            Target::InPartition(_, target) => target.allowed(),
            // A request of any method is answered with the missing part.
            Target::NoPartition => "COPY,DELETE,GET,HEAD,POST,PUT",
            Target::ViewInfo(_)
            | Target::PurgedInfos
            | Target::Shards(_)
            | Target::Partition(_) => "GET",
            Target::Document(_) | Target::Unknown(_) | Target::Search(_) => {
                "DELETE,GET,HEAD,POST,PUT,COPY"
            }
            Target::Attachment(..) => "DELETE,GET,HEAD,PUT",
        }
    }
}

fn document(id: String, attachment: &[&str]) -> Target {
    let reserved = id.starts_with("_design/") || id.starts_with("_local/");
    if id.starts_with('_') && !reserved {
        return Target::Unknown(id);
    }
    if attachment.is_empty() {
        return Target::Document(id);
    }
    Target::Attachment(id, attachment.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::StatusCode;

    #[test]
    fn design_and_local_documents_come_with_one_segment_or_two() {
        let design = Target::Document("_design/t".to_owned());
        assert_eq!(Target::parse(&["_design", "t"]), design);
        assert_eq!(Target::parse(&["_design/t"]), design);
        let local = Target::Document("_local/a/b".to_owned());
        assert_eq!(Target::parse(&["_local", "a/b"]), local);
        assert_eq!(Target::parse(&["_bad"]), Target::Unknown("_bad".to_owned()));
        assert_eq!(
            Target::parse(&["_design"]),
            Target::Unknown("_design".to_owned())
        );
    }

    #[test]
    fn an_attachment_may_have_slashes_in_its_name() {
        let attachment = |id: &str, name: &str| Target::Attachment(id.to_owned(), name.to_owned());
        assert_eq!(Target::parse(&["d", "a", "b c"]), attachment("d", "a/b c"));
        let of_design = attachment("_design/t", "index.html");
        assert_eq!(Target::parse(&["_design", "t", "index.html"]), of_design);
        assert_eq!(Target::parse(&["_design/t", "index.html"]), of_design);
    }

    #[test]
    fn a_partition_has_resources_of_a_database_but_no_partitions() {
        let inner = |target| Target::InPartition("p".to_owned(), Box::new(target));
        let parse = |rest: &[&str]| Target::parse(&[&["_partition", "p"], rest].concat());
        assert_eq!(parse(&[]), Target::Partition("p".to_owned()));
        assert_eq!(parse(&["_all_docs"]), inner(Target::AllDocs));
        let nested = Target::Unknown("_partition".to_owned());
        assert_eq!(parse(&["_partition", "p", "_all_docs"]), inner(nested));
        assert_eq!(Target::parse(&["_partition"]), Target::NoPartition);
    }

    #[test]
    fn lists_count_as_queries_and_partitions_as_what_is_asked_of_them() {
        for path in [
            &["_design", "d", "_list", "f", "v"][..],
            &["_partition", "p", "_design", "d", "_view", "v"],
            &["_find"],
        ] {
            assert!(Target::parse(path).is_query(), "{path:?}");
        }
        for path in [&["_design", "d", "_show", "f"][..], &["_partition", "p"]] {
            assert!(!Target::parse(path).is_query(), "{path:?}");
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_ones() {
        let refused = Target::BulkDocs.check_method(&Method::GET).unwrap_err();
        assert_eq!(
            (refused.status(), refused.reason.as_str()),
            (StatusCode::METHOD_NOT_ALLOWED, "Only POST allowed")
        );
        assert!(
            Target::parse(&["d"])
                .check_method(&Method::from_bytes(b"COPY").unwrap())
                .is_ok()
        );
    }
}
