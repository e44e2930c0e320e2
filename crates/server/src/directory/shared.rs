//! A served directory whose databases are in a shared store: what the store must be, and what the directory must not have.

use super::{CONFIG, DATABASES, REPOSITORIES, ServedDirectory};
use crate::ServerError;
use crate::auth::password;
use crate::runtime::ClusterView;
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_base::storage::{read_if_there, replace};
use varve_config::{Ini, Settings, edit};
use varve_shared::{ObjectStore, SystemClock, probe, read_or_create};

/// The object with what all servers of a store have in common, in the form of a settings file.
const IDENTITY: &str = "cluster/identity";

/// The file with the id of this server among those of its store.
const NODE: &str = "varve.node";
/// Length of that id in bytes.
const NODE_BYTES: usize = 16;
/// Length of the server's identity in bytes.
const UUID_BYTES: usize = 16;
/// Length of the key of cookies in bytes.
const SECRET_BYTES: usize = 32;

/// The shared store of a directory's databases.
#[derive(Clone, Debug)]
pub struct SharedStore {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// View of the other servers of the store.
    pub(crate) view: Arc<ClusterView>,
}

impl SharedStore {
    /// Reads the directory's id, which one process at a time has, or makes one.
    pub(super) fn of_directory(
        storage: &dyn Storage,
        store: Arc<dyn ObjectStore>,
    ) -> Result<SharedStore, ServerError> {
        let written = read_if_there(storage, Path::new(NODE))?;
        let known = written.and_then(|bytes| String::from_utf8(bytes).ok());
        let is_id = |id: &String| {
            id.len() == 2 * NODE_BYTES && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let node = match known.filter(is_id) {
            Some(node) => node,
            None => {
                let node = password::random_hex(NODE_BYTES)?;
                replace(storage, Path::new(NODE), node.as_bytes())?;
                node
            }
        };
        let view = Arc::new(ClusterView::new(node));
        Ok(SharedStore { store, view })
    }
}

/// Checks the store, the directory and its settings `text`, and returns these with what all servers of the store have in
/// common.
///
/// # Errors
/// [`ServerError::Shared`], [`ServerError::OwnContent`], [`ServerError::NotShared`], [`ServerError::OtherIdentity`].
pub(super) fn prepare(
    (path, storage): (&Path, &dyn Storage),
    store: &dyn ObjectStore,
    file: &Path,
    text: &str,
) -> Result<String, ServerError> {
    refuse_own_content(path, storage)?;
    let own = Settings::read(&Ini::parse(file, text)?)?;
    refuse_lazy_sync(file, &own)?;
    probe(store)?;
    adopt_identity(store, file, text, own)
}

impl ServedDirectory {
    /// Refuses settings that a shared store cannot honour, or that all of its servers must have as they are.
    ///
    /// # Errors
    /// [`ServerError::NotShared`], [`ServerError::OtherIdentity`].
    pub(crate) fn check_shared(&self, settings: &Settings) -> Result<(), ServerError> {
        if self.shared.is_none() {
            return Ok(());
        }
        let file = Path::new(CONFIG);
        refuse_lazy_sync(file, settings)?;
        let values = |of: &Settings| [of.uuid.clone(), of.sessions.secret.clone()];
        let names = ["couchdb.uuid", "chttpd_auth.secret"].into_iter();
        let pairs = values(settings).into_iter().zip(values(&self.settings));
        let mut other = names.zip(pairs).filter(|(_, (new, own))| new != own);
        match other.next() {
            None => Ok(()),
            Some((setting, _)) => Err(ServerError::OtherIdentity {
                file: file.to_owned(),
                setting: setting.to_owned(),
            }),
        }
    }
}

/// Commits are in the store before they are acknowledged.
fn refuse_lazy_sync(file: &Path, settings: &Settings) -> Result<(), ServerError> {
    match settings.sync_interval {
        None => Ok(()),
        Some(_) => Err(ServerError::NotShared {
            file: file.to_owned(),
            setting: "couchdb.durability",
        }),
    }
}

/// Refuses a directory with databases or repositories of its own, which would not be served.
fn refuse_own_content(path: &Path, storage: &dyn Storage) -> Result<(), ServerError> {
    for directory in [DATABASES, REPOSITORIES] {
        if !storage.list(Path::new(directory))?.is_empty() {
            let directory = path.join(directory);
            return Err(ServerError::OwnContent { directory });
        }
    }
    Ok(())
}

/// The settings with the server's identity and the key of cookies as all servers of the store have them. The first server
/// stores its own, or makes them.
fn adopt_identity(
    store: &dyn ObjectStore,
    file: &Path,
    text: &str,
    own: Settings,
) -> Result<String, ServerError> {
    let random = |set: Option<String>, len| set.map_or_else(|| password::random_hex(len), Ok);
    let mine = edit::set(
        "",
        "couchdb",
        "uuid",
        &random(own.uuid.clone(), UUID_BYTES)?,
    );
    let secret = random(own.sessions.secret.clone(), SECRET_BYTES)?;
    let mine = edit::set(&mine, "chttpd_auth", "secret", &secret);
    let clock = SystemClock::default();
    let stored = read_or_create(store, &clock, IDENTITY, mine.as_bytes());
    let stored = stored.map_err(varve_shared::SharedError::from)?;
    let shown = Path::new(IDENTITY);
    let stored = Settings::read(&Ini::parse(shown, &super::text_of(shown, stored)?)?)?;
    let values = [
        ("couchdb", "uuid", own.uuid, stored.uuid),
        (
            "chttpd_auth",
            "secret",
            own.sessions.secret,
            stored.sessions.secret,
        ),
    ];
    let mut text = text.to_owned();
    for (section, key, own, stored) in values {
        match (own, stored) {
            (None, Some(stored)) => text = edit::set(&text, section, key, &stored),
            (own, stored) if own == stored => {}
            _ => {
                let (file, setting) = (file.to_owned(), format!("{section}.{key}"));
                return Err(ServerError::OtherIdentity { file, setting });
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use crate::ServerError;
    use crate::directory::{CONFIG, ServedDirectory};
    use std::path::Path;
    use std::sync::Arc;
    use varve_shared::{DirectoryStore, ObjectStore};

    const QUICK: &str = "[chttpd_auth]\niterations = 2\n";

    fn open(dir: &Path, store: &Path) -> Result<ServedDirectory, ServerError> {
        std::fs::create_dir_all(dir).unwrap();
        let config = dir.join(CONFIG);
        if !config.exists() {
            std::fs::write(config, QUICK).unwrap();
        }
        let store: Arc<dyn ObjectStore> = Arc::new(DirectoryStore::new(store).unwrap());
        ServedDirectory::open_shared(dir, store)
    }

    #[test]
    fn all_directories_of_a_store_have_one_identity() {
        let scratch = tempfile::tempdir().unwrap();
        let store = scratch.path().join("store");
        let of = |name: &str| {
            let opened = open(&scratch.path().join(name), &store).unwrap();
            (
                opened.settings.uuid.clone(),
                opened.settings.sessions.secret.clone(),
            )
        };
        let first = of("a");
        assert!(first.0.is_some() && first.1.is_some());
        assert_eq!(of("b"), first);
        assert_eq!(of("a"), first, "it is the same at the next start");
        let other = format!("{QUICK}secret = other\n");
        std::fs::create_dir(scratch.path().join("c")).unwrap();
        std::fs::write(scratch.path().join("c").join(CONFIG), other).unwrap();
        let refused = open(&scratch.path().join("c"), &store).unwrap_err();
        assert!(
            matches!(refused, ServerError::OtherIdentity { .. }),
            "{refused}"
        );
    }

    #[test]
    fn content_and_settings_that_are_not_shared_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let store = scratch.path().join("store");
        for inside in ["repos/r", "databases/d.varve"] {
            let dir = scratch.path().join(inside.replace('/', "-"));
            std::fs::create_dir_all(dir.join(inside)).unwrap();
            let refused = open(&dir, &store).unwrap_err();
            assert!(
                matches!(refused, ServerError::OwnContent { .. }),
                "{refused}"
            );
        }
        let dir = scratch.path().join("lazy");
        std::fs::create_dir(&dir).unwrap();
        let text = "[couchdb]\ndurability = interval:100ms\n";
        std::fs::write(dir.join(CONFIG), text).unwrap();
        let refused = open(&dir, &store).unwrap_err();
        assert!(
            matches!(refused, ServerError::NotShared { .. }),
            "{refused}"
        );
    }
}
