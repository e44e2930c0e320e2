//! Databases: documents, revision trees, attachments, snapshots, changes.
