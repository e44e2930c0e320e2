//! The state of the working copy: parents, branch, active bookmark, changed files.

use crate::arguments::Matches;
use crate::context::Repo;
use crate::ui::{Abort, short_hex};
use varve_base::storage::read_if_there;
use varve_config::hgrc::Hgrc;
use varve_lang::patterns::Matcher;
use varve_repo::{DEFAULT_BRANCH, Node, Phase, RepoError, Rev};
use varve_workdir::{Dirstate, IgnoreFiles, Status, StatusLists, StatusRequest, working_status};

/// `phases.new-commit`; `None` for a value that names no phase.
pub(crate) fn new_commit_phase(config: &Hgrc) -> Option<Phase> {
    match config.get("phases", "new-commit") {
        None | Some(b"draft" | b"1") => Some(Phase::Draft),
        Some(b"secret" | b"2") => Some(Phase::Secret),
        Some(b"public" | b"0") => Some(Phase::Public),
        Some(_) => None,
    }
}

impl Repo {
    /// Parents of the working copy that are in the repository; none for the null revision.
    pub fn working_parents(&mut self) -> Result<Vec<Rev>, Abort> {
        if self.ignores_working_copy() {
            return Ok(Vec::new());
        }
        let view = self.view()?;
        let mut known = Vec::new();
        for node in view.working_parents()? {
            // Another process may have committed since the view was read.
            let rev = match view.changelog().rev(&node) {
                Some(rev) => Ok(Some(rev)),
                None => view.newest_known_ancestor(&node),
            };
            known.extend(rev.map_err(|error| match error {
                RepoError::MissingNode { node, .. } => {
                    Abort::new(format!("unknown working parent {}!", short_hex(&node)))
                }
                other => other.into(),
            })?);
        }
        Ok(known)
    }

    /// The branch of the next commit.
    pub fn working_branch(&mut self) -> Result<Vec<u8>, Abort> {
        let text = self.control_file("branch")?;
        Ok(match text.trim_ascii() {
            [] => DEFAULT_BRANCH.to_vec(),
            branch => branch.to_vec(),
        })
    }

    /// The bookmark that moves with the next commit, if it is there.
    pub fn active_bookmark(&mut self) -> Result<Option<Vec<u8>>, Abort> {
        let text = self.control_file("bookmarks.current")?;
        let name = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = name.to_vec();
        let exists = self.view()?.bookmarks().contains_key(&name);
        Ok(exists.then_some(name))
    }

    /// The other side of a merge whose conflicts wait for the user.
    pub fn merge_parent(&mut self) -> Result<Option<Node>, Abort> {
        Ok(varve_workdir::conflicting_side(&self.repository()?)?)
    }

    fn control_file(&mut self, name: &str) -> Result<Vec<u8>, Abort> {
        let repository = self.repository()?;
        let path = repository.root().join(".hg").join(name);
        let text = read_if_there(repository.storage().as_ref(), &path)?;
        Ok(text.unwrap_or_default())
    }

    /// `12:0123456789ab`, with `--debug` too.
    pub(crate) fn rev_and_hex(&mut self, rev: Rev) -> Result<String, Abort> {
        let node = self.view()?.changelog().node(rev);
        Ok(format!("{}:{}", rev.0, short_hex(&node)))
    }
}

impl Repo {
    /// Stops a command that `-S` would let look into subrepositories, if there are any.
    pub fn refuse_subrepositories(&self, matches: &Matches) -> Result<(), Abort> {
        if matches.flag("subrepos") && self.root()?.join(".hgsub").exists() {
            return Err(Abort::new("subrepositories are not supported"));
        }
        Ok(())
    }

    /// Tracked files that are not as in the first parent.
    pub fn working_changes(&mut self) -> Result<Status, Abort> {
        self.working_status(StatusLists::default())
    }

    /// The same with the further lists that `listing` asks for.
    pub fn working_status(&mut self, listing: StatusLists) -> Result<Status, Abort> {
        let repository = self.repository()?;
        let dirstate = Dirstate::read(&repository)?;
        let files = IgnoreFiles::read(repository.root(), &[])?;
        let request = StatusRequest {
            repository: &repository,
            dirstate: &dirstate,
            matcher: &Matcher::everything(),
            ignore: &files.ignore,
            listing,
            stop: &self.stop,
        };
        Ok(working_status(&request)?.status)
    }
}
