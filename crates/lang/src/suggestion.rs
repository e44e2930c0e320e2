//! Suggestions for mistyped names.

/// Least similarity of a suggestion, in hundredths.
const LEAST_SIMILARITY: usize = 60;

/// Returns `did you mean x?` if any of `names` is similar to `name`.
pub fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let is_similar = |known: &&str| {
        let total = known.len() + name.len();
        2 * 100 * common(name.as_bytes(), known.as_bytes()) > LEAST_SIMILARITY * total
    };
    let mut similar: Vec<&str> = names.into_iter().filter(is_similar).collect();
    similar.sort_unstable();
    match similar[..] {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        _ => Some(format!("did you mean one of {}?", similar.join(", "))),
    }
}

/// Number of letters that both words have in the same order: the longest common part, and
/// recursively the parts before and behind it, as Python's `difflib` counts.
fn common(a: &[u8], b: &[u8]) -> usize {
    let mut best = (0, 0, 0);
    for start_a in 0..a.len() {
        for start_b in 0..b.len() {
            let pairs = a[start_a..].iter().zip(&b[start_b..]);
            let len = pairs.take_while(|(x, y)| x == y).count();
            if len > best.0 {
                best = (len, start_a, start_b);
            }
        }
    }
    let (len, at_a, at_b) = best;
    if len == 0 {
        return 0;
    }
    len + common(&a[..at_a], &b[..at_b]) + common(&a[at_a + len..], &b[at_b + len..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested_as_in_mercurial() {
        let names = ["head", "heads", "follow", "file"];
        let offered = |name| did_you_mean(name, names);
        assert_eq!(
            offered("heds").as_deref(),
            Some("did you mean one of head, heads?")
        );
        assert_eq!(offered("foo").as_deref(), Some("did you mean follow?"));
        assert_eq!(offered("xyz"), None);
    }
}
