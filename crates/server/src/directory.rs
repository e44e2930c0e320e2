//! The served directory: its layout, its configuration, and the lock that keeps a second server out.
//!
//! ```text
//! DIR/varve.ini      settings, admins with hashed passwords, the key of the cookies
//! DIR/varve.lock     held by the running server
//! DIR/repos/         repositories, at any depth
//! DIR/databases/     one file per database
//! DIR/indexes/       one directory per database, one file per view group
//! DIR/shared/        copies of databases that are in a shared store
//! DIR/varve.node     id of this server among those of a shared store
//! ```

mod offline;
mod shared;

pub use offline::OfflineDirectory;
pub use shared::SharedStore;

use crate::ServerError;
use crate::auth::password;
use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::{read_if_there, replace};
use varve_base::{DiskStorage, Storage};
use varve_codec::EngineSetting;
use varve_config::{Ini, Settings, edit};
use varve_shared::ObjectStore;

/// The directory's settings.
pub const CONFIG: &str = "varve.ini";
/// Where the next text of the settings is written before it takes their place.
const NEW_CONFIG: &str = "varve.ini.new";
/// Repositories stand below this directory.
pub const REPOSITORIES: &str = "repos";
/// Databases stand in this directory.
pub const DATABASES: &str = "databases";
/// View indexes stand in this directory.
pub const INDEXES: &str = "indexes";
/// Copies of databases that are in a shared store stand in this directory.
pub const COPIES: &str = "shared";
/// Compression of databases and indexes unless `[couchdb] file_compression` says otherwise.
pub const DEFAULT_COMPRESSION: EngineSetting = EngineSetting::ZSTD;
const LOCK: &str = "varve.lock";

/// Name of the admin that the first start makes.
const FIRST_ADMIN: &str = "admin";
/// Letters of made passwords: none that look like another.
const PASSWORD_LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// 20 letters of 5 bits each.
const PASSWORD_LENGTH: usize = 20;

const CONFIG_HEAD: &str = "; Settings of this directory; see docs/configuration.md.\n\
                           ; Passwords below [admins] may be written plainly: the next start hashes them.\n";

/// An admin whose password was made by this start, to be shown once.
#[derive(Clone, Debug)]
pub struct MadeAdmin {
    /// Name to log in with.
    pub name: String,
    /// The password, kept nowhere but hashed.
    pub password: String,
}

/// A directory that belongs to this process until it is dropped.
#[derive(Debug)]
pub struct ServedDirectory {
    /// Where it is.
    pub path: PathBuf,
    /// Its files; paths are relative to it.
    pub storage: Arc<dyn Storage>,
    /// Settings of its `varve.ini`.
    pub settings: Settings,
    /// The same as it is written.
    pub(crate) text: String,
    /// Compression of new databases and indexes.
    pub compression: EngineSetting,
    /// Set if this start made the admin.
    pub made_admin: Option<MadeAdmin>,
    /// Whether there was no configuration before: a first start.
    pub is_new: bool,
    /// The store of its databases, if these are not in the directory.
    pub shared: Option<SharedStore>,
    _lock: File,
}

impl ServedDirectory {
    /// Takes the directory, making it if it is not there, and reads its settings. Plain passwords are
    /// hashed in place; without any admin one is made.
    ///
    /// # Errors
    /// Any [`ServerError`] about the directory or its configuration.
    pub fn open(path: &Path) -> Result<ServedDirectory, ServerError> {
        ServedDirectory::open_with(path, None)
    }

    /// The same with databases in a shared store. The directory has settings and what can be made again.
    ///
    /// # Errors
    /// Any [`ServerError`] about the directory, its configuration or the store.
    pub fn open_shared(
        path: &Path,
        store: Arc<dyn ObjectStore>,
    ) -> Result<ServedDirectory, ServerError> {
        ServedDirectory::open_with(path, Some(store))
    }

    fn open_with(
        path: &Path,
        shared: Option<Arc<dyn ObjectStore>>,
    ) -> Result<ServedDirectory, ServerError> {
        let disk = DiskStorage::new(path).with_private(&[DATABASES, INDEXES, NEW_CONFIG]);
        let storage: &dyn Storage = &disk;
        for directory in [REPOSITORIES, DATABASES, INDEXES] {
            storage.create_directory(Path::new(directory))?;
        }
        protect(path)?;
        let lock = lock(path)?;
        let file = Path::new(CONFIG);
        let shown = path.join(CONFIG);
        let written = read_if_there(storage, file)?;
        let is_new = written.is_none();
        let before = match written {
            Some(bytes) => text_of(&shown, bytes)?,
            None => CONFIG_HEAD.to_owned(),
        };
        let adopted = match &shared {
            None => before.clone(),
            Some(store) => shared::prepare((path, storage), store.as_ref(), &shown, &before)?,
        };
        let shared = shared.map(|store| SharedStore::of_directory(storage, store));
        let shared = shared.transpose()?;
        let (text, made_admin) = complete(&shown, &adopted)?;
        if is_new || text != before {
            replace(storage, file, text.as_bytes())?;
            let only_owner = std::fs::set_permissions(&shown, Permissions::from_mode(0o600));
            only_owner.map_err(|source| ServerError::Protect {
                file: shown.clone(),
                source,
            })?;
        }
        let ini = Ini::parse(&shown, &text)?;
        let settings = Settings::read(&ini)?;
        let compression = compression(&settings)?;
        // From now on errors may be answers to clients.
        let storage = disk.with_names_from_root();
        Ok(ServedDirectory {
            path: path.to_owned(),
            storage: Arc::new(storage),
            settings,
            text,
            compression,
            made_admin,
            is_new,
            shared,
            _lock: lock,
        })
    }
}

/// The settings of a directory, or the defaults where it has none or is not there.
///
/// # Errors
/// Any [`ServerError`] about the configuration.
pub fn read_settings(path: &Path) -> Result<Settings, ServerError> {
    let storage = DiskStorage::new(path);
    let written = read_if_there(&storage, Path::new(CONFIG))?.unwrap_or_default();
    let shown = path.join(CONFIG);
    let text = text_of(&shown, written)?;
    Ok(Settings::read(&Ini::parse(&shown, &text)?)?)
}

/// Compression of databases and indexes.
///
/// # Errors
/// [`ServerError::Config`] for a name that no codec has.
pub(crate) fn compression(settings: &Settings) -> Result<EngineSetting, ServerError> {
    let chosen = settings.file_compression.as_ref();
    let chosen = chosen.map(|setting| setting.parse()).transpose()?;
    Ok(chosen.unwrap_or(DEFAULT_COMPRESSION))
}

fn text_of(shown: &Path, written: Vec<u8>) -> Result<String, ServerError> {
    let file = || shown.to_owned();
    String::from_utf8(written).map_err(|_| ServerError::ConfigText { file: file() })
}

/// Keeps all but the owner out of databases and indexes, also of those that an earlier version made for everybody.
fn protect(path: &Path) -> Result<(), ServerError> {
    for directory in [DATABASES, INDEXES] {
        let file = path.join(directory);
        let only_owner = std::fs::set_permissions(&file, Permissions::from_mode(0o700));
        only_owner.map_err(|source| ServerError::Protect { file, source })?;
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, ServerError> {
    let file = path.join(LOCK);
    let failed = |source| ServerError::Lock {
        file: file.clone(),
        source,
    };
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    let handle = options.open(&file).map_err(failed)?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(std::fs::TryLockError::WouldBlock) => Err(ServerError::InUse {
            directory: path.to_owned(),
        }),
        Err(std::fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Adds the entries that every directory needs: an admin, hashed passwords, an identity, a key for cookies.
pub(crate) fn complete(
    file: &Path,
    text: &str,
) -> Result<(String, Option<MadeAdmin>), ServerError> {
    let ini = Ini::parse(file, text)?;
    let settings = Settings::read(&ini)?;
    let iterations = settings.sessions.iterations;
    let mut text = text.to_owned();
    for admin in &settings.admins {
        if password::Stored::parse(&admin.value).is_none() {
            let hashed = password::hash(&admin.value, iterations)?;
            text = edit::set(&text, "admins", &admin.key, &hashed);
        }
    }
    let mut made = None;
    if settings.admins.is_empty() {
        let password = new_password()?;
        let hashed = password::hash(&password, iterations)?;
        text = edit::set(&text, "admins", FIRST_ADMIN, &hashed);
        made = Some(MadeAdmin {
            name: FIRST_ADMIN.to_owned(),
            password,
        });
    }
    if settings.uuid.is_none() {
        text = edit::set(&text, "couchdb", "uuid", &password::random_hex(16)?);
    }
    if settings.sessions.secret.is_none() {
        text = edit::set(&text, "chttpd_auth", "secret", &password::random_hex(32)?);
    }
    Ok((text, made))
}

fn new_password() -> Result<String, ServerError> {
    let mut random = [0; PASSWORD_LENGTH];
    password::fill_random(&mut random)?;
    let letters = random
        .iter()
        .map(|byte| char::from(PASSWORD_LETTERS[usize::from(byte % 32)]));
    Ok(letters.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_base::OpenMode;

    const QUICK: &str = "[chttpd_auth]\niterations = 2\n";

    #[test]
    fn the_first_start_makes_an_admin_and_later_ones_do_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CONFIG), QUICK).unwrap();
        let first = ServedDirectory::open(dir.path()).unwrap();
        let made = first.made_admin.clone().unwrap();
        assert_eq!((made.name.as_str(), made.password.len()), ("admin", 20));
        let text = std::fs::read_to_string(dir.path().join(CONFIG)).unwrap();
        assert!(
            text.starts_with(QUICK) && !text.contains(&made.password),
            "{text}"
        );
        let mode = std::fs::metadata(dir.path().join(CONFIG))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        drop(first);
        let second = ServedDirectory::open(dir.path()).unwrap();
        assert!(second.made_admin.is_none());
        assert_eq!(
            std::fs::read_to_string(dir.path().join(CONFIG)).unwrap(),
            text
        );
        let stored = password::Stored::parse(&second.settings.admins[0].value).unwrap();
        assert!(stored.verify(&made.password));
    }

    #[test]
    fn databases_and_indexes_are_for_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CONFIG), QUICK).unwrap();
        let mode = |path: &str| {
            let found = std::fs::metadata(dir.path().join(path)).unwrap();
            found.permissions().mode() & 0o777
        };
        for old in ["databases", "indexes"] {
            std::fs::create_dir(dir.path().join(old)).unwrap();
        }
        let directory = ServedDirectory::open(dir.path()).unwrap();
        assert_eq!((mode("databases"), mode("indexes")), (0o700, 0o700));
        let storage = &directory.storage;
        storage.create_directory(Path::new("indexes/db")).unwrap();
        for file in ["databases/db.varve", "indexes/db/a"] {
            storage.open(Path::new(file), OpenMode::CreateNew).unwrap();
            assert_eq!(mode(file), 0o600, "{file}");
        }
        assert_eq!(mode("indexes/db"), 0o700);
    }

    #[test]
    fn plain_passwords_are_hashed_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("{QUICK}\n; us\n[admins]\nann = secret ; hers\nbob = word\n");
        std::fs::write(dir.path().join(CONFIG), text).unwrap();
        let directory = ServedDirectory::open(dir.path()).unwrap();
        assert!(directory.made_admin.is_none());
        let stored = password::Stored::parse(&directory.settings.admins[0].value).unwrap();
        assert!(stored.verify("secret") && !stored.verify("word"));
        let text = std::fs::read_to_string(dir.path().join(CONFIG)).unwrap();
        assert!(
            text.contains("; us\n[admins]\nann = -pbkdf2:sha256-"),
            "{text}"
        );
        assert!(
            !text.contains("secret\n") && !text.contains("= word"),
            "{text}"
        );
    }

    #[test]
    fn a_second_server_is_refused_and_a_bad_value_stops_the_start() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CONFIG), QUICK).unwrap();
        let first = ServedDirectory::open(dir.path()).unwrap();
        let second = ServedDirectory::open(dir.path()).unwrap_err();
        assert!(
            second.to_string().contains("is served by another process"),
            "{second}"
        );
        drop(first);
        std::fs::write(
            dir.path().join(CONFIG),
            "[couchdb]\nfile_compression = zstd_23",
        )
        .unwrap();
        let refused = ServedDirectory::open(dir.path()).unwrap_err().to_string();
        let words = "varve.ini:2: couchdb.file_compression must be none, snappy, \
                     deflate_1 to deflate_9, zstd or zstd_1 to zstd_22, not \"zstd_23\"";
        assert!(refused.ends_with(words), "{refused}");
    }
}
