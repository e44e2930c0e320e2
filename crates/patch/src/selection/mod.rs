//! Choosing among the differences of a patch in git's form: file by file, and hunk by hunk where a file has hunks that
//! can be taken apart.

mod file;
mod hunks;
#[cfg(test)]
mod tests;
mod tree;

pub use file::{OfferedFile, OfferedHunk};
pub use hunks::reversed_hunks;
pub use tree::{
    FileNode, HunkNode, ItemPath, LineNode, Movement, PatchBase, Selected, SelectionTree,
};

use file::push_chosen;

/// Subject of a question.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// A file as a whole: whether to go through its hunks, or to take all of it if it has none to choose from.
    File(&'a OfferedFile),
    /// One hunk.
    Hunk {
        /// Its file.
        file: &'a OfferedFile,
        /// From 1 on, counted through all files.
        number: usize,
        /// Hunks of all files.
        total: usize,
    },
}

/// Answer to a [`Question`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This change.
    Yes,
    /// Not this change.
    No,
    /// This hunk, once it is edited.
    Edit,
    /// Nothing more of this file.
    SkipFile,
    /// All that is left of this file.
    WholeFile,
    /// Nothing more at all.
    Done,
    /// All that is left.
    All,
}

/// The user, or what stands for one.
pub trait Chooser {
    /// Failures, and that the user gives up.
    type Error;

    /// Whether a file was named, so that only its hunks are in question.
    fn is_named(&self, file: &OfferedFile) -> bool;

    /// The lines that introduce a file.
    fn header(&self, file: &OfferedFile) -> Vec<u8> {
        file.shown_header()
    }

    /// Shows the beginning of a file, or a hunk.
    ///
    /// # Errors
    /// A failure of the output.
    fn show(&mut self, text: &[u8]) -> Result<(), Self::Error>;

    /// Asks; [`Answer::Edit`] is an answer about a hunk only.
    ///
    /// # Errors
    /// No answer, or one that gives up.
    fn ask(&mut self, question: &Question<'_>) -> Result<Answer, Self::Error>;

    /// Lets the user edit a patch; `None` if that failed, and the question stands.
    ///
    /// # Errors
    /// A failure to hand it over.
    fn edit(&mut self, patch: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;
}

/// Asks about all files of a patch. Returns the patch that is left; empty if nothing was chosen.
///
/// # Errors
/// As of the chooser.
pub fn choose<C: Chooser>(files: &[OfferedFile], chooser: &mut C) -> Result<Vec<u8>, C::Error> {
    let total = files.iter().map(|file| file.hunks().len()).sum();
    let mut choosing = Choosing {
        chooser,
        total,
        number: 0,
        rest: None,
    };
    let mut chosen = Vec::new();
    for file in files {
        let first = choosing.number;
        if let Some(hunks) = choosing.file(file)? {
            push_chosen(file, &hunks, &mut chosen);
        }
        choosing.number = first + file.hunks().len();
    }
    Ok(chosen)
}

struct Choosing<'c, C> {
    chooser: &'c mut C,
    total: usize,
    /// Hunks before the one in question.
    number: usize,
    /// The answer to all further questions.
    rest: Option<bool>,
}

impl<C: Chooser> Choosing<'_, C> {
    /// The hunks of a file that are taken; `None` leaves it out.
    fn file(&mut self, file: &OfferedFile) -> Result<Option<Vec<OfferedHunk>>, C::Error> {
        let whole = || Some(file.hunks().to_vec());
        if let Some(takes) = self.rest {
            return Ok(whole().filter(|_| takes));
        }
        let header = self.chooser.header(file);
        self.chooser.show(&header)?;
        let mut answer = Answer::Yes;
        if !self.chooser.is_named(file) {
            answer = self.chooser.ask(&Question::File(file))?;
        }
        Ok(match answer {
            Answer::Yes | Answer::Edit if file.is_indivisible() => whole(),
            Answer::Yes | Answer::Edit => {
                let hunks = self.hunks(file)?;
                Some(hunks).filter(|hunks| !hunks.is_empty() || file.changes_without_hunks())
            }
            Answer::WholeFile => whole(),
            Answer::No | Answer::SkipFile => None,
            Answer::Done => self.settle(false).then(Vec::new),
            Answer::All => self.settle(true).then(|| file.hunks().to_vec()),
        })
    }

    fn settle(&mut self, takes: bool) -> bool {
        self.rest = Some(takes);
        takes
    }

    fn hunks(&mut self, file: &OfferedFile) -> Result<Vec<OfferedHunk>, C::Error> {
        let mut taken = Vec::new();
        let mut of_file = None;
        for hunk in file.hunks() {
            self.number += 1;
            if let Some(takes) = self.rest.or(of_file) {
                taken.extend(takes.then(|| hunk.clone()));
                continue;
            }
            self.chooser.show(&hunk.text())?;
            match self.hunk(file, hunk)? {
                (Answer::Yes, edited) => match edited {
                    Some(edited) => taken.extend(edited),
                    None => taken.push(hunk.clone()),
                },
                (Answer::SkipFile, _) => of_file = Some(false),
                (Answer::Done, _) => self.rest = Some(false),
                (Answer::WholeFile, _) => {
                    of_file = Some(true);
                    taken.push(hunk.clone());
                }
                (Answer::All, _) => {
                    self.rest = Some(true);
                    taken.push(hunk.clone());
                }
                (Answer::No | Answer::Edit, _) => {}
            }
        }
        Ok(taken)
    }

    /// The answer about a hunk, and what an edit has made of it.
    fn hunk(
        &mut self,
        file: &OfferedFile,
        hunk: &OfferedHunk,
    ) -> Result<(Answer, Option<Vec<OfferedHunk>>), C::Error> {
        let question = Question::Hunk {
            file,
            number: self.number,
            total: self.total,
        };
        loop {
            let answer = self.chooser.ask(&question)?;
            if answer != Answer::Edit {
                return Ok((answer, None));
            }
            let mut patch = Vec::new();
            push_chosen(file, std::slice::from_ref(hunk), &mut patch);
            if let Some(edited) = self.chooser.edit(&patch)? {
                let files = OfferedFile::read_all(&edited);
                let hunks = files.iter().flat_map(|file| file.hunks().to_vec());
                return Ok((Answer::Yes, Some(hunks.collect())));
            }
        }
    }
}
