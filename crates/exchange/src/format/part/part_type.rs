//! The types of parts, with their names and parameters.

/// Type of a part. A name is compared without regard to case; a capital letter in it makes the part mandatory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartType {
    /// Changesets, manifests and files.
    Changegroup,
    /// A bundle10 at a URL, with its length and digests.
    RemoteChangegroup,
    /// Phases that changesets have at least.
    PhaseHeads,
    /// Bookmarks that are set or removed.
    Bookmarks,
    /// Keys of one namespace.
    ListKeys,
    /// Obsolescence markers.
    Obsmarkers,
    /// `.hgtags` revisions of heads.
    TagsFnodes,
    /// Branches of changesets.
    BranchCache,
    /// Files of a store.
    Stream2,
    /// Capabilities of a client that reads replies.
    ReplyCaps,
    /// The heads of the repository must be these.
    CheckHeads,
    /// These must still be heads of branches.
    CheckUpdatedHeads,
    /// Changesets must be in these phases.
    CheckPhases,
    /// Bookmarks must be on these changesets.
    CheckBookmarks,
    /// One key that is set.
    PushKey,
    /// Variables for hooks.
    PushVars,
    /// Text for the user.
    Output,
    /// Result of a changegroup.
    ReplyChangegroup,
    /// Number of new markers.
    ReplyObsmarkers,
    /// Result of a key.
    ReplyPushKey,
    /// The other side failed.
    ErrorAbort,
    /// The other side does not know a part or parameter.
    ErrorUnsupportedContent,
    /// The repository changed while the push was prepared.
    ErrorPushRaced,
    /// A key could not be set.
    ErrorPushKey,
}

impl PartType {
    /// All types.
    pub const ALL: [PartType; 24] = [
        PartType::Changegroup,
        PartType::RemoteChangegroup,
        PartType::PhaseHeads,
        PartType::Bookmarks,
        PartType::ListKeys,
        PartType::Obsmarkers,
        PartType::TagsFnodes,
        PartType::BranchCache,
        PartType::Stream2,
        PartType::ReplyCaps,
        PartType::CheckHeads,
        PartType::CheckUpdatedHeads,
        PartType::CheckPhases,
        PartType::CheckBookmarks,
        PartType::PushKey,
        PartType::PushVars,
        PartType::Output,
        PartType::ReplyChangegroup,
        PartType::ReplyObsmarkers,
        PartType::ReplyPushKey,
        PartType::ErrorAbort,
        PartType::ErrorUnsupportedContent,
        PartType::ErrorPushRaced,
        PartType::ErrorPushKey,
    ];

    /// The type of a name; `None` if it is unknown here.
    pub fn named(name: &[u8]) -> Option<PartType> {
        let mut all = PartType::ALL.into_iter();
        all.find(|part_type| part_type.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            PartType::Changegroup => "changegroup",
            PartType::RemoteChangegroup => "remote-changegroup",
            PartType::PhaseHeads => "phase-heads",
            PartType::Bookmarks => "bookmarks",
            PartType::ListKeys => "listkeys",
            PartType::Obsmarkers => "obsmarkers",
            PartType::TagsFnodes => "hgtagsfnodes",
            PartType::BranchCache => "cache:rev-branch-cache",
            PartType::Stream2 => "stream2",
            PartType::ReplyCaps => "replycaps",
            PartType::CheckHeads => "check:heads",
            PartType::CheckUpdatedHeads => "check:updated-heads",
            PartType::CheckPhases => "check:phases",
            PartType::CheckBookmarks => "check:bookmarks",
            PartType::PushKey => "pushkey",
            PartType::PushVars => "pushvars",
            PartType::Output => "output",
            PartType::ReplyChangegroup => "reply:changegroup",
            PartType::ReplyObsmarkers => "reply:obsmarkers",
            PartType::ReplyPushKey => "reply:pushkey",
            PartType::ErrorAbort => "error:abort",
            PartType::ErrorUnsupportedContent => "error:unsupportedcontent",
            PartType::ErrorPushRaced => "error:pushraced",
            PartType::ErrorPushKey => "error:pushkey",
        }
    }

    /// Mandatory parameters that are understood.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            PartType::Changegroup => &["version", "nbchanges", "targetphase"],
            PartType::RemoteChangegroup => super::remote_changegroup::PARAMETERS,
            PartType::ListKeys => &["namespace"],
            PartType::Stream2 => &["bytecount", "filecount", "requirements"],
            PartType::PushKey => super::pushkey::PARAMETERS,
            PartType::Output => &["in-reply-to"],
            PartType::ErrorAbort => &["message", "hint"],
            PartType::ErrorUnsupportedContent => &["parttype", "params"],
            PartType::ErrorPushRaced => &["message"],
            _ => &[],
        }
    }

    /// Whether only a client that pushes may send it.
    pub fn is_of_pushes(self) -> bool {
        matches!(
            self,
            PartType::ReplyCaps
                | PartType::CheckHeads
                | PartType::CheckUpdatedHeads
                | PartType::CheckPhases
                | PartType::CheckBookmarks
                | PartType::PushKey
                | PartType::PushVars
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_name_in_any_case() {
        for part_type in PartType::ALL {
            let name = part_type.name();
            assert_eq!(PartType::named(name.as_bytes()), Some(part_type));
            let upper = name.to_ascii_uppercase();
            assert_eq!(PartType::named(upper.as_bytes()), Some(part_type));
            assert!(
                !name.bytes().any(|byte| byte.is_ascii_uppercase()),
                "{name}"
            );
        }
        for unknown in [
            &b""[..],
            b"changegrou",
            b"changegroup2",
            b"stream3-exp",
            b"\xff",
        ] {
            assert_eq!(PartType::named(unknown), None);
        }
    }
}
