//! Ends of lines in patches and in files, against a table of what each setting compares and writes.

use super::drawn::unified;
use super::laws::numbered;
use super::store::Store;
use proptest::prelude::*;
use varve_patch::LineEnds;

const SETTINGS: [LineEnds; 4] = [
    LineEnds::Strict,
    LineEnds::Lf,
    LineEnds::CrLf,
    LineEnds::Auto,
];

fn with_cr(text: &str, has_cr: bool) -> String {
    match has_cr {
        true => text.replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

proptest! {
    #[test]
    fn ends_are_compared_and_written_as_the_setting_says(
        file_cr: bool, patch_cr: bool, at in 0..9_usize, comes in 0..3_usize,
        setting in prop::sample::select(SETTINGS.to_vec()),
    ) {
        let old = numbered(9).concat();
        let mut lines = numbered(9);
        lines[at] = "new\n".repeat(comes);
        let new = lines.concat();
        // Only the lines of the texts have these ends, not those of the patch itself.
        let patch: String = unified(&old, &new, 3).split_inclusive('\n').map(|line| {
            let is_text = matches!(line.as_bytes(), [b' ' | b'-' | b'+', rest @ ..] if !rest.starts_with(b"--") && !rest.starts_with(b"++"));
            with_cr(line, patch_cr && is_text)
        }).collect();
        let mut store = Store::of(with_cr(&old, file_cr));
        let has_rejects = store.patch(&patch, 0, setting).unwrap();
        prop_assert_eq!(has_rejects, setting == LineEnds::Strict && file_cr != patch_cr);
        let expected = match (has_rejects, setting) {
            (true, _) => with_cr(&old, file_cr),
            (false, LineEnds::Strict) => with_cr(&new, patch_cr),
            (false, LineEnds::Lf) => new,
            (false, LineEnds::CrLf) => with_cr(&new, true),
            (false, LineEnds::Auto) => with_cr(&new, file_cr),
        };
        prop_assert_eq!(store.content("f"), Some(expected.as_bytes()));
    }

    /// A new file has the ends of the patch, unless they are set.
    #[test]
    fn new_files_have_the_ends_of_the_patch(patch_cr: bool, setting in prop::sample::select(SETTINGS.to_vec())) {
        let text = with_cr("one\ntwo\n", patch_cr);
        let lines: String = text.split_inclusive('\n').map(|line| format!("+{line}")).collect();
        let patch = format!("--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n{lines}");
        let mut store = Store::default();
        prop_assert_eq!(store.patch(&patch, 0, setting), Ok(false));
        let expected = match setting {
            LineEnds::Lf => with_cr("one\ntwo\n", false),
            LineEnds::CrLf => with_cr("one\ntwo\n", true),
            LineEnds::Strict | LineEnds::Auto => text,
        };
        prop_assert_eq!(store.content("new"), Some(expected.as_bytes()));
    }
}
