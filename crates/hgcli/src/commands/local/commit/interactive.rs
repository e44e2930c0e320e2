//! `--interactive`: the user chooses among the changes of the working copy, by answers to questions.

use super::chooser::{self, ChosenPatch, Interface};
use super::editor;
use crate::arguments::Matches;
use crate::commands::local::import::print_notice;
use crate::context::Config;
use crate::render::diff::{Comparison, DiffOptions, DiffSide, paint, with_dirstate};
use crate::ui::{Abort, FailureKind, Ui, short_hex};
use varve_lang::patterns::Matcher;
use varve_patch::{
    Answer, Chooser, OfferedFile, PatchBase, PatchNotice, Question, SelectionTree, choose,
};
use varve_repo::{RepoView, Repository};
use varve_workdir::{ChosenFiles, Dirstate, PatchObserver, WorkdirError, apply_chosen};

/// The flag that asks for questions.
pub(crate) const INTERACTIVE: crate::arguments::Flag =
    crate::arguments::Flag::flag('i', "interactive", "choose changes one by one");

/// Message where nothing was chosen.
const NOTHING: &str = "no changes to record\n";

/// The fate of a change that is answered by yes, as the questions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChoiceVerb {
    Record,
    Discard,
    Apply,
}

impl ChoiceVerb {
    pub(super) fn name(self) -> &'static str {
        match self {
            ChoiceVerb::Record => "record",
            ChoiceVerb::Discard => "discard",
            ChoiceVerb::Apply => "apply",
        }
    }

    /// The files that the chosen patch is for.
    pub(super) fn base(self) -> PatchBase {
        match self {
            ChoiceVerb::Discard => PatchBase::New,
            ChoiceVerb::Record | ChoiceVerb::Apply => PatchBase::Old,
        }
    }
}

/// Letters of the answers, and what they mean to the user, where VERB stands for that of the questions.
const ANSWERS: &[(u8, Answer, &str)] = &[
    (b'y', Answer::Yes, "yes, VERB this change"),
    (b'n', Answer::No, "no, skip this change"),
    (b'e', Answer::Edit, "edit this change manually"),
    (
        b's',
        Answer::SkipFile,
        "skip remaining changes to this file",
    ),
    (
        b'f',
        Answer::WholeFile,
        "VERB remaining changes to this file",
    ),
    (b'd', Answer::Done, "done, skip remaining changes and files"),
    (b'a', Answer::All, "VERB all changes to all remaining files"),
];

/// Beside a patch that is edited.
pub(super) const EDIT_NOTES: &[u8] = b"# ---\n\
    # A '+' line that is deleted is not added; a '-' line whose '-' becomes a blank stays.\n\
    # Lines with # are not part of the patch. Without any '+' or '-' line the change is not taken.\n\
    # If the patch no longer applies, its hunks are kept in a file with .rej behind its name.\n";

/// Refuses questions that have no answers.
pub(crate) fn check(ui: &Ui) -> Result<(), Abort> {
    match ui.is_interactive()? {
        false => Err(Abort::input("running non-interactively")),
        true => Ok(()),
    }
}

/// The changes that the user has chosen.
#[derive(Debug, Default)]
pub(crate) struct ChosenChanges {
    /// The files with these changes.
    pub(crate) files: ChosenFiles,
    /// A description that the user has written meanwhile.
    pub(crate) description: Option<Vec<u8>>,
}

/// Asks about the changes against the first parent that match. `None` if nothing is chosen, which is then said.
pub(crate) fn choose_changes(
    (ui, config, matches): (&mut Ui, &Config, &Matches),
    place: (&Repository, &RepoView),
    dirstate: &Dirstate,
    matcher: &Matcher,
) -> Result<Option<ChosenChanges>, Abort> {
    let whom = (&mut *ui, config, matches);
    let chosen = choose_files(whom, place, (dirstate, matcher), "commit", None)?;
    if chosen.is_none() {
        ui.status(NOTHING)?;
    }
    Ok(chosen)
}

/// The same for `absorb`, which names the files without git's form and says nothing if nothing is chosen.
pub(crate) fn choose_to_absorb(
    whom: (&mut Ui, &Config, &Matches),
    place: (&Repository, &RepoView),
    dirstate: &Dirstate,
    matcher: &Matcher,
) -> Result<Option<ChosenChanges>, Abort> {
    let parent = short_hex(&dirstate.parents()[0]);
    choose_files(whom, place, (dirstate, matcher), "absorb", Some(parent))
}

fn choose_files(
    (ui, config, matches): (&mut Ui, &Config, &Matches),
    (repository, view): (&Repository, &RepoView),
    (dirstate, matcher): (&Dirstate, &Matcher),
    command: &str,
    plain_parent: Option<String>,
) -> Result<Option<ChosenChanges>, Abort> {
    let parent = view.changelog().rev(&dirstate.parents()[0]);
    let options = DiffOptions::of_choice(config, matches, command)?;
    let place = (repository, dirstate);
    let changes = with_dirstate(place, &ui.stop, view, parent, matcher, true)?;
    let sides = (DiffSide::Rev(parent), DiffSide::Working);
    let comparison = Comparison::new(view, sides, &options, 0)?.with_dirstate(dirstate.clone());
    let mut patch = Vec::new();
    comparison.push_all(&changes, &mut patch)?;
    let mut questions = Questions {
        ui,
        matcher,
        verb: ChoiceVerb::Record,
        plain_parent,
    };
    let chosen = questions.choose(config, &patch)?;
    if chosen.patch.is_empty() {
        return Ok(None);
    }
    let files = observed(ui, |observer| {
        apply_chosen((repository, view), parent, &chosen.patch, observer)
    })?;
    Ok(Some(ChosenChanges {
        files,
        description: chosen.description,
    }))
}

/// Asks about the hunks of a patch; returns the patch that is left.
pub(crate) fn choose_hunks(
    (ui, config): (&mut Ui, &Config),
    patch: &[u8],
    matcher: &Matcher,
    verb: ChoiceVerb,
) -> Result<Vec<u8>, Abort> {
    let mut questions = Questions {
        ui,
        matcher,
        verb,
        plain_parent: None,
    };
    questions.choose(config, patch).map(|chosen| chosen.patch)
}

/// Applies a patch, and prints what there is to tell about its hunks.
pub(crate) fn observed<T>(
    ui: &mut Ui,
    apply: impl FnOnce(PatchObserver<'_>) -> Result<T, WorkdirError>,
) -> Result<T, Abort> {
    let mut told = Ok(());
    let mut observer = |notice: &PatchNotice<'_>| {
        if told.is_ok() {
            told = print_notice(ui, notice);
        }
    };
    let applied = apply(&mut observer);
    told?;
    Ok(applied?)
}

struct Questions<'a> {
    ui: &'a mut Ui,
    matcher: &'a Matcher,
    verb: ChoiceVerb,
    /// The changeset that introduces files, where git's form does not.
    plain_parent: Option<String>,
}

impl Questions<'_> {
    /// Asks about a patch by the interface that is configured.
    fn choose(&mut self, config: &Config, patch: &[u8]) -> Result<ChosenPatch, Abort> {
        let files = OfferedFile::read_all(patch);
        let script = match chooser::interface(self.ui, config)? {
            Interface::Questions => {
                let patch = choose(&files, self)?;
                let description = None;
                return Ok(ChosenPatch { patch, description });
            }
            Interface::Screen => None,
            Interface::Script(keys) => Some(keys),
        };
        let tree = SelectionTree::new(files, |file| self.header(file));
        chooser::choose(self.ui, tree, self.verb, script)
    }

    /// The answer to one question; `None` after the meanings of all answers were shown.
    fn answer(&mut self, question: &[u8]) -> Result<Option<Answer>, Abort> {
        let line = [question, b"\n(enter ? for help) [Ynesfdaq?]"].concat();
        let typed = loop {
            self.ui.print_question(&line)?;
            if !self.ui.is_interactive()? {
                self.ui.write("y\n")?;
                break b'y';
            }
            let typed = self.ui.read_answer(b"y")?.to_ascii_lowercase();
            match &typed[..] {
                [letter] if b"ynesfdaq?".contains(letter) => break *letter,
                _ => self.ui.write("unrecognized response\n")?,
            }
        };
        self.ui.write("\n")?;
        if typed == b'q' {
            return Err(Abort::of_kind(FailureKind::Canceled, "user quit"));
        }
        let known = ANSWERS.iter().find(|(letter, ..)| *letter == typed);
        if let Some((_, answer, _)) = known {
            return Ok(Some(*answer));
        }
        let verb = self.verb.name();
        for (letter, _, meaning) in ANSWERS {
            let meaning = meaning.replace("VERB", verb);
            self.ui
                .write(format!("{} - {meaning}\n", char::from(*letter)))?;
        }
        self.ui.write(format!(
            "q - quit, {verb}ing no changes\n? - ? (display help)\n"
        ))?;
        Ok(None)
    }
}

impl Chooser for Questions<'_> {
    type Error = Abort;

    fn is_named(&self, file: &OfferedFile) -> bool {
        let mut paths = file.paths().iter();
        paths.any(|path| self.matcher.is_exact(path))
    }

    fn header(&self, file: &OfferedFile) -> Vec<u8> {
        match &self.plain_parent {
            Some(parent) => file.shown_plain_header(parent),
            None => file.shown_header(),
        }
    }

    fn show(&mut self, text: &[u8]) -> Result<(), Abort> {
        let painted = paint::painted(&self.ui.painter, text.to_vec(), false);
        self.ui.write(painted)
    }

    fn ask(&mut self, question: &Question<'_>) -> Result<Answer, Abort> {
        let quoted = |path: &Vec<u8>| [b"'", &path[..], b"'"].concat();
        let text = match question {
            Question::File(file) => {
                let names: Vec<_> = file.paths().iter().map(quoted).collect();
                [b"examine changes to ", &names.join(&b" and "[..])[..], b"?"].concat()
            }
            Question::Hunk {
                file,
                number,
                total,
            } => {
                let name = file.paths().last().map(quoted).unwrap_or_default();
                let verb = self.verb.name();
                let which = match total {
                    1 => format!("{verb} this change to "),
                    _ => format!("{verb} change {number}/{total} to "),
                };
                [which.as_bytes(), &name, b"?"].concat()
            }
        };
        loop {
            match (self.answer(&text)?, question) {
                (Some(Answer::Edit), Question::File(_)) => {
                    self.ui.write("cannot edit patch for whole file\n")?;
                }
                (Some(answer), _) => return Ok(answer),
                (None, _) => {}
            }
        }
    }

    fn edit(&mut self, patch: &[u8]) -> Result<Option<Vec<u8>>, Abort> {
        let text = [patch, EDIT_NOTES].concat();
        let (ended, edited) = editor::edit_patch(self.ui, &text)?;
        if ended.success() {
            return Ok(Some(edited));
        }
        let code = ended.code().unwrap_or_default();
        self.ui
            .warn(format!("editor exited with exit code {code}\n"))?;
        Ok(None)
    }
}
