//! Users and groups: of the section `[acl.groups]` and of the system.

use std::fs;

/// The groups of this machine.
const GROUPS: &str = "/etc/group";
/// The users of this machine.
const USERS: &str = "/etc/passwd";

/// The members that are listed for a group of this machine; `None` if there is no such group. Users whose primary
/// group it is need not be listed, and are no members then, as for Mercurial.
pub(super) fn group_members(group: &[u8]) -> Option<Vec<Vec<u8>>> {
    let fields = find_entry(&fs::read(GROUPS).ok()?, 0, group)?;
    let members = fields.get(3)?.split(|byte| *byte == b',');
    let members = members.filter(|member| !member.is_empty());
    Some(members.map(<[u8]>::to_vec).collect())
}

/// The name of the user with the number `id`.
pub fn user_name(id: u32) -> Option<Vec<u8>> {
    let users = fs::read(USERS).ok()?;
    find_entry(&users, 2, id.to_string().as_bytes())?
        .into_iter()
        .next()
}

/// The first line of a table whose field `column` is `value`.
fn find_entry(table: &[u8], column: usize, value: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut lines = table.split(|byte| *byte == b'\n').map(|line| {
        let fields = line.split(|byte| *byte == b':');
        fields.map(<[u8]>::to_vec).collect::<Vec<_>>()
    });
    lines.find(|fields| fields.get(column).is_some_and(|field| field == value))
}
