//! Keeping the bundle that a repository sends.

use crate::context::Repo;
use crate::remote::bundle_output::BundleOutput;
use crate::ui::{Abort, Ui};
use std::io::{self, Read, Write};
use varve_exchange::client::peer::Remote;
use varve_exchange::client::pull::BundleRequest;
use varve_repo::RepoError;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// Writes the bundle that is asked for to the file that `name` names.
pub(super) fn save(
    repo: &Repo,
    ui: &mut Ui,
    remote: &mut Remote,
    request: &BundleRequest,
    name: &[u8],
) -> Result<(), Abort> {
    let mut bytes = remote.bundle(request)?;
    let mut target = BundleOutput::File(name.to_vec());
    target.write(&repo.cwd, ui, &mut |ui, out| copy(ui, &mut bytes, out))
}

fn copy(ui: &Ui, from: &mut dyn Read, out: &mut dyn Write) -> Result<(), Abort> {
    let mut buffer = vec![0; BUFFER];
    loop {
        ui.stop.check().map_err(RepoError::from)?;
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => out.write_all(&buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Abort::input(format!("cannot read the bundle: {error}"))),
        }
    }
}
