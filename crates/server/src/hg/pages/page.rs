//! One request for a page: its address, the repository's data and settings.

use super::error::PageError;
use super::paths::{Command, PageAddress, Style};
use super::read::annotation::AnnotatedLine;
use super::read::changesets::ChangesetEntry;
use super::read::comparison::Comparison;
use super::read::diff::{DiffOptions, FileDiff, blanks_of_annotation};
use super::read::file::FileVersion;
use super::read::tree::Directory;
use super::read::{PageReader, Text};
use crate::Request;
use crate::hg::database::RepositoryDatabase;
use crate::hg::page::About;
use crate::runtime::HelpIndex;
use varve_archive::ArchiveKind;
use varve_config::hgrc::{Hgrc, HgrcError};
use varve_delta::Blanks;
use varve_repo::Rev;

/// Most changesets of one page: the answer of more would take minutes.
const MOST: usize = 10_000;

/// Numbers of items of one page, from `[web]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageLimits {
    /// `maxchanges`, 10.
    pub(super) changesets: usize,
    /// `maxshortchanges`, 60.
    pub(super) short_changesets: usize,
    /// `maxfiles`, 10.
    pub(super) files: usize,
}

impl PageLimits {
    /// # Errors
    /// A setting that is no number.
    pub(super) fn read(config: &Hgrc) -> Result<PageLimits, HgrcError> {
        let number = |key, usual: usize| -> Result<usize, HgrcError> {
            let number = config.integer("web", key)?;
            let number = number.and_then(|number| usize::try_from(number).ok());
            Ok(number.unwrap_or(usual).min(MOST))
        };
        Ok(PageLimits {
            changesets: number("maxchanges", 10)?,
            short_changesets: number("maxshortchanges", 60)?,
            files: number("maxfiles", 10)?,
        })
    }
}

/// A kind of archive that clients may load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfferedArchive {
    /// In `web.allow-archive`.
    pub(super) name: &'static str,
    /// With its dot.
    pub(super) extension: &'static str,
    pub(super) media_type: &'static str,
    pub(super) kind: ArchiveKind,
}

/// All kinds of archives.
pub(super) const ARCHIVES: &[OfferedArchive] = &[
    OfferedArchive {
        name: "zip",
        extension: ".zip",
        media_type: "application/zip",
        kind: ArchiveKind::Zip,
    },
    OfferedArchive {
        name: "gz",
        extension: ".tar.gz",
        media_type: "application/x-gzip",
        kind: ArchiveKind::TarGzip,
    },
    OfferedArchive {
        name: "bz2",
        extension: ".tar.bz2",
        media_type: "application/x-bzip2",
        kind: ArchiveKind::TarBzip2,
    },
];

/// The file or directory that a path leads to.
pub(super) enum FileOrDirectory {
    File(FileVersion),
    Directory(Directory),
}

/// A request for a page.
pub(super) struct Page<'r> {
    pub(super) reader: PageReader<'r>,
    pub(super) address: PageAddress,
    pub(super) request: &'r Request,
    pub(super) config: &'r Hgrc,
    pub(super) limits: PageLimits,
    pub(super) about: About,
    pub(super) help: Option<&'r HelpIndex>,
    /// Its database, if it is one.
    pub(super) database: Option<RepositoryDatabase<'r>>,
    /// Path of the repository's URL, without a slash at its end.
    pub(super) root: String,
    /// Path of the list of all repositories, if there is one.
    pub(super) index: Option<String>,
}

impl Page<'_> {
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.request.query(name)
    }

    /// The number of items: `revcount`, or the usual one.
    pub(super) fn limit(&self, usual: usize) -> usize {
        let asked = self
            .query("revcount")
            .and_then(|count| count.parse::<i64>().ok());
        let asked = asked.map(|count| usize::try_from(count).unwrap_or_default().max(1));
        asked.unwrap_or(usual).min(MOST)
    }

    /// The changeset that the address names.
    ///
    /// # Errors
    /// 404 for one that there is not.
    pub(super) fn changeset(&self) -> Result<Option<Rev>, PageError> {
        self.reader.changeset(self.address.rev.as_deref())
    }

    /// The changeset that a difference begins at: the first parent, or that before the colon of `A:B`.
    ///
    /// # Errors
    /// 404 for one that there is not.
    pub(super) fn base(&self) -> Result<Option<Rev>, PageError> {
        let typed = self.address.rev.as_deref().unwrap_or_default();
        match typed.split_once(':') {
            Some((base, _)) if !base.is_empty() => self.reader.changeset(Some(base)),
            _ => Ok(self.reader.first_parent(self.changeset()?)),
        }
    }

    /// The changeset of a page about a file.
    ///
    /// # Errors
    /// 404 without a path, and for a changeset that there is not.
    pub(super) fn file_changeset(&self) -> Result<Option<Rev>, PageError> {
        if self.address.path.is_empty() {
            return Err(PageError::no_file());
        }
        self.changeset().map_err(|error| match error {
            PageError::Refused { .. } => {
                let typed = self.address.rev.as_deref().unwrap_or_default();
                PageError::missing(format!("revision not found: {typed}"))
            }
            failed => failed,
        })
    }

    /// Finds what a page is about that its style does not have: an address that leads nowhere is refused first.
    ///
    /// # Errors
    /// 404 for what there is not.
    pub(super) fn check(&self, command: Command) -> Result<(), PageError> {
        match command {
            Command::Annotate => {
                let rev = self.file_changeset()?;
                self.reader.file(rev, &self.path()).map(drop)
            }
            Command::FileDiff => self.file_diff().map(drop),
            Command::FileLog => self.file_log().map(drop),
            Command::Comparison => self.comparison().map(drop),
            Command::File | Command::Manifest => self.file_or_directory(command).map(drop),
            _ => self.changeset().map(drop),
        }
    }

    /// The path that the address names.
    pub(super) fn path(&self) -> Text {
        self.address.path.clone().into_bytes()
    }

    /// The URL of a place of the repository, with the host.
    pub(super) fn absolute(&self, place: &str) -> String {
        format!("{}{}/{place}", self.request.origin(), self.root)
    }

    /// Numbers of the newest changesets, for an overview.
    pub(super) fn newest(&self) -> Vec<Rev> {
        let view = self.reader.view;
        let count = view.changelog().len();
        let first = count.saturating_sub(self.limits.changesets);
        let revs = (first..count).rev().map(|rev| Rev(rev as u32));
        revs.filter(|rev| view.is_visible(*rev)).collect()
    }

    /// Kinds of archives that `web.allow-archive` and its older forms name.
    pub(super) fn archives(&self) -> Vec<OfferedArchive> {
        let lists = ["allow-archive", "allow_archive"].map(|key| self.config.list("web", key));
        let named = lists.concat();
        let is_offered = |archive: &&OfferedArchive| {
            let key = format!("allow{}", archive.name);
            let by_itself = self.config.boolean("web", &key, false);
            named.iter().any(|name| name == archive.name.as_bytes()) || by_itself.unwrap_or(false)
        };
        ARCHIVES.iter().filter(is_offered).copied().collect()
    }

    /// The file of the address, or else its directory.
    ///
    /// # Errors
    /// 404 without either.
    pub(super) fn file_or_directory(&self, command: Command) -> Result<FileOrDirectory, PageError> {
        let path = self.path();
        let is_bytes = self.address.style == Style::Raw;
        let rev = match is_bytes && command == Command::File && !path.is_empty() {
            true => self.file_changeset()?,
            false => self.changeset()?,
        };
        if command == Command::File
            && !path.is_empty()
            && let Some(file) = self.reader.find_file(rev, &path)?
        {
            return Ok(FileOrDirectory::File(file));
        }
        match self.reader.directory(rev, &path) {
            Err(PageError::Refused { .. }) if command == Command::File && !path.is_empty() => {
                Err(PageError::not_in_manifest(&path, &self.reader.node(rev)))
            }
            found => Ok(FileOrDirectory::Directory(found?)),
        }
    }

    /// The changeset and what it changed in the file of the address.
    ///
    /// # Errors
    /// 404 if it neither has nor changed the file.
    pub(super) fn file_diff(&self) -> Result<(ChangesetEntry, Vec<FileDiff>), PageError> {
        let (rev, path) = (self.file_changeset()?, self.path());
        let entry = self.reader.entry(rev)?;
        if !entry.files.contains(&path) {
            self.reader.file(rev, &path)?;
        }
        let sides = (self.reader.first_parent(rev), rev);
        let diffs = self.diffs(sides, Some(&path))?;
        Ok((entry, diffs))
    }

    /// Differences from one changeset to another as `[diff]` has them shown, of all files or one.
    ///
    /// # Errors
    /// Those of [`DiffOptions::read`] and [`PageReader::diffs`].
    pub(super) fn diffs(
        &self,
        sides: (Option<Rev>, Option<Rev>),
        only: Option<&[u8]>,
    ) -> Result<Vec<FileDiff>, PageError> {
        let options = DiffOptions::read(self.config)?;
        self.reader.diffs(sides, only, &options)
    }

    /// The blanks that do not count where lines are annotated.
    ///
    /// # Errors
    /// Those of [`blanks_of_annotation`].
    pub(super) fn annotation_blanks(&self) -> Result<Blanks, PageError> {
        blanks_of_annotation(self.config, |key| self.query(key))
    }

    /// The lines of a file with their origins; `[annotate]` and the query say which blanks do not count.
    ///
    /// # Errors
    /// Those of [`blanks_of_annotation`] and [`PageReader::annotation`].
    pub(super) fn annotation(&self, file: &FileVersion) -> Result<Vec<AnnotatedLine>, PageError> {
        self.reader.annotation(file, self.annotation_blanks()?)
    }

    /// The changeset and the file of the address before and after.
    ///
    /// # Errors
    /// 404 without such a file.
    pub(super) fn comparison(&self) -> Result<(ChangesetEntry, Comparison), PageError> {
        let (rev, path) = (self.changeset()?, self.path());
        if path.is_empty() {
            return Err(PageError::no_file());
        }
        let context = self.query("context");
        let context = context
            .map(str::to_owned)
            .or_else(|| self.config.text("web", "comparisoncontext"));
        let compared = self.reader.comparison(rev, &path, context.as_deref())?;
        Ok((self.reader.entry(rev)?, compared))
    }

    /// Versions of the file of the address, newest first.
    ///
    /// # Errors
    /// 404 without such a file.
    pub(super) fn file_log(&self) -> Result<Vec<(ChangesetEntry, FileVersion)>, PageError> {
        let file = self
            .reader
            .file_with_history(self.file_changeset()?, &self.path())?;
        let limit = self.limit(self.limits.short_changesets);
        let versions = self.reader.file_log(&file, limit)?;
        let entry = |version: FileVersion| {
            self.reader.check_stop()?;
            Ok((self.reader.entry(version.changeset)?, version))
        };
        versions.into_iter().map(entry).collect()
    }

    /// Colour (six hexadecimal digits, or nothing) and width of the line to a changeset, by its branch, from `[graph]`.
    ///
    /// # Errors
    /// A damaged changeset.
    pub(super) fn line_to(&self, rev: Rev) -> Result<(String, i64), PageError> {
        if self.config.section("graph").is_empty() {
            return Ok((String::new(), -1));
        }
        let view = self.reader.view;
        let branch = view.with_changeset(rev, |changeset| changeset.branch().into_owned())?;
        Ok(self.branch_line(&branch))
    }

    fn branch_line(&self, branch: &[u8]) -> (String, i64) {
        let branch = String::from_utf8_lossy(branch);
        let color = self.config.text("graph", &format!("{branch}.color"));
        let is_color = |color: &String| {
            color.len() == 6 && color.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        let width = self.config.integer("graph", &format!("{branch}.width"));
        let width = width.ok().flatten().filter(|width| (0..30).contains(width));
        (
            color.filter(is_color).unwrap_or_default(),
            width.unwrap_or(-1),
        )
    }
}
