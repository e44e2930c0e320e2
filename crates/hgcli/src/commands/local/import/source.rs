//! Where patches come from: files, the standard input, and servers.

use crate::context::{Config, Repo};
use crate::remote::{download, peers};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_exchange::ExchangeError;

/// The text of a patch, and the name that messages have for it. Says which one is begun.
pub(super) fn read(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    base: &[u8],
    typed: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), Abort> {
    if typed == b"-" {
        ui.status("applying patch from stdin\n")?;
        let mut text = Vec::new();
        ui.streams.input().read_to_end(&mut text)?;
        return Ok((text, b"stdin".to_vec()));
    }
    let base = Path::new(OsStr::from_bytes(base));
    let name = base.join(OsStr::from_bytes(typed));
    let name = name.as_os_str().as_bytes().to_vec();
    ui.status([b"applying ", &name[..], b"\n"].concat())?;
    let is_remote = [&b"http://"[..], b"https://"]
        .iter()
        .any(|scheme| name.starts_with(scheme));
    let text = match is_remote {
        true => fetch(repo, ui, config, &name)?,
        false => read_file(repo, &name)?,
    };
    Ok((text, name))
}

fn fetch(repo: &Repo, ui: &mut Ui, config: &Config, url: &[u8]) -> Result<Vec<u8>, Abort> {
    let file = download::address(url);
    let peer = peers::over_http(repo, config, &file)?;
    let mut body = download::fetch(repo, ui, config, &file, peer)??;
    let mut text = Vec::new();
    body.read_to_end(&mut text).map_err(ExchangeError::Read)?;
    Ok(text)
}

fn read_file(repo: &Repo, name: &[u8]) -> Result<Vec<u8>, Abort> {
    let shown = String::from_utf8_lossy(name);
    let scheme = shown.split_once("://").map(|(scheme, _)| scheme);
    if let Some(scheme) = scheme.filter(|scheme| *scheme != "file") {
        return Err(Abort::input(format!(
            "cannot read a patch over {scheme}: {shown}"
        )));
    }
    let path = name.strip_prefix(b"file://").unwrap_or(name);
    let path = Path::new(OsStr::from_bytes(path));
    std::fs::read(repo.cwd.join(path)).map_err(|error| Abort::file(&error, path))
}
