//! Line diff into Mercurial's binary patches, folding and application of patches; pure functions.
