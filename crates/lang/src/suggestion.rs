//! What may have been meant by a name that nothing has.

/// How alike two words must be, in hundredths.
const ALIKE: usize = 60;

/// `did you mean x?`, if any of `names` is alike.
pub fn similar<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let alike = |known: &&str| {
        let total = known.len() + name.len();
        2 * 100 * common(name.as_bytes(), known.as_bytes()) > ALIKE * total
    };
    let mut alike: Vec<&str> = names.into_iter().filter(alike).collect();
    alike.sort_unstable();
    match alike[..] {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        _ => Some(format!("did you mean one of {}?", alike.join(", "))),
    }
}

/// Letters that are in both words in the same order: those of the longest part that is in both,
/// and likewise before and behind it.
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
    fn alike_names_are_offered_as_in_mercurial() {
        let names = ["head", "heads", "follow", "file"];
        let offered = |name| similar(name, names);
        assert_eq!(
            offered("heds").as_deref(),
            Some("did you mean one of head, heads?")
        );
        assert_eq!(offered("foo").as_deref(), Some("did you mean follow?"));
        assert_eq!(offered("xyz"), None);
    }
}
