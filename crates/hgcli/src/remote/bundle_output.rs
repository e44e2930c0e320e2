//! Where a bundle goes: a file that appears when it is complete, or the standard output.

use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes that are collected before the file grows.
const BUFFER: usize = 256 << 10;

/// Permissions of a new file, before the user's mask.
const USUAL_MODE: u32 = 0o666;

/// Where a bundle goes.
pub(crate) enum BundleOutput {
    /// To a file, by its name as typed.
    File(Vec<u8>),
    /// To the standard output, which is here meanwhile: all words go to the standard error.
    Output(BufWriter<Box<dyn Write>>),
}

impl BundleOutput {
    /// Output for the name `typed`. [`BundleOutput::end`] must be called.
    pub(crate) fn begin(ui: &mut Ui, typed: &[u8]) -> BundleOutput {
        if typed != b"-" {
            return BundleOutput::File(typed.to_vec());
        }
        let words = BufWriter::new(ui.streams.err() as Box<dyn Write>);
        BundleOutput::Output(std::mem::replace(&mut ui.out, words))
    }

    /// Gives the context its output back.
    pub(crate) fn end(self, ui: &mut Ui) -> Result<(), Abort> {
        if let BundleOutput::Output(out) = self {
            std::mem::replace(&mut ui.out, out).flush()?;
        }
        Ok(())
    }

    /// Lets `make` write; the name of a file is relative to `cwd`.
    pub(crate) fn write<T>(
        &mut self,
        cwd: &Path,
        ui: &mut Ui,
        make: &mut dyn FnMut(&mut Ui, &mut dyn Write) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        match self {
            BundleOutput::File(name) => to_file(cwd, ui, name, make),
            BundleOutput::Output(out) => {
                ui.out.flush()?;
                make(ui, out)
            }
        }
    }
}

/// Lets `make` write to the file that `typed` names.
fn to_file<T>(
    cwd: &Path,
    ui: &mut Ui,
    typed: &[u8],
    make: &mut dyn FnMut(&mut Ui, &mut dyn Write) -> Result<T, Abort>,
) -> Result<T, Abort> {
    let shown = Path::new(OsStr::from_bytes(typed));
    let path = cwd.join(shown);
    let refused = |error: io::Error| Abort::file(&error, shown);
    let Some(place) = TemporaryFile::find(&path).map_err(refused)? else {
        // A device, a pipe, or a link to nothing yet: nothing can be put in its place. Or a
        // directory, which the system refuses.
        let file = File::create(&path).map_err(refused)?;
        return make(ui, &mut BufWriter::with_capacity(BUFFER, file));
    };
    ui.guard.writes();
    let file = place.create().map_err(refused)?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let made = make(ui, &mut out).and_then(|made| {
        out.flush().map_err(refused)?;
        fs::rename(&place.beside, &place.target).map_err(refused)?;
        Ok(made)
    });
    if made.is_err() {
        // An incomplete bundle is useless.
        let _ = fs::remove_file(&place.beside);
    }
    made
}

/// The file, and the one that becomes it.
struct TemporaryFile {
    target: PathBuf,
    beside: PathBuf,
    /// Of the file that is there already.
    mode: Option<u32>,
}

impl TemporaryFile {
    /// `None` if something is there that is no file.
    fn find(path: &Path) -> io::Result<Option<TemporaryFile>> {
        let mode = match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Ok(None),
            Ok(found) => Some(found.mode() & 0o7777),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Ok(None);
                }
                None
            }
            Err(error) => return Err(error),
        };
        // A link stays; the file behind it is replaced.
        let target = match mode {
            Some(_) => path.canonicalize()?,
            None => path.to_owned(),
        };
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        Ok(Some(TemporaryFile {
            beside: target.with_file_name(name),
            target,
            mode,
        }))
    }

    fn create(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let file = options
            .mode(self.mode.unwrap_or(USUAL_MODE))
            .open(&self.beside)?;
        if let Some(mode) = self.mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(file)
    }
}
