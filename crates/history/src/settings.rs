//! Which documents a repository's database has.

/// Which documents a repository's database has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistorySettings {
    /// Draft changesets are documents, too; by default only public ones are.
    pub includes_drafts: bool,
    /// Documents of changesets have the numbers of lines that were added and removed.
    pub counts_lines: bool,
    /// Each file of the default head is a document.
    pub lists_files: bool,
    /// Globs of the files whose items are documents: from the root on, or of a name in any directory if there is no slash.
    pub data: Vec<String>,
}

/// Version of the schema: another one means that all documents are made once more.
const SCHEMA: u32 = 1;

impl HistorySettings {
    /// A text that differs where documents would.
    pub(crate) fn fingerprint(&self) -> String {
        let switch = |is_on: bool, letter: char| if is_on { letter } else { '-' };
        let switches = [
            switch(self.includes_drafts, 'd'),
            switch(self.counts_lines, 'l'),
            switch(self.lists_files, 'f'),
        ];
        let mut fingerprint = format!("{SCHEMA}{}", switches.iter().collect::<String>());
        for glob in &self.data {
            fingerprint.push(' ');
            fingerprint.push_str(glob);
        }
        fingerprint
    }
}
