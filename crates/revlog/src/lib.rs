//! Mercurial's revlog: index and data files, delta chains, reading and appending revisions.
