//! Variables in the line of a program.

use varve_workdir::quote_for_shell;

/// Values of the variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Substitutions {
    pub parent: Vec<u8>,
    pub child: Vec<u8>,
    pub parent_label: Vec<u8>,
    pub child_label: Vec<u8>,
    pub root: Vec<u8>,
}

/// Names without the dollar sign; longer ones first where one begins with another.
const NAMES: [&[u8]; 8] = [
    b"parent1", b"parent2", b"parent", b"child", b"plabel1", b"plabel2", b"clabel", b"root",
];

impl Substitutions {
    /// There is no second parent, for which nothing stands.
    fn value(&self, name: &[u8]) -> Option<&[u8]> {
        Some(match name {
            b"parent" | b"parent1" => &self.parent,
            b"child" => &self.child,
            b"plabel1" => &self.parent_label,
            b"clabel" => &self.child_label,
            b"root" => &self.root,
            _ => return None,
        })
    }

    /// The line with values in the place of variables; without any the two places stand at its end. Quotation marks
    /// around a variable, and what stands between them and it, belong to the word.
    pub(super) fn line(&self, line: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let (mut rest, mut is_found) = (line, false);
        while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
            let behind = &rest[dollar + 1..];
            let Some(name) = NAMES.iter().find(|name| behind.starts_with(name)) else {
                out.extend_from_slice(&rest[..=dollar]);
                rest = behind;
                continue;
            };
            is_found = true;
            let is_word_byte = |byte: &u8| !byte.is_ascii_whitespace() && !b"'\"$".contains(byte);
            let before = &rest[..dollar];
            let begin = before
                .iter()
                .rposition(|byte| !is_word_byte(byte))
                .map_or(0, |at| at + 1);
            let after = &behind[name.len()..];
            let mark = begin.checked_sub(1).map(|at| before[at]);
            let is_quoted =
                mark.is_some_and(|mark| b"'\"".contains(&mark) && after.first() == Some(&mark));
            let kept = begin - usize::from(is_quoted);
            out.extend_from_slice(&before[..kept]);
            out.extend_from_slice(&before[begin..]);
            if let Some(value) = self.value(name) {
                out.extend(quote_for_shell(value));
            }
            rest = &after[usize::from(is_quoted)..];
        }
        out.extend_from_slice(rest);
        if !is_found {
            for value in [&self.parent, &self.child] {
                out.push(b' ');
                out.extend(quote_for_shell(value));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_words() {
        let values = Substitutions {
            parent: b"a b".to_vec(),
            child: b"c".to_vec(),
            parent_label: b"@1".to_vec(),
            child_label: b"it's".to_vec(),
            root: b"/r".to_vec(),
        };
        for (line, expected) in [
            ("echo", "echo 'a b' c"),
            ("echo $parent2 $plabel2 $other $", "echo   $other $"),
            ("echo $parent $child", "echo 'a b' c"),
            ("echo '$parent1' --l=$plabel1", "echo 'a b' --l='@1'"),
            ("echo \"--x=$clabel\" $root/y", "echo --x='it'\\''s' /r/y"),
            ("echo '$child x'", "echo 'c x'"),
        ] {
            let made = String::from_utf8(values.line(line.as_bytes())).unwrap();
            assert_eq!(made, expected);
        }
    }
}
