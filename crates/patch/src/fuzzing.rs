//! Bodies of the fuzz targets; also run by plain tests.

use crate::{
    Answer, ApplyOptions, Chooser, LineEnds, OfferedFile, PatchError, PatchMessage, PatchMode,
    PatchNotice, PatchTarget, Question, TargetFile, apply, choose, split,
};
use std::collections::BTreeMap;

/// Gives answers by the bits of a number.
struct Bits(u32);

impl Chooser for Bits {
    type Error = PatchError;

    fn is_named(&self, file: &OfferedFile) -> bool {
        file.paths().len() > 1
    }

    fn show(&mut self, _text: &[u8]) -> Result<(), PatchError> {
        Ok(())
    }

    fn ask(&mut self, _question: &Question<'_>) -> Result<Answer, PatchError> {
        self.0 = self.0.rotate_right(2);
        Ok([Answer::Yes, Answer::No, Answer::WholeFile, Answer::SkipFile][(self.0 % 4) as usize])
    }

    fn edit(&mut self, _patch: &[u8]) -> Result<Option<Vec<u8>>, PatchError> {
        Ok(None)
    }
}

/// Never panics; what is chosen can be read again, and is among what was offered. The first four bytes are answers.
pub fn chosen_changes(data: &[u8]) {
    let Some((answers, text)) = data.split_first_chunk::<4>() else {
        return;
    };
    let offered = OfferedFile::read_all(text);
    let mut chooser = Bits(u32::from_le_bytes(*answers));
    let Ok(chosen) = choose(&offered, &mut chooser) else {
        return;
    };
    let count = |files: &[OfferedFile]| files.iter().map(|file| file.hunks().len()).sum::<usize>();
    let read = OfferedFile::read_all(&chosen);
    assert!(read.len() <= offered.len() && count(&read) <= count(&offered));
}

/// Files in memory.
#[derive(Debug, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<Vec<u8>, TargetFile>);

impl PatchTarget for Files {
    type Error = PatchError;

    fn read(&mut self, path: &[u8]) -> Result<Option<TargetFile>, PatchError> {
        Ok(self.0.get(path).cloned())
    }

    fn exists(&mut self, path: &[u8]) -> Result<bool, PatchError> {
        Ok(self.0.contains_key(path))
    }

    fn write(
        &mut self,
        path: &[u8],
        content: Option<&[u8]>,
        mode: Option<PatchMode>,
        _copied_from: Option<&[u8]>,
    ) -> Result<(), PatchError> {
        let file = self.0.entry(path.to_vec()).or_default();
        if let Some(content) = content {
            file.content = content.to_vec();
        }
        file.mode = mode.unwrap_or(file.mode);
        Ok(())
    }

    fn remove(&mut self, path: &[u8]) -> Result<(), PatchError> {
        self.0.remove(path);
        Ok(())
    }

    fn keep_rejects(&mut self, path: &[u8], text: &[u8]) -> Result<(), PatchError> {
        self.write(&[path, b".rej"].concat(), Some(text), None, None)
    }

    fn notice(&mut self, _notice: &PatchNotice<'_>) -> Result<(), PatchError> {
        Ok(())
    }
}

/// Never panics. The first two bytes choose how it is applied, the third the end of a file `f` in the data, which is patched.
pub fn patches(data: &[u8]) {
    let [how, strip, len, rest @ ..] = data else {
        return;
    };
    let (content, text) = rest.split_at(usize::from(*len).min(rest.len()));
    let ends = [
        LineEnds::Strict,
        LineEnds::Lf,
        LineEnds::CrLf,
        LineEnds::Auto,
    ];
    let options = ApplyOptions {
        strip: usize::from(strip % 3),
        prefix: Vec::new(),
        fuzz: usize::from(how >> 2 & 3),
        line_ends: ends[usize::from(how & 3)],
    };
    for message in split(text) {
        let message = PatchMessage::read(&message);
        let mut files = Files::default();
        let file = TargetFile {
            content: content.to_vec(),
            mode: PatchMode::default(),
        };
        files.0.insert(b"f".to_vec(), file);
        // A patch that does not fit is as good as one that does.
        let _ = apply(
            &message.differences.unwrap_or_default(),
            &mut files,
            &options,
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Lines that patches are made of.
    const LINES: &[&str] = &[
        "--- a/f\n",
        "+++ b/f\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "@@ -1,2 +1,2 @@\n",
        "@@ -0,0 +1,1 @@\n",
        "@@ -3,1 +9 @@\n",
        " a\n",
        "-b\n",
        "+c\n",
        "\n",
        "\\ No newline at end of file\n",
        "diff --git a/f b/f\n",
        "diff --git a/f b/g\n",
        "rename from f\n",
        "rename to g\n",
        "copy from f\n",
        "copy to g\n",
        "new file mode 100755\n",
        "deleted file mode 100644\n",
        "new mode 120000\n",
        "GIT binary patch\n",
        "literal 5\n",
        "Mc$`bh%wu2x00i9uIsgCw\n",
        "delta 1\n",
        "*** a/f\n",
        "--- b/f\n",
        "***************\n",
        "*** 1,2 ****\n",
        "--- 1,2 ----\n",
        "! a\n",
        "- b\n",
        "+ c\n",
        "  a\n",
        "# HG changeset patch\n",
        "# User u\n",
        "# Parent  12\n",
        "From x\n",
        "From: =?utf-8?q?=C3=A9?=\n",
        "Subject: [PATCH] x\n",
        "Content-Type: multipart/mixed; boundary=B\n",
        "--B\n",
        "--B--\n",
        "Content-Transfer-Encoding: base64\n",
        "Content-Transfer-Encoding: quoted-printable\n",
    ];

    proptest! {
        #[test]
        fn patches_keep_their_promise(
            head in any::<[u8; 3]>(),
            file in proptest::collection::vec(prop_oneof![Just("a\n"), Just("b\r\n"), Just("b\n")], 0..6),
            lines in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let file = file.concat();
            let lines: String = lines.iter().map(|at| LINES[at.index(LINES.len())]).collect();
            let mut data = vec![head[0], head[1], file.len() as u8];
            data.extend_from_slice(file.as_bytes());
            data.extend_from_slice(&lines.as_bytes()[..cut.index(lines.len() + 1)]);
            super::patches(&data);
            super::chosen_changes(&data);
        }

        #[test]
        fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..200)) {
            super::patches(&data);
            super::chosen_changes(&data);
        }
    }
}
