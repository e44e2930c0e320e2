//! Addresses of stores of objects: a directory, or a bucket of S3.

use std::path::PathBuf;
use std::sync::Arc;
use varve_s3::{S3Address, S3Error, S3Settings, S3Store};
use varve_shared::{DirectoryStore, ObjectStore, StoreError};

const DIRECTORY_SCHEME: &str = "file://";

/// Forms of an address, for help and messages.
const FORMS: &str = "file:///PATH or s3://BUCKET/PREFIX";

/// The address of a store, which need not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// A directory, by its absolute path.
    Directory(PathBuf),
    /// A part of a bucket.
    S3(S3Address),
}

/// An address is none, or its store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreAddressError {
    /// The text has none of the forms.
    #[error("{0} is no store that this version knows: it must be {FORMS}")]
    UnknownForm(String),
    /// The path does not begin with a slash.
    #[error("{0} is no store: behind file:// there must be an absolute path")]
    RelativePath(String),
    /// The directory is not there.
    #[error("there is no directory {}", .0.display())]
    NoDirectory(PathBuf),
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] StoreError),
    /// The bucket cannot be used.
    #[error("cannot open {address}: {source}")]
    S3 {
        /// Address of the store.
        address: String,
        /// The reason.
        source: S3Error,
    },
    /// The address is none of S3.
    #[error(transparent)]
    S3Address(S3Error),
}

impl StoreAddress {
    pub(crate) fn parse(text: &str) -> Result<StoreAddress, StoreAddressError> {
        if S3Address::has_scheme(text) {
            let address = S3Address::parse(text).map_err(StoreAddressError::S3Address)?;
            return Ok(StoreAddress::S3(address));
        }
        let path = text.strip_prefix(DIRECTORY_SCHEME).map(PathBuf::from);
        let path = path.ok_or_else(|| StoreAddressError::UnknownForm(text.to_owned()))?;
        match path.is_absolute() {
            true => Ok(StoreAddress::Directory(path)),
            false => Err(StoreAddressError::RelativePath(text.to_owned())),
        }
    }

    /// Opens the store. A directory is made unless it is there; a bucket must be there.
    pub(crate) fn open(&self) -> Result<Arc<dyn ObjectStore>, StoreAddressError> {
        match self {
            StoreAddress::Directory(path) => Ok(Arc::new(DirectoryStore::new(path)?)),
            StoreAddress::S3(address) => {
                let settings = S3Settings::from_environment();
                let opened = settings.and_then(|it| S3Store::connect(address.clone(), &it));
                let opened = opened.map_err(|source| StoreAddressError::S3 {
                    address: address.to_string(),
                    source,
                })?;
                Ok(Arc::new(opened))
            }
        }
    }

    /// Opens a store that is there.
    pub(crate) fn open_existing(&self) -> Result<Arc<dyn ObjectStore>, StoreAddressError> {
        match self {
            StoreAddress::Directory(path) if !path.is_dir() => {
                Err(StoreAddressError::NoDirectory(path.clone()))
            }
            _ => self.open(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_forms_are_refused_by_name() {
        for text in [
            "/path",
            "path",
            "http://host/path",
            "gs://bucket/x",
            "file:/path",
            "S3://bucket",
            "",
        ] {
            let refused = StoreAddress::parse(text).unwrap_err().to_string();
            assert!(
                refused.starts_with(text) && refused.contains(FORMS),
                "{refused}"
            );
        }
        for text in ["file://path", "file://"] {
            let refused = StoreAddress::parse(text).unwrap_err().to_string();
            assert!(refused.contains("an absolute path"), "{refused}");
        }
        let directory = StoreAddress::parse("file:///a/b").unwrap();
        assert_eq!(directory, StoreAddress::Directory("/a/b".into()));
        assert!(matches!(
            StoreAddress::parse("s3://bucket/x"),
            Ok(StoreAddress::S3(_))
        ));
    }
}
