//! Repositories that a real `hg` made, and repositories of ours that it reads.
