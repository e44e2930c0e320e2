//! Files that other servers have: clone bundles and patches.

use super::peers::{self, PeerAddress};
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::io::Read;
use varve_exchange::ExchangeError;
use varve_exchange::apply::BookmarkExchange;
use varve_exchange::client::peer::{HttpPeer, Transport};

/// The address of a file.
pub(crate) fn address(url: &[u8]) -> PeerAddress {
    PeerAddress {
        url: url.to_vec(),
        branch: None,
        name: None,
        push_rev: None,
        bookmarks: BookmarkExchange::default(),
    }
}

/// Gets a file, and asks the user for a login if the server wants one.
pub(crate) fn fetch(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    file: &PeerAddress,
    mut peer: HttpPeer,
) -> Result<Result<Box<dyn Read + Send>, ExchangeError>, Abort> {
    match peer.fetch() {
        Err(ExchangeError::LoginNeeded { url, realm }) => {
            let login = peers::prompt_login(repo, ui, config, file, (url, &realm))?;
            peer.log_in(login);
            Ok(peer.fetch())
        }
        fetched => Ok(fetched),
    }
}
