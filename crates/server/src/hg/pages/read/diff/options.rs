//! Options of differences: `[diff]` of the configuration, which counts for pages as it does for `hg diff`, and `[annotate]`.

use crate::Failure;
use crate::hg::pages::error::PageError;
use hyper::StatusCode;
use varve_config::hgrc::{Hgrc, HgrcError, boolean};
use varve_delta::Blanks;
use varve_patch::HunkOptions;

/// Lines around a change unless another number is set.
const CONTEXT: usize = 3;
/// Digits of a name of git's.
const GIT_DIGITS: usize = 40;

/// Options of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct DiffOptions {
    /// In git's form.
    pub(in crate::hg::pages) git: bool,
    /// In git's form, binary files with their contents.
    pub(super) binary: bool,
    /// In git's form, digits of the names that git gives to contents; 0 is none.
    pub(super) index_digits: usize,
    pub(super) no_dates: bool,
    /// Without `a/` and `b/`.
    pub(super) no_prefix: bool,
    pub(super) hunks: HunkOptions,
}

impl DiffOptions {
    /// Reads `[diff]`, and of `[experimental]` what belongs to it.
    ///
    /// # Errors
    /// 500 for a value of the wrong type, as Mercurial answers; 501 for `experimental.xdiff`.
    pub(in crate::hg::pages) fn read(config: &Hgrc) -> Result<DiffOptions, PageError> {
        let failed = |error: HgrcError| PageError::Failed(Failure::internal(error));
        let flag = |key: &str| config.boolean("diff", key, false).map_err(failed);
        let xdiff = config.boolean("experimental", "xdiff", false);
        if xdiff.map_err(failed)? {
            let words = "experimental.xdiff is not supported";
            return Err(PageError::told(StatusCode::NOT_IMPLEMENTED, words));
        }
        // Colours of words belong to terminals; the value is checked nevertheless.
        flag("word-diff")?;
        let context = config.integer("diff", "unified").map_err(failed)?;
        let context = context.map_or(Ok(CONTEXT), usize::try_from);
        let negative = |_| Failure::internal("diff.unified must not be negative");
        Ok(DiffOptions {
            git: flag("git")?,
            binary: !flag("nobinary")?,
            index_digits: index_digits(config),
            no_dates: flag("nodates")?,
            no_prefix: flag("noprefix")?,
            hunks: HunkOptions {
                context: context.map_err(negative).map_err(PageError::Failed)?,
                functions: flag("showfunc")?,
                blanks: blanks(flag)?,
            },
        })
    }
}

fn blanks(flag: impl Fn(&str) -> Result<bool, PageError>) -> Result<Blanks, PageError> {
    Ok(Blanks {
        ignore_all: flag("ignorews")?,
        ignore_amount: flag("ignorewsamount")?,
        ignore_at_end: flag("ignorewseol")?,
        ignore_lines: flag("ignoreblanklines")?,
    })
}

/// `experimental.extendedheader.index`; a value that means nothing is none, of which Mercurial warns in its log only.
fn index_digits(config: &Hgrc) -> usize {
    let value = config.text("experimental", "extendedheader.index");
    match value.as_deref() {
        None | Some("none") => 0,
        Some("short" | "") => 12,
        Some("full") => GIT_DIGITS,
        Some(number) => {
            let number = number.trim().parse::<i64>().unwrap_or_default();
            usize::try_from(number).map_or(0, |digits| digits.min(GIT_DIGITS))
        }
    }
}

/// The blanks that do not count where lines are annotated: those that the query names, then `[annotate]`.
///
/// # Errors
/// 403 for a value of the wrong type, as Mercurial answers.
pub(in crate::hg::pages) fn blanks_of_annotation<'q>(
    config: &Hgrc,
    query: impl Fn(&str) -> Option<&'q str>,
) -> Result<Blanks, PageError> {
    let refused = |message: String| PageError::Refused {
        status: StatusCode::FORBIDDEN,
        reason: None,
        message,
    };
    let set = |key: &str| {
        let value = config.boolean("annotate", key, false);
        value.map_err(|error| refused(error.to_string()))
    };
    // No line depends on them, but they must be right.
    for key in ["nodates", "showfunc"] {
        set(key)?;
    }
    if let Some(number) = config.text("annotate", "unified")
        && number.trim().parse::<i64>().is_err()
    {
        let words = "diff context lines count must be an integer, not";
        return Err(refused(format!("{words} '{number}'")));
    }
    blanks(|key| match query(key) {
        Some(typed) => Ok(boolean(typed.as_bytes()).unwrap_or(true)),
        None => set(key),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    struct NoFiles;

    impl varve_config::hgrc::Files for NoFiles {
        fn read(&self, _path: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }

        fn expand(&self, path: &[u8]) -> std::path::PathBuf {
            String::from_utf8_lossy(path).into_owned().into()
        }
    }

    fn configured(text: &str) -> Hgrc {
        let mut config = Hgrc::default();
        let path = Path::new("hgrc");
        config.add_text(&NoFiles, path, text.as_bytes()).unwrap();
        config
    }

    #[test]
    fn settings_are_read_or_refused() {
        let options = DiffOptions::read(&configured("")).unwrap();
        assert_eq!(
            (options.hunks.context, options.git, options.binary),
            (3, false, true)
        );
        let text = "[diff]\ngit = yes\nunified = 0\nnobinary = 1\nshowfunc = on\nignorews = 1\n\
                    [experimental]\nextendedheader.index = 99\n";
        let options = DiffOptions::read(&configured(text)).unwrap();
        assert!(options.git && !options.binary && options.hunks.functions);
        assert!(options.hunks.blanks.ignore_all && !options.hunks.blanks.ignore_lines);
        assert_eq!((options.hunks.context, options.index_digits), (0, 40));
        for wrong in [
            "[diff]\nunified = -1",
            "[diff]\nunified = x",
            "[diff]\ngit = x",
            "[diff]\nword-diff = x",
            "[experimental]\nxdiff = yes",
        ] {
            assert!(DiffOptions::read(&configured(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn queries_come_before_settings_of_annotations() {
        let config = configured("[annotate]\nignorewseol = yes\nunified = 1\n");
        let ignored = |typed: Option<&'static str>| {
            let query = |key: &str| typed.filter(|_| key == "ignorewseol");
            let blanks = blanks_of_annotation(&config, query).unwrap();
            blanks.ignore_at_end
        };
        let found = [None, Some("0"), Some(""), Some("x")].map(ignored);
        assert_eq!(found, [true, false, true, true]);
        for wrong in ["ignorews = x", "nodates = x", "unified = x"] {
            let config = configured(&format!("[annotate]\n{wrong}\n"));
            let refused = blanks_of_annotation(&config, |_| None);
            assert!(matches!(refused, Err(PageError::Refused { .. })), "{wrong}");
        }
    }
}
