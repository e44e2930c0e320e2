//! Bundles, changegroups, stream clones and the wire commands as functions from request to response.
