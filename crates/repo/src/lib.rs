//! A Mercurial repository: requirements, store, changelog, manifest, filelogs, phases, bookmarks.
