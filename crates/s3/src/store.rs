//! The store: requests of S3 for the calls of [`ObjectStore`].

use crate::address::S3Address;
use crate::error::{Refusal, S3Error};
use crate::runtime::Runtime;
use crate::settings::S3Settings;
use crate::transport::{Connector, LONGEST};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path as Key;
use object_store::{
    ObjectMeta, ObjectStore as _, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
};
use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use varve_shared::{CreateOutcome, ObjectInfo, ObjectStore, StoreError};

/// Attempts of a request that changes nothing, or that may be made twice.
const ATTEMPTS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// Ten million objects, as a page has at most 1,000.
const MOST_PAGES: usize = 10_000;

/// Objects in a bucket, below a prefix.
#[derive(Debug)]
pub struct S3Store {
    address: S3Address,
    bucket: Arc<AmazonS3>,
    runtime: Runtime,
}

impl S3Store {
    /// A store whose bucket is there and may be listed.
    ///
    /// # Errors
    /// [`S3Error::NoBucket`], [`S3Error::Forbidden`], [`S3Error::NoAnswer`] and others.
    pub fn connect(address: S3Address, settings: &S3Settings) -> Result<S3Store, S3Error> {
        let no_client = |error: object_store::Error| S3Error::Client(error.to_string());
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&address.bucket)
            .with_region(&settings.region)
            .with_endpoint(&settings.endpoint)
            .with_access_key_id(&settings.access_key)
            .with_secret_access_key(&settings.secret_key)
            // Settled in `S3Settings`.
            .with_allow_http(true)
            .with_http_connector(Connector::new(settings)?)
            .with_disable_bulk_delete(true)
            .with_retry(never());
        if let Some(token) = &settings.session_token {
            builder = builder.with_token(token);
        }
        let store = S3Store {
            address,
            bucket: Arc::new(builder.build().map_err(no_client)?),
            runtime: Runtime::new()?,
        };
        match store.page(store.address.key_in_bucket(""), Some(1), None) {
            Ok(_) => Ok(store),
            Err(S3Error::Refused(Refusal { status: 404, .. }) | S3Error::Absent) => {
                Err(S3Error::NoBucket {
                    bucket: store.address.bucket.clone(),
                    endpoint: settings.endpoint.clone(),
                })
            }
            Err(error) => Err(error),
        }
    }

    fn key(&self, key: &str) -> Result<Key, S3Error> {
        let key = self.address.key_in_bucket(key);
        Key::parse(&key).map_err(|_| S3Error::BadKey(key))
    }

    /// One page of the keys of the bucket that begin with `prefix`, and the token of the next.
    fn page(
        &self,
        prefix: String,
        max_keys: Option<usize>,
        page_token: Option<String>,
    ) -> Result<(Vec<ObjectMeta>, Option<String>), S3Error> {
        self.repeat(move |bucket| {
            let options = PaginatedListOptions {
                max_keys,
                page_token: page_token.clone(),
                ..PaginatedListOptions::default()
            };
            let prefix = prefix.clone();
            async move {
                let page = bucket.list_paginated(Some(&prefix), options).await?;
                Ok((page.result.objects, page.page_token))
            }
        })
    }

    /// Runs a request that may be made twice, until it succeeds or has failed often enough.
    fn repeat<T, F>(
        &self,
        request: impl Fn(Arc<AmazonS3>) -> F + Send + 'static,
    ) -> Result<T, S3Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, object_store::Error>> + Send + 'static,
    {
        let bucket = Arc::clone(&self.bucket);
        self.runtime.wait(async move {
            let mut wait = FIRST_WAIT;
            let mut attempt = 1;
            loop {
                let failed = match request(Arc::clone(&bucket)).await {
                    Ok(done) => return Ok(done),
                    Err(error) => failure(error),
                };
                if attempt == ATTEMPTS || !failed.is_transient() {
                    return Err(failed);
                }
                tokio::time::sleep(with_jitter(wait)).await;
                wait *= 2;
                attempt += 1;
            }
        })
    }

    fn create_once(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, S3Error> {
        if bytes.len() > LONGEST {
            let (len, limit) = (bytes.len() as u64, LONGEST as u64);
            return Err(S3Error::TooLong { len, limit });
        }
        let (key, bucket) = (self.key(key)?, Arc::clone(&self.bucket));
        let payload = PutPayload::from(bytes.to_vec());
        self.runtime.wait(async move {
            let options = PutOptions::from(PutMode::Create);
            match bucket.put_opts(&key, payload, options).await {
                Ok(_) => Ok(CreateOutcome::Created),
                Err(object_store::Error::AlreadyExists { .. }) => Ok(CreateOutcome::AlreadyThere),
                Err(error) => Err(failure(error)),
            }
        })
    }

    fn read_whole(&self, key: &str) -> Result<Option<Vec<u8>>, S3Error> {
        let key = self.key(key)?;
        let read = self.repeat(move |bucket| {
            let key = key.clone();
            async move { bucket.get(&key).await?.bytes().await }
        });
        Ok(present(read)?.map(Vec::from))
    }

    fn len_of(&self, key: &str) -> Result<Option<u64>, S3Error> {
        let key = self.key(key)?;
        let found = self.repeat(move |bucket| {
            let key = key.clone();
            async move { bucket.head(&key).await }
        });
        Ok(present(found)?.map(|it| it.size))
    }

    fn list_all(&self, prefix: &str) -> Result<Vec<ObjectInfo>, S3Error> {
        let prefix = self.address.key_in_bucket(prefix);
        let (mut found, mut token) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let (objects, next) = self.page(prefix.clone(), None, token)?;
            found.extend(objects.iter().filter_map(|it| self.info(it)));
            token = next;
            if token.is_none() {
                found.sort_by(|a, b| a.key.cmp(&b.key));
                return Ok(found);
            }
        }
        Err(S3Error::EndlessListing(MOST_PAGES))
    }

    fn info(&self, object: &ObjectMeta) -> Option<ObjectInfo> {
        let millis = object.last_modified.timestamp_millis();
        Some(ObjectInfo {
            key: self
                .address
                .key_in_store(object.location.as_ref())?
                .to_owned(),
            len: object.size,
            modified: Duration::from_millis(u64::try_from(millis).unwrap_or(0)),
        })
    }

    fn remove_one(&self, key: &str) -> Result<(), S3Error> {
        let key = self.key(key)?;
        let removed = self.repeat(move |bucket| {
            let key = key.clone();
            async move { bucket.delete(&key).await }
        });
        present(removed).map(|_| ())
    }
}

impl ObjectStore for S3Store {
    fn address(&self) -> String {
        self.address.to_string()
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
        let created = self.create_once(key, bytes);
        created.map_err(|error| error.of("create", key))
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_whole(key).map_err(|error| error.of("read", key))
    }

    fn object_len(&self, key: &str) -> Result<Option<u64>, StoreError> {
        self.len_of(key).map_err(|error| error.of("look at", key))
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let found = self.list_all(prefix);
        found.map_err(|error| error.of("list", prefix))
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.remove_one(key)
            .map_err(|error| error.of("remove", key))
    }
}

/// No repetitions by `object_store`, whose second creation would find the first one and call it that of another.
fn never() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

/// `None` for an absent object.
fn present<T>(result: Result<T, S3Error>) -> Result<Option<T>, S3Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(S3Error::Absent) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The reason at the end of the chain that `object_store` wraps around it.
fn failure(error: object_store::Error) -> S3Error {
    if let object_store::Error::NotFound { .. } = error {
        return S3Error::Absent;
    }
    let mut cause: &(dyn Error + 'static) = &error;
    loop {
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return match refusal.status {
                401 | 403 => S3Error::Forbidden(refusal.clone()),
                _ => S3Error::Refused(refusal.clone()),
            };
        }
        if let Some(S3Error::TooLong { len, limit }) = cause.downcast_ref() {
            let (len, limit) = (*len, *limit);
            return S3Error::TooLong { len, limit };
        }
        match cause.source() {
            Some(source) => cause = source,
            None => return S3Error::NoAnswer(cause.to_string()),
        }
    }
}

/// Half to all of a time, so that clients that failed together do not come back together.
fn with_jitter(wait: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(0);
    wait.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0)
}
