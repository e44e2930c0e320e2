//! Marks of the parts of lines that changed.

/// A line whose middle differs from another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MarkedText {
    pub(super) before: String,
    pub(super) changed: String,
    pub(super) after: String,
}

impl MarkedText {
    /// A line without a mark.
    pub(super) fn plain(text: String) -> MarkedText {
        MarkedText {
            before: text,
            ..MarkedText::default()
        }
    }

    /// Returns whether the unmarked parts are at least half of the line, without blanks.
    fn is_alike(&self) -> bool {
        let len = |text: &str| text.chars().filter(|char| !char.is_whitespace()).count();
        len(&self.before) + len(&self.after) >= len(&self.changed)
    }
}

/// Marks what stands between the common beginning and the common end.
pub(super) fn marked(left: &str, right: &str) -> (MarkedText, MarkedText) {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = left
        .chars()
        .zip(right.chars())
        .take_while(same)
        .map(|(char, _)| char.len_utf8())
        .sum();
    let end: usize = left[start..]
        .chars()
        .rev()
        .zip(right[start..].chars().rev())
        .take_while(same)
        .map(|(char, _)| char.len_utf8())
        .sum();
    let part = |text: &str| MarkedText {
        before: text[..start].to_owned(),
        changed: text[start..text.len() - end].to_owned(),
        after: text[text.len() - end..].to_owned(),
    };
    (part(left), part(right))
}

/// Marks the lines of a run of a difference: `removed` and `added` lines, each with its sign. Lines stand for each other if there
/// are as many on either side, and are marked if they are alike.
pub(super) fn marked_run(removed: &[&str], added: &[&str]) -> Option<Vec<[MarkedText; 2]>> {
    if removed.len() != added.len() {
        return None;
    }
    let pair = |(removed, added): (&&str, &&str)| {
        let (mut old, mut new) = marked(&removed[1..], &added[1..]);
        match old.is_alike() && new.is_alike() {
            true => {
                old.before.insert(0, '-');
                new.before.insert(0, '+');
                [old, new]
            }
            false => [removed, added].map(|line| MarkedText::plain((*line).to_owned())),
        }
    };
    Some(removed.iter().zip(added).map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &MarkedText) -> String {
        format!("{}|{}|{}", text.before, text.changed, text.after)
    }

    #[test]
    fn the_differing_middle_of_lines_is_marked() {
        let both = |left: &str, right: &str| {
            let (left, right) = marked(left, right);
            format!("{} {}", shown(&left), shown(&right))
        };
        assert_eq!(
            both("let a = 1;", "let b\u{e9} = 1;"),
            "let |a| = 1; let |b\u{e9}| = 1;"
        );
        assert_eq!(both("aa", "aaa"), "aa|| aa|a|");
        assert_eq!(both("", "x"), "|| |x|");
    }

    #[test]
    fn lines_of_a_run_that_are_alike_are_marked() {
        let run = |removed: &[&str], added: &[&str]| {
            let marked = marked_run(removed, added)?;
            let lines = marked.iter().flatten().map(shown);
            Some(lines.collect::<Vec<_>>())
        };
        let marked = run(&["-a = 1;", "-other"], &["+a = 12;", "+entirely new"]);
        let lines = ["-a = 1||;", "+a = 1|2|;", "-other||", "+entirely new||"];
        assert_eq!(marked.unwrap(), lines);
        assert_eq!(run(&["-a"], &["+a", "+b"]), None);
        assert_eq!(run(&["-"], &["+"]).unwrap(), ["-||", "+||"]);
    }
}
