//! The changeset that a merge or a rebase takes by itself, and why there is none.

use crate::ui::Abort;
use varve_repo::Rev;
use varve_workdir::MergeDestination;

/// The changeset that was found.
///
/// # Errors
/// The reason why there is none, in Mercurial's words.
pub(crate) fn found_by_merge(found: MergeDestination) -> Result<Rev, Abort> {
    const ALL: &str = "run 'hg heads' to see all heads, specify rev with -r";
    let branch_has = |branch: &[u8], heads: &str| {
        let branch = String::from_utf8_lossy(branch);
        format!("branch '{branch}' has {heads} - please merge with an explicit rev")
    };
    let (message, hint) = match found {
        MergeDestination::Found(rev) => return Ok(rev),
        MergeDestination::Nothing => return Err(Abort::new("nothing to merge")),
        MergeDestination::OnlyUpdate => ("nothing to merge".to_owned(), "use 'hg update' instead"),
        MergeDestination::NotAtHead => (
            "working directory not at a head revision".to_owned(),
            "use 'hg update' or merge with an explicit revision",
        ),
        MergeDestination::SeveralHeads { branch, heads } => (
            branch_has(&branch, &format!("{heads} heads")),
            "run 'hg heads .' to see heads, specify rev with -r",
        ),
        MergeDestination::OneHead { branch } => (branch_has(&branch, "one head"), ALL),
        MergeDestination::AllBookmarked => (
            "heads are bookmarked - please merge with an explicit rev".to_owned(),
            ALL,
        ),
        MergeDestination::SeveralBookmarks => (
            "multiple matching bookmarks to merge - please merge with an explicit rev or bookmark"
                .to_owned(),
            ALL,
        ),
        MergeDestination::NoBookmark => (
            "no matching bookmark to merge - please merge with an explicit rev or bookmark"
                .to_owned(),
            ALL,
        ),
    };
    Err(Abort::new(message).hint(hint))
}

/// The same for a rebase.
///
/// # Errors
/// The reason why there is none, in Mercurial's words.
pub(crate) fn found_by_rebase(found: MergeDestination) -> Result<Rev, Abort> {
    const ALL: &str = "run 'hg heads' to see all heads, specify destination with -d";
    const OF_BRANCH: &str = "run 'hg heads .' to see heads, specify destination with -d";
    let branch_has = |branch: &[u8], heads: &str| {
        let branch = String::from_utf8_lossy(branch);
        format!("branch '{branch}' has {heads} - please rebase to an explicit rev")
    };
    let (message, hint) = match found {
        MergeDestination::Found(rev) => return Ok(rev),
        MergeDestination::Nothing => return Err(Abort::new("nothing to rebase")),
        MergeDestination::OnlyUpdate | MergeDestination::NotAtHead => {
            ("nothing to rebase".to_owned(), "use 'hg update' instead")
        }
        MergeDestination::SeveralHeads { branch, heads } => {
            (branch_has(&branch, &format!("{heads} heads")), OF_BRANCH)
        }
        MergeDestination::OneHead { branch } => (branch_has(&branch, "one head"), ALL),
        MergeDestination::AllBookmarked => (
            "heads are bookmarked - please rebase to an explicit rev".to_owned(),
            ALL,
        ),
        MergeDestination::SeveralBookmarks => (
            "multiple matching bookmarks to rebase - please rebase to an explicit rev or bookmark"
                .to_owned(),
            ALL,
        ),
        MergeDestination::NoBookmark => (
            "no matching bookmark to rebase - please rebase to an explicit rev or bookmark"
                .to_owned(),
            ALL,
        ),
    };
    Err(Abort::new(message).hint(hint))
}
