//! The parts of a call from which its repository can be opened once more.

use crate::context::{Config, Repo, RepoLocation, set_config};
use crate::ui::{Streams, Ui};
use std::path::PathBuf;
use varve_base::Interrupt;

/// Parts of a call that may be kept while the call goes on, and used from several threads.
#[derive(Debug)]
pub(crate) struct RepoParts {
    cwd: PathBuf,
    location: RepoLocation,
    hidden: bool,
    streams: Streams,
    stop: Interrupt,
}

impl Repo {
    /// The parts of this repository's call.
    pub(crate) fn parts(&self, ui: &Ui) -> RepoParts {
        RepoParts {
            cwd: self.cwd.clone(),
            location: self.location().clone(),
            hidden: self.hidden,
            streams: ui.streams.clone(),
            stop: ui.stop.clone(),
        }
    }
}

impl RepoParts {
    /// The repository once more, with output of its own.
    pub(crate) fn open(&self, config: &Config) -> (Repo, Ui) {
        let mut ui = Ui::new(&self.streams);
        ui.stop = self.stop.clone();
        let mut repo = Repo::new(self.cwd.clone(), self.location.clone(), self.stop.clone());
        repo.hidden = self.hidden;
        let mut config = config.clone();
        let values = config.values().as_ref().clone();
        set_config(&mut repo, &mut ui, &mut config, values);
        (repo, ui)
    }
}
