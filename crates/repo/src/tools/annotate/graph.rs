//! The revisions of files that one file descends from.

use super::{AnnotateStart, StoredFile};
use crate::format::{FileText, RepoError};
use crate::read::content::existing;
use crate::read::{Ancestors, FileRevision, RepoView};
use std::collections::HashMap;
use varve_revlog::{Rev, Revlog};

/// A revision of a file and where it comes from.
#[derive(Debug)]
pub(super) struct Version {
    pub path: Vec<u8>,
    /// `None` for the working copy.
    pub changeset: Option<Rev>,
    /// Index into [`Graph::filelogs`] and the revision there; `None` for the working copy.
    pub stored: Option<(usize, Rev)>,
    /// Places in [`Graph::versions`]; the last parent is the first one here.
    pub parents: Vec<usize>,
    /// Whether its parents are being looked at.
    open: bool,
}

/// All that one file descends from. The first version is the file itself.
#[derive(Debug)]
pub(super) struct Graph {
    pub filelogs: Vec<Revlog>,
    pub versions: Vec<Version>,
    /// Places of all versions, each behind its parents.
    pub order: Vec<usize>,
}

/// A version with parents that are still to be visited, the last one first.
struct Frame {
    version: usize,
    parents: Vec<Origin>,
}

/// A revision that a version comes from; its changeset is searched from `from` on.
#[derive(Clone, Copy)]
struct Origin {
    filelog: usize,
    rev: Rev,
    from: Rev,
}

struct Walk<'v> {
    view: &'v RepoView,
    follow: bool,
    history: Ancestors<'v>,
    /// Paths of the filelogs.
    paths: Vec<Vec<u8>>,
    by_path: HashMap<Vec<u8>, usize>,
    known: HashMap<(usize, Rev), usize>,
    graph: Graph,
}

impl Graph {
    /// Looks at indexes, and at the texts of revisions that may be copies.
    pub fn of(view: &RepoView, start: &AnnotateStart, follow: bool) -> Result<Graph, RepoError> {
        let heads: Vec<Rev> = match start {
            AnnotateStart::Stored(file) => vec![file.changeset],
            AnnotateStart::Working { parents, .. } => {
                parents.iter().map(|file| file.changeset).collect()
            }
        };
        let mut walk = Walk {
            view,
            follow,
            history: Ancestors::new(view.changelog(), &heads),
            paths: Vec::new(),
            by_path: HashMap::new(),
            known: HashMap::new(),
            graph: Graph {
                filelogs: Vec::new(),
                versions: Vec::new(),
                order: Vec::new(),
            },
        };
        let frame = walk.begin(start)?;
        walk.run(frame)?;
        Ok(walk.graph)
    }
}

impl Walk<'_> {
    fn begin(&mut self, start: &AnnotateStart) -> Result<Frame, RepoError> {
        match start {
            AnnotateStart::Stored(file) => {
                let origin = self.origin(file)?;
                self.enter(origin)
            }
            AnnotateStart::Working { path, parents } => {
                self.graph.versions.push(Version {
                    path: path.clone(),
                    changeset: None,
                    stored: None,
                    parents: Vec::new(),
                    open: true,
                });
                let followed = parents
                    .iter()
                    .filter(|parent| self.follow || parent.path == *path);
                let followed: Vec<StoredFile> = followed.cloned().collect();
                let parents = followed.iter().map(|parent| self.origin(parent));
                Ok(Frame {
                    version: 0,
                    parents: parents.collect::<Result<_, _>>()?,
                })
            }
        }
    }

    fn origin(&mut self, file: &StoredFile) -> Result<Origin, RepoError> {
        let filelog = self.filelog(&file.path)?;
        let rev = existing(&self.graph.filelogs[filelog], "revision", &file.node)?;
        Ok(Origin {
            filelog,
            rev,
            from: file.changeset,
        })
    }

    fn filelog(&mut self, path: &[u8]) -> Result<usize, RepoError> {
        if let Some(known) = self.by_path.get(path) {
            return Ok(*known);
        }
        let place = self.paths.len();
        self.graph.filelogs.push(self.view.filelog(path)?);
        self.paths.push(path.to_vec());
        self.by_path.insert(path.to_vec(), place);
        Ok(place)
    }

    /// Depth first. Which child a revision is reached from first decides from where its changeset
    /// is searched, and the last parent goes first, as in Mercurial.
    fn run(&mut self, first: Frame) -> Result<(), RepoError> {
        let mut frames = vec![first];
        while let Some(frame) = frames.last_mut() {
            let version = frame.version;
            let Some(origin) = frame.parents.pop() else {
                self.graph.versions[version].open = false;
                self.graph.order.push(version);
                frames.pop();
                continue;
            };
            let known = self.known.get(&(origin.filelog, origin.rev)).copied();
            let parent = match known {
                // Only damaged metadata can make a file a copy of its own descendant.
                Some(known) if self.graph.versions[known].open => continue,
                Some(known) => known,
                None => {
                    let frame = self.enter(origin)?;
                    let parent = frame.version;
                    frames.push(frame);
                    parent
                }
            };
            self.graph.versions[version].parents.push(parent);
        }
        Ok(())
    }

    fn enter(&mut self, origin: Origin) -> Result<Frame, RepoError> {
        let Origin { filelog, rev, from } = origin;
        let path = self.paths[filelog].clone();
        let file = FileRevision {
            path: &path,
            filelog: &self.graph.filelogs[filelog],
            rev,
        };
        let changeset = self
            .view
            .introducing_changeset(file, &mut self.history, from)?;
        let changeset = changeset.unwrap_or(from);
        let place = self.graph.versions.len();
        self.known.insert((filelog, rev), place);
        self.graph.versions.push(Version {
            path,
            changeset: Some(changeset),
            stored: Some((filelog, rev)),
            parents: Vec::new(),
            open: true,
        });
        Ok(Frame {
            version: place,
            parents: self.parents(filelog, rev, changeset)?,
        })
    }

    fn parents(&mut self, filelog: usize, rev: Rev, from: Rev) -> Result<Vec<Origin>, RepoError> {
        let stored = self.graph.filelogs[filelog].parents(rev);
        let mut parents = Vec::new();
        // A copy has the null revision as its first parent.
        if self.follow && stored[0].is_none() {
            let text = self.graph.filelogs[filelog].text(rev)?;
            if let Some((source, node)) = FileText::parse(&text).copied_from {
                let filelog = self.filelog(source)?;
                let rev = existing(&self.graph.filelogs[filelog], "revision", &node)?;
                parents.push(Origin { filelog, rev, from });
            }
        }
        let stored = stored.into_iter().flatten();
        parents.extend(stored.map(|rev| Origin { filelog, rev, from }));
        Ok(parents)
    }
}
