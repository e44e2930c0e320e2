//! The working copy of a Mercurial repository: tracked files, status, update, merge and commit.
//!
//! The dirstate is repository data and goes through the repository's storage; the files of the
//! working copy itself have modes, links and times, and are handled with `std::fs`. A server has no
//! use for any of this and must not import it.

mod absorb;
mod audit;
mod bookmark_edit;
mod branch_and_bookmark;
mod branch_merge;
mod commit;
mod dirstate;
mod error;
mod file_merges;
mod files;
pub mod filesets;
mod fix;
pub mod fuzzing;
mod graft;
mod hash_references;
mod histedit;
mod ignore;
mod local_state;
mod manifest_merge;
mod merge;
mod merge_state;
mod patching;
mod path_copies;
mod rebase;
mod rename_detection;
mod replay;
mod resolve;
mod revert;
mod scratch_directory;
mod shelve;
mod status;
mod strip;
mod synthetic;
mod tags;
mod tree;
mod untracked;
mod update;

pub use absorb::{
    AbsorbOutcome, AbsorbRequest, AbsorbStack, AbsorbedChangeset, AbsorbedFile, FollowedSources,
    absorb, parse_edited_lines,
};
pub use audit::PathAuditor;
pub use bookmark_edit::BookmarkEdit;
pub use branch_and_bookmark::{active_bookmark, branch, set_active_bookmark, set_branch};
pub use branch_merge::{
    MergeBase, MergeDestination, MergeRequest, check_merge, merge_changeset, merge_destination,
    rebase_destination,
};
pub use commit::{
    AMEND, AmendContext, AmendMarker, AmendRequest, AmendResult, BranchChange, ChangesetMetadata,
    ChosenFiles, CloseOptions, CommitBase, CommitContext, CommitMetadata, HeadChanges,
    ParentReplacement, PartialChangeset, RebranchedChangeset, RecommittedChangeset, ReplaceContext,
    UncommitObstacle, UncommitRefusal, add_and_remove, amend, amended_status, change_branch,
    change_copies, check_named_files, commit, message, replace_parent, return_to_parent,
    uncommit_refusal,
};
pub use dirstate::{
    Dirstate, DirstateEntry, EntryState, Stat, StatMatch, Timestamp, Tracking, V1Fields,
};
pub use error::{
    AmendRefusal, BookmarkRefusal, CloseRefusal, TagRefusal, UncommittableReason, WorkdirError,
};
pub use file_merges::{
    Comparison, DescribedSide, MergedVersion, Resolution, ToolCheck, ToolRun, ToolSide,
    UpdateEvent, UpdateObserver, UpdateQuestion, UpdateStats,
};
pub use files::{Backups, WorkingFiles};
pub use fix::{
    FixItem, FixPlace, FixPlan, FixRequest, FixScope, FixedChangeset, FixedFiles, changed_lines,
    fix_changesets, fix_items, move_to_fixed,
};
pub use graft::{
    GraftChoice, GraftOptions, GraftSkip, GraftSkipReason, GraftState, choose_grafts, graft_extras,
};
pub use hash_references::HashReferences;
pub use histedit::{
    HisteditAction, HisteditPlanError, HisteditResult, HisteditRule, HisteditState, PlanCheck,
    parse_plan,
};
pub use ignore::{Ignore, IgnoreFiles, IgnoreRule};
pub use local_state::{LocalState, local_state};
pub use manifest_merge::{Auction, Bidder, CopyReport, Reason, TracedCopy, Verdict};
pub use merge::{
    CopyTraceMode, FileTraits, MarkerStyle, MergeLabels, MergeOptions, MergeProgram, MergeTool,
    OnObstacle, PartialTool, PickedTool, ToolObstacle, ToolSelection, ToolTable, quote_for_shell,
};
pub use merge_state::{
    FileState, MergeState, OldFileState, OldMergeState, Present, clear_merge, conflicting_side,
    has_unresolved, other_side, unresolved,
};
pub use patching::{
    CheckedOut, PatchObserver, PatchSession, PatchedChangeset, PatchedFiles, SessionStart,
    apply_chosen, apply_to_working_copy,
};
pub use path_copies::{path_copies, path_copies_to_working_copy};
pub use rebase::{
    RebaseParents, RebaseRefusal, RebaseState, RebaseStep, RebaseTargets, external_parent,
    orphan_destinations, rebase_order,
};
pub use rename_detection::{Rename, RenameCandidate, detect_renames};
pub use replay::{ReplayPlan, ReplayStep, Replayed, Replayer};
pub use resolve::{ResolveRequest, has_conflict_markers, merge_again};
pub use revert::{
    RevertAction, RevertPlan, RevertStep, back_up, plan_revert, record_reverted_copies, revert,
};
pub use scratch_directory::ScratchDirectory;
pub use shelve::{
    ListedShelf, ShelfDirectory, ShelfFile, ShelvedChanges, UnshelveState, leave_changeset,
    plan_local_changes, show_as_local_changes,
};
pub use status::{
    Status, StatusLists, StatusRequest, WorkingStatus, copies_against, copies_between,
    matching_directories, status_against, status_between, working_status,
};
pub use strip::{StripPlan, keep_working_files};
pub use synthetic::{
    BuiltFiles, DagStep, DagTextError, Drawing, Remark, build_dag, commit_drawing, parse_dag,
};
pub use tags::{
    TagChange, TagOptions, check_tag_parent, check_tags, replace_local_tags, tag_description,
    write_local_tags, write_tags,
};
pub use tree::{Tree, TreeEntry};
pub use untracked::{OnUntracked, UntrackedFiles};
pub use update::{
    BookmarkChange, Destination, DestinationBookmark, LocalChanges, OtherHeads, UpdateRequest,
    bookmark_change, check_update, clone_destination, default_destination, destination,
    is_interrupted, other_heads, update,
};
