//! Plans of users: a line for each changeset, in the order in which they are to be, with an action before its hash.

use std::collections::BTreeSet;
use varve_repo::Node;

/// Hexadecimal digits of a changeset in messages.
const SHORT: usize = 12;

/// The fate of one changeset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HisteditAction {
    /// Use the changeset.
    Pick,
    /// Use it, and let the user change it before it is committed.
    Edit,
    /// Combine it with the one above, with both descriptions and the later date.
    Fold,
    /// Combine it with the one above, whose description and date stay.
    Roll,
    /// Leave it out.
    Drop,
    /// Use it with another description.
    Mess,
    /// Go on from this changeset, which is not one of those that are edited.
    Base,
}

impl HisteditAction {
    /// Every action once.
    pub const ALL: [HisteditAction; 7] = [
        HisteditAction::Pick,
        HisteditAction::Edit,
        HisteditAction::Fold,
        HisteditAction::Roll,
        HisteditAction::Drop,
        HisteditAction::Mess,
        HisteditAction::Base,
    ];

    /// The word in a plan.
    pub fn verb(self) -> &'static str {
        match self {
            HisteditAction::Pick => "pick",
            HisteditAction::Edit => "edit",
            HisteditAction::Fold => "fold",
            HisteditAction::Roll => "roll",
            HisteditAction::Drop => "drop",
            HisteditAction::Mess => "mess",
            HisteditAction::Base => "base",
        }
    }

    /// The action of a word or its first letter.
    pub fn of_verb(verb: &[u8]) -> Option<HisteditAction> {
        let mut all = HisteditAction::ALL.into_iter();
        all.find(|action| {
            let word = action.verb().as_bytes();
            verb == word || verb == &word[..1]
        })
    }

    /// Whether the changeset becomes part of the one above.
    pub fn is_fold(self) -> bool {
        matches!(self, HisteditAction::Fold | HisteditAction::Roll)
    }
}

/// One line of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HisteditRule {
    /// Treatment of the changeset.
    pub action: HisteditAction,
    /// With which changeset.
    pub node: Node,
}

/// A plan that cannot be carried out, in the words that Mercurial has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HisteditPlanError {
    /// A line has no changeset.
    #[error("malformed line \"{0}\"")]
    Malformed(String),
    /// A line begins with an unknown word.
    #[error("unknown action \"{0}\"")]
    UnknownAction(String),
    /// The changeset of a line is no hexadecimal number of whole bytes.
    #[error("invalid changeset {0}")]
    InvalidChangeset(String),
    /// There is no such changeset.
    #[error("unknown changeset {0} listed")]
    UnknownChangeset(String),
    /// There is no changeset above to combine this one with.
    #[error("first changeset cannot use verb \"{0}\"")]
    FoldsFirst(&'static str),
    /// The changeset is none of those that are edited.
    #[error("{0} \"{1}\" changeset was not a candidate")]
    NotACandidate(&'static str, String),
    /// The changeset is one of those that are edited.
    #[error("base \"{0}\" changeset was an edited list candidate")]
    BaseIsCandidate(String),
    /// A changeset is there twice.
    #[error("duplicated command for changeset {0}")]
    Duplicated(String),
    /// A changeset is not there at all.
    #[error("missing rules for changeset {0}")]
    Missing(String),
    /// There are no lines.
    #[error("no rules provided")]
    Empty,
}

impl HisteditPlanError {
    /// Advice to the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            HisteditPlanError::NotACandidate(..) => Some("only use listed changesets".to_owned()),
            HisteditPlanError::BaseIsCandidate(_) => {
                Some("base must only use unlisted changesets".to_owned())
            }
            HisteditPlanError::Missing(node) => Some(format!(
                "use \"drop {node}\" to discard, see also: 'hg help -e histedit.config'"
            )),
            HisteditPlanError::Empty => Some("use strip extension to remove commits".to_owned()),
            _ => None,
        }
    }
}

/// Short form of a node.
fn short(node: &Node) -> String {
    node.to_string()[..SHORT].to_owned()
}

/// Reads the lines of a plan. `find` gives the changeset of a hash or its beginning.
///
/// # Errors
/// [`HisteditPlanError`].
pub fn parse_plan(
    text: &[u8],
    mut find: impl FnMut(&[u8]) -> Option<Node>,
) -> Result<Vec<HisteditRule>, HisteditPlanError> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut rules = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some(space) = line.iter().position(|byte| *byte == b' ') else {
            return Err(HisteditPlanError::Malformed(shown(line)));
        };
        let (verb, rest) = (&line[..space], line[space..].trim_ascii());
        let action = HisteditAction::of_verb(verb)
            .ok_or_else(|| HisteditPlanError::UnknownAction(shown(verb)))?;
        let mut words = rest.split(|byte| *byte == b' ');
        let hash = words.next().unwrap_or_default();
        let is_hex = hash.iter().all(u8::is_ascii_hexdigit) && hash.len().is_multiple_of(2);
        if !is_hex || hash.is_empty() {
            return Err(HisteditPlanError::InvalidChangeset(shown(hash)));
        }
        let node = find(hash);
        let node = node.ok_or_else(|| {
            let shown = shown(hash);
            HisteditPlanError::UnknownChangeset(shown.chars().take(SHORT).collect())
        })?;
        rules.push(HisteditRule { action, node });
    }
    Ok(rules)
}

/// Conditions for a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanCheck<'a> {
    /// The changesets that are edited, oldest first.
    pub candidates: &'a [Node],
    /// Whether those that have no line are dropped.
    pub drops_missing: bool,
}

impl PlanCheck<'_> {
    /// Checks a plan; adds the lines that may be missing.
    ///
    /// # Errors
    /// [`HisteditPlanError`].
    pub fn complete(
        &self,
        mut rules: Vec<HisteditRule>,
    ) -> Result<Vec<HisteditRule>, HisteditPlanError> {
        let mut seen = BTreeSet::new();
        for (at, rule) in rules.iter().enumerate() {
            let is_candidate = self.candidates.contains(&rule.node);
            let verb = rule.action.verb();
            match rule.action {
                HisteditAction::Base if is_candidate => {
                    return Err(HisteditPlanError::BaseIsCandidate(short(&rule.node)));
                }
                HisteditAction::Base => {}
                _ if !is_candidate => {
                    return Err(HisteditPlanError::NotACandidate(verb, short(&rule.node)));
                }
                _ => {}
            }
            if !seen.insert(rule.node) {
                return Err(HisteditPlanError::Duplicated(short(&rule.node)));
            }
            if at == 0 && rule.action.is_fold() {
                return Err(HisteditPlanError::FoldsFirst(verb));
            }
        }
        let missing = self.candidates.iter().filter(|node| !seen.contains(*node));
        let missing: Vec<Node> = missing.copied().collect();
        if let Some(first) = missing.first().filter(|_| !self.drops_missing) {
            return Err(HisteditPlanError::Missing(short(first)));
        }
        if rules.is_empty() {
            return Err(HisteditPlanError::Empty);
        }
        let drops = missing.into_iter().map(|node| HisteditRule {
            action: HisteditAction::Drop,
            node,
        });
        // Mercurial drops them first.
        rules.splice(0..0, drops);
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(byte: u8) -> Node {
        Node([byte; 20])
    }

    fn find(hash: &[u8]) -> Option<Node> {
        let all = [1, 2, 3].map(node);
        all.into_iter().find(|node| node.to_hex().starts_with(hash))
    }

    fn complete(text: &str, drops_missing: bool) -> Result<Vec<(&'static str, u8)>, String> {
        let candidates = [2, 3].map(node);
        let check = PlanCheck {
            candidates: &candidates,
            drops_missing,
        };
        let rules = parse_plan(text.as_bytes(), find).and_then(|rules| check.complete(rules));
        let rules = rules.map_err(|error| error.to_string())?;
        let rules = rules.iter();
        Ok(rules
            .map(|rule| (rule.action.verb(), rule.node.0[0]))
            .collect())
    }

    #[test]
    fn words_may_be_letters_and_comments_are_passed_over() {
        let plan = "# x\n\np 0303 3 words\nf 02020202 2\n";
        assert_eq!(complete(plan, false), Ok(vec![("pick", 3), ("fold", 2)]));
        let plan = "base 01\npick 0303\n";
        assert_eq!(
            complete(plan, true),
            Ok(vec![("drop", 2), ("base", 1), ("pick", 3)])
        );
    }

    #[test]
    fn wrong_plans_are_refused() {
        let cases = [
            ("pick", "malformed line \"pick\""),
            ("keep 0202", "unknown action \"keep\""),
            ("pick zz", "invalid changeset zz"),
            ("pick 020", "invalid changeset 020"),
            ("pick 0404", "unknown changeset 0404 listed"),
            (
                "roll 0202\npick 0303",
                "first changeset cannot use verb \"roll\"",
            ),
            (
                "pick 0101",
                "pick \"010101010101\" changeset was not a candidate",
            ),
            (
                "base 0202",
                "base \"020202020202\" changeset was an edited list candidate",
            ),
            (
                "pick 0202\ndrop 0202",
                "duplicated command for changeset 020202020202",
            ),
            ("pick 0202", "missing rules for changeset 030303030303"),
        ];
        for (plan, error) in cases {
            assert_eq!(complete(plan, false), Err(error.to_owned()));
        }
        assert_eq!(complete("# x", true), Err("no rules provided".to_owned()));
    }
}
