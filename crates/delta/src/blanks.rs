//! Which blanks and blank lines count when texts are compared line by line.

use crate::blocks::{Block, blocks};
use crate::tokens::{Cut, Tokens};
use std::borrow::Cow;

/// Differences that do not count. By default all do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blanks {
    /// No blank counts.
    pub ignore_all: bool,
    /// How many blanks stand together does not count, nor do those at the end of a line.
    pub ignore_amount: bool,
    /// Blanks at the end of a line do not count.
    pub ignore_at_end: bool,
    /// Blank lines that come or go are no change.
    pub ignore_lines: bool,
}

impl Blanks {
    /// A text as it is compared. It has as many newlines as before.
    pub fn cleaned<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let inside = self.inside(text);
        if !self.ignore_at_end {
            return inside;
        }
        Cow::Owned(without_ends(&inside))
    }

    /// Whether putting `new` in the place of `old`, which are different lines, is a change.
    pub fn is_change(&self, old: &[u8], new: &[u8]) -> bool {
        if !self.ignore_lines {
            return true;
        }
        let compared = |text: &[u8]| {
            let joined = joined(&self.inside(text));
            if self.ignore_at_end {
                without_ends(&joined)
            } else {
                joined
            }
        };
        compared(old) != compared(new)
    }

    fn inside<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.ignore_all {
            let kept = text.iter().copied().filter(|byte| !is_blank(*byte));
            return Cow::Owned(kept.collect());
        }
        if !self.ignore_amount {
            return Cow::Borrowed(text);
        }
        let mut out: Vec<u8> = Vec::with_capacity(text.len());
        for byte in text {
            let after_blank = out.last() == Some(&b' ');
            match *byte {
                byte if is_blank(byte) && after_blank => {}
                byte if is_blank(byte) => out.push(b' '),
                byte => {
                    if byte == b'\n' && after_blank {
                        out.pop();
                    }
                    out.push(byte);
                }
            }
        }
        Cow::Owned(out)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Takes blanks and form feeds before newlines away; an end without a newline keeps them.
fn without_ends(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(body) = line.strip_suffix(b"\n") else {
            out.extend_from_slice(line);
            break;
        };
        let ended = |byte: &u8| !is_blank(*byte) && *byte != b'\x0c';
        let end = body.iter().rposition(ended).map_or(0, |last| last + 1);
        out.extend_from_slice(&body[..end]);
        out.push(b'\n');
    }
    out
}

/// Takes empty lines away, and the last newline.
fn joined(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| *byte == b'\n');
    let kept: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    kept.join(&b'\n')
}

/// The runs of lines that are the same in both texts, which are [`Blanks::cleaned`] and shorter
/// than 4 GiB; ascending, and ended by an empty run behind both texts. The choice between equally
/// good answers is Mercurial's.
pub fn same_lines(old: &[u8], new: &[u8]) -> Vec<Block> {
    let tokens = Tokens::new(old, new, Cut::Lines);
    blocks(&tokens.a, &tokens.b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: Blanks = Blanks {
        ignore_all: false,
        ignore_amount: false,
        ignore_at_end: false,
        ignore_lines: false,
    };

    #[test]
    fn blanks_are_cleaned_as_mercurial_compares_them() {
        let text = b" a  \t b\x0c\r\nc \x0c\n\t\nd  ";
        for (blanks, expected) in [
            (NONE, &text[..]),
            (
                Blanks {
                    ignore_all: true,
                    ..NONE
                },
                b"ab\x0c\nc\x0c\n\nd",
            ),
            (
                Blanks {
                    ignore_amount: true,
                    ..NONE
                },
                b" a b\x0c\nc \x0c\n\nd ",
            ),
            (
                Blanks {
                    ignore_at_end: true,
                    ..NONE
                },
                b" a  \t b\nc\n\nd  ",
            ),
            (
                Blanks {
                    ignore_all: true,
                    ignore_at_end: true,
                    ..NONE
                },
                b"ab\nc\n\nd",
            ),
        ] {
            let cleaned = blanks.cleaned(text);
            assert_eq!(cleaned.as_ref(), expected, "{blanks:?}");
        }
    }

    #[test]
    fn blank_lines_are_no_change_if_they_do_not_count() {
        let lines = Blanks {
            ignore_lines: true,
            ..NONE
        };
        assert!(NONE.is_change(b"", b"\n"));
        assert!(!lines.is_change(b"", b"\n\n"));
        assert!(!lines.is_change(b"d", b"d\n"));
        assert!(lines.is_change(b"", b" \n"));
        assert!(
            Blanks {
                ignore_at_end: true,
                ..lines
            }
            .is_change(b"", b" \n")
        );
        assert!(
            !Blanks {
                ignore_amount: true,
                ..lines
            }
            .is_change(b"", b" \n")
        );
    }

    proptest! {
        #[test]
        fn cleaning_keeps_newlines(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), 9_u8..15], 0..60),
            flags in any::<[bool; 3]>(),
        ) {
            let [ignore_all, ignore_amount, ignore_at_end] = flags;
            let blanks = Blanks { ignore_all, ignore_amount, ignore_at_end, ignore_lines: false };
            let count = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(count(&blanks.cleaned(&text)), count(&text));
        }
    }
}
