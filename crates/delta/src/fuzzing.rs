//! Bodies of the fuzz targets; also run by plain tests.

use crate::{PatchComposer, apply};

/// Never panics, and makes no more than the old text and the patch hold. The first two bytes cut
/// the rest into an old text and two patches.
pub fn patch(data: &[u8]) {
    let [first, second, rest @ ..] = data else {
        return;
    };
    let cut = usize::from(*first).min(rest.len());
    let (old, patches) = rest.split_at(cut);
    let cut = usize::from(*second).min(patches.len());
    let mut out = Vec::new();
    if apply(patches, old, &mut out).is_ok() {
        assert!(out.len() <= old.len() + patches.len());
    }
    let chain = [0..cut, cut..patches.len()];
    let (mut folded, mut text) = (Vec::new(), Vec::new());
    let mut composer = PatchComposer::new();
    let in_one_pass = composer.apply(patches, &chain, old, &mut text);
    if composer.fold(patches, &chain, &mut folded).is_ok() {
        let mut again = Vec::new();
        let in_turn = apply(&folded, old, &mut again);
        assert_eq!(in_one_pass.is_ok(), in_turn.is_ok());
        if in_turn.is_ok() {
            assert_eq!(text, again);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn patch_keeps_its_promise(
            mut bytes in proptest::collection::vec(prop_oneof![Just(0_u8), 0_u8..20, any::<u8>()], 0..120),
        ) {
            super::patch(&bytes);
            // Make deep hunks likely: zero the high bytes of possible numbers.
            for (i, byte) in bytes.iter_mut().enumerate().skip(2) {
                if i % 4 != 1 { *byte = 0; }
            }
            super::patch(&bytes);
        }
    }
}
