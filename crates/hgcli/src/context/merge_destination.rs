//! The changeset that a merge or a rebase takes by itself, and why there is none.

use crate::ui::Abort;
use varve_repo::Rev;
use varve_revset::ChosenDestination;
use varve_workdir::MergeDestination;

/// Words of a command in the reasons.
struct RefusalWords {
    verb: &'static str,
    with_an: &'static str,
    option: &'static str,
}

const OF_MERGE: RefusalWords = RefusalWords {
    verb: "merge",
    with_an: "merge with an",
    option: "specify rev with -r",
};
const OF_REBASE: RefusalWords = RefusalWords {
    verb: "rebase",
    with_an: "rebase to an",
    option: "specify destination with -d",
};

/// The changeset that was found for a command.
///
/// # Errors
/// The reason why there is none, in Mercurial's words.
pub(crate) fn found_destination(
    of: ChosenDestination,
    found: MergeDestination,
) -> Result<Rev, Abort> {
    let RefusalWords {
        verb,
        with_an,
        option,
    } = match of {
        ChosenDestination::Merge => OF_MERGE,
        ChosenDestination::Rebase => OF_REBASE,
    };
    let nothing = format!("nothing to {verb}");
    let all_heads = format!("run 'hg heads' to see all heads, {option}");
    let branch_has = |branch: &[u8], heads: &str| {
        let branch = String::from_utf8_lossy(branch);
        format!("branch '{branch}' has {heads} - please {with_an} explicit rev")
    };
    let (message, hint) = match found {
        MergeDestination::Found(rev) => return Ok(rev),
        MergeDestination::Nothing => return Err(Abort::new(nothing)),
        MergeDestination::NotAtHead if of == ChosenDestination::Merge => (
            "working directory not at a head revision".to_owned(),
            "use 'hg update' or merge with an explicit revision".to_owned(),
        ),
        MergeDestination::OnlyUpdate | MergeDestination::NotAtHead => {
            (nothing, "use 'hg update' instead".to_owned())
        }
        MergeDestination::SeveralHeads { branch, heads } => (
            branch_has(&branch, &format!("{heads} heads")),
            format!("run 'hg heads .' to see heads, {option}"),
        ),
        MergeDestination::OneHead { branch } => (branch_has(&branch, "one head"), all_heads),
        MergeDestination::AllBookmarked => (
            format!("heads are bookmarked - please {with_an} explicit rev"),
            all_heads,
        ),
        MergeDestination::SeveralBookmarks => (
            format!(
                "multiple matching bookmarks to {verb} - please {with_an} explicit rev or bookmark"
            ),
            all_heads,
        ),
        MergeDestination::NoBookmark => (
            format!("no matching bookmark to {verb} - please {with_an} explicit rev or bookmark"),
            all_heads,
        ),
    };
    Err(Abort::new(message).hint(hint))
}
