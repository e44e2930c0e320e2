//! `experimental.histedit.autoverb`: descriptions that begin with an action and `!` choose it, as in `fold! the first change`.

use super::plan::description_line;
use crate::ui::Abort;
use varve_repo::RepoView;
use varve_workdir::{HisteditAction, HisteditRule};

/// A rule that keeps its place, with those that follow it because they name its description.
struct RuleGroup {
    first: HisteditRule,
    /// The first line of the description of `first`.
    line: Vec<u8>,
    followers: Vec<HisteditRule>,
}

/// The rules as the descriptions of their changesets choose and order them. One that names the first line of an earlier
/// description comes behind the last changeset with that line.
pub(super) fn arranged(
    view: &RepoView,
    rules: &[HisteditRule],
) -> Result<Vec<HisteditRule>, Abort> {
    let mut groups: Vec<RuleGroup> = Vec::new();
    for rule in rules {
        let line = description_line(view, &rule.node)?;
        let (chosen, target) = match chosen_action(&line) {
            Some((action, target)) => (HisteditRule { action, ..*rule }, Some(target)),
            None => (*rule, None),
        };
        let mut newest_first = groups.iter_mut().rev();
        match newest_first.find(|group| Some(&group.line[..]) == target) {
            Some(group) => group.followers.push(chosen),
            None => groups.push(RuleGroup {
                first: chosen,
                line,
                followers: Vec::new(),
            }),
        }
    }
    let flat = groups.into_iter().flat_map(|group| {
        let first = std::iter::once(group.first);
        first.chain(group.followers)
    });
    Ok(flat.collect())
}

/// The action that the first word of a line chooses, and the rest of the line.
fn chosen_action(line: &[u8]) -> Option<(HisteditAction, &[u8])> {
    let mark = line
        .iter()
        .position(|byte| *byte == b' ' || *byte == b'!')?;
    let ends_word = line.get(mark + 1).is_none_or(|byte| *byte == b' ');
    if line[mark] != b'!' || !ends_word {
        return None;
    }
    let word = line[..mark].to_ascii_lowercase();
    let mut all = HisteditAction::ALL.into_iter();
    let action = all.find(|action| action.verb().as_bytes() == word)?;
    Some((action, line[mark + 1..].trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_first_word_with_a_mark_chooses() {
        let fold = |rest| Some((HisteditAction::Fold, rest));
        assert_eq!(chosen_action(b"fold! a b"), fold(&b"a b"[..]));
        assert_eq!(chosen_action(b"Fold!"), fold(&b""[..]));
        for other in [&b"fold a!"[..], b"fold!a", b"f! a", b"foo! a", b"", b"fold"] {
            assert_eq!(chosen_action(other), None, "{other:?}");
        }
    }
}
