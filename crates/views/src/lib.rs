//! View indexes: building, reduces and queries.
