//! Reasons to refuse a replication.

/// A replication request is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicateError {
    /// `source` or `target` is missing.
    #[error("Missing replicator database")]
    NoEndpoint,
    /// `source` or `target` is the name of a database. As in CouchDB 3, only URLs are taken.
    #[error("local_endpoints_not_supported")]
    LocalEndpoint,
    /// The URL of an endpoint or a proxy has no host, or a protocol that the settings do not allow.
    #[error("{role} has an invalid url")]
    Url {
        /// `endpoint` or `proxy`.
        role: &'static str,
    },
    /// A parameter has a value of the wrong kind.
    #[error("parameter `{name}` must be {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Kind of value that is expected, with its article.
        expected: &'static str,
    },
    /// A header that HTTP does not allow.
    #[error("invalid header {name:?}")]
    Header {
        /// Name of the header.
        name: String,
    },
    /// More than one of the ways to choose documents.
    #[error("`doc_ids`,`filter`,`selector` are mutually exclusive")]
    Exclusive,
    /// A filter that is neither built in nor `DESIGN/NAME`.
    #[error("Invalid filter. Must match `ddocname/filtername`.")]
    Filter,
    /// `filter: "_view"` without a view.
    #[error("Invalid `view` parameter.")]
    View,
    /// `proxy` beside `source_proxy` or `target_proxy`.
    #[error("`proxy` is mutually exclusive with `{name}`")]
    Proxies {
        /// The other one.
        name: &'static str,
    },
}
