//! The hook of Mercurial's extension `acl`.

use super::HookRunner;
use crate::ui::environment::Environment;
use crate::ui::user;
use std::io::Write;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_repo::acl::{AccessControl, AccessEvent};
use varve_repo::hooks::{HookArgs, HookCommand, HookRefusal, RefusalCause};
use varve_repo::{OpenOptions, RepoError, Repository};

impl HookRunner {
    /// Checks what the hook `hook` is called about, and reports a refusal.
    pub(super) fn control_access(
        &self,
        hook: &HookCommand,
        args: &HookArgs,
    ) -> Result<(), HookRefusal> {
        let name = String::from_utf8_lossy(&hook.name);
        if self.verbosity.calls {
            self.say(&format!("calling hook {name}: hgext.acl.hook\n"));
        }
        let control = AccessControl {
            config: &self.config,
            files: &Environment,
            directory: &self.cwd,
            process_user: &|| user::login().into_bytes(),
            report: &|event: AccessEvent<'_>| {
                if self.verbosity.steps {
                    self.say(&format!("{event}\n"));
                }
            },
        };
        let kind = String::from_utf8_lossy(hook.kind());
        control
            .check(&kind, args, &|| self.open_pending())
            .map_err(|refusal| {
                let line = refusal.report(&hook.name);
                // Nothing is left to do if even standard error is gone.
                let _ = self.streams.err().write_all(line.as_bytes());
                HookRefusal {
                    words: refusal.to_string(),
                    cause: RefusalCause::AccessControl,
                }
            })
    }

    fn open_pending(&self) -> Result<Repository, RepoError> {
        let storage = Arc::new(DiskStorage::new(std::path::Path::new("")));
        let opening = OpenOptions {
            pending: true,
            ..OpenOptions::default()
        };
        Repository::open_with(storage, &self.directory, opening)
    }

    fn say(&self, line: &str) {
        // Nothing is left to do if the standard output is gone.
        let _ = self.streams.out().write_all(line.as_bytes());
    }
}
