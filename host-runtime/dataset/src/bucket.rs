//! A bucket of an S3-like store.
//!
//! - A written file is one object, uploaded by one request.
//! - An object is read through a temporary file, so memory doesn't depend on its size.

mod http;

use crate::error::{Context as _, Error as Failure, Result};
use crate::files::{Files, Found, Lock, WriteFile};
use anyhow::{Context, bail};
use futures_util::TryStreamExt;
use http::Connector;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    Error, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
};
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Longer objects are put in parts.
const PART: u64 = 8 << 20;
/// How often and for how long a request is tried.
const RETRIES: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// How often all of it is done once more, since not every request is tried again: one that deletes isn't, nor one that begins an upload.
const AGAIN: u32 = 3;
/// The wait before the first of these. Each is twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// How long nothing of an object may come while it is read.
const STALLED: Duration = Duration::from_secs(60);

/// Held while files are joined.
const LOCK: &str = ".lock";

/// A bucket, and where in it the dataset is.
pub(crate) struct Bucket {
    bucket: String,
    /// Without slashes at its ends.
    prefix: String,
    store: AmazonS3,
    runtime: Runtime,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "s3://{}{separator}{}", self.bucket, self.prefix)
    }
}

impl Bucket {
    /// The bucket at an address, `s3://BUCKET/PREFIX`. The environment says who asks, and where the store is (`AWS_ACCESS_KEY_ID`,
    /// `AWS_REGION`, `AWS_ENDPOINT_URL` ..).
    pub(crate) fn at(address: &str) -> Result<Bucket> {
        Bucket::open_at(address).context_with(|| format!("failed to open `{address}`"))
    }

    fn open_at(address: &str) -> anyhow::Result<Bucket> {
        let rest = address.strip_prefix("s3://").unwrap_or(address);
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            bail!("`{address}` names no bucket; give s3://BUCKET/PREFIX");
        }
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
        let store = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_retry(retry)
            .with_http_connector(Connector)
            .build()
            .with_context(|| format!("failed to open the bucket `{bucket}`"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let prefix = prefix.trim_matches('/').to_owned();
        Ok(Bucket { bucket: bucket.to_owned(), prefix, store, runtime })
    }

    /// The name of an object. Keys have no characters that a name can't have.
    fn path(&self, key: &str) -> anyhow::Result<Path> {
        let name = if self.prefix.is_empty() { key.to_owned() } else { format!("{}/{key}", self.prefix) };
        Path::parse(&name).with_context(|| format!("`{name}` can't be the name of an object"))
    }

    /// Does something that may be done twice, until it works or fails for good.
    fn again<T>(&self, mut work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
        for n in 0..AGAIN {
            match work() {
                Err(error) if may_pass(&error) => std::thread::sleep(FIRST_WAIT * (1 << n)),
                done => return done,
            }
        }
        work()
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    fn list_all(&self, folder: &str) -> anyhow::Result<Vec<Found>> {
        let path = self.path(folder)?;
        let skip = if self.prefix.is_empty() { 0 } else { self.prefix.len() + 1 };
        self.again(|| {
            let objects = self.store.list(Some(&path)).map_ok(|object| Found {
                key: object.location.as_ref().get(skip..).unwrap_or_default().to_owned(),
                bytes: object.size,
            });
            Ok(self.wait(objects.try_collect())?)
        })
    }

    /// The object in a temporary file; `None` if there is none.
    fn open_once(&self, path: &Path) -> anyhow::Result<Option<File>> {
        self.wait(async {
            let object = match self.store.get(path).await {
                Err(Error::NotFound { .. }) => return Ok(None),
                object => object?,
            };
            let mut file = tempfile::tempfile()?;
            let mut bytes = object.into_stream();
            while let Some(bytes) =
                tokio::time::timeout(STALLED, bytes.try_next()).await.context("the store doesn't go on")??
            {
                file.write_all(&bytes)?;
            }
            file.rewind()?;
            Ok(Some(file))
        })
    }

    /// Puts an empty object if it doesn't exist; returns whether it did so.
    fn create(&self, key: &str) -> anyhow::Result<bool> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let path = self.path(key)?;
        match self.wait(self.store.put_opts(&path, PutPayload::new(), options)) {
            Err(Error::AlreadyExists { .. }) => Ok(false),
            put => put.map(|_| true).with_context(|| format!("failed to write `{self}/{key}`")),
        }
    }

    fn put_once(&self, path: &Path, file: &mut File) -> anyhow::Result<()> {
        file.rewind()?;
        let is_short = file.metadata()?.len() <= PART;
        self.wait(async {
            if is_short {
                self.store.put(path, next(file)?.into()).await?;
                return Ok(());
            }
            let mut upload = self.store.put_multipart(path).await?;
            let put = put_parts(&mut *upload, file).await;
            if put.is_err() {
                // Else its parts stay, unseen, and are paid for.
                let _ = upload.abort().await;
            }
            put
        })
    }
}

impl Files for Bucket {
    fn list(&self, folder: &str) -> Result<Vec<Found>> {
        self.list_all(folder).context_with(|| format!("failed to list `{self}/{folder}`"))
    }

    fn folders(&self, _folder: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open(key)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).context_with(|| format!("failed to read `{self}/{key}`"))?;
        Ok(Some(bytes))
    }

    fn open(&self, key: &str) -> Result<Option<File>> {
        let opened = self.path(key).and_then(|path| self.again(|| self.open_once(&path)));
        opened.context_with(|| format!("failed to read `{self}/{key}`"))
    }

    fn has(&self, key: &str) -> Result<bool> {
        let found = self.path(key).and_then(|path| {
            self.again(|| match self.wait(self.store.head(&path)) {
                Err(Error::NotFound { .. }) => Ok(false),
                head => Ok(head.map(|_| true)?),
            })
        });
        found.context_with(|| format!("failed to read `{self}/{key}`"))
    }

    fn put(&self, key: &str, write: WriteFile<'_>) -> Result<()> {
        let put = || -> anyhow::Result<()> {
            let path = self.path(key)?;
            let mut out = BufWriter::new(tempfile::tempfile()?);
            write(&mut out)?;
            let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            self.again(|| self.put_once(&path, &mut file))
        };
        put().context_with(|| format!("failed to write `{self}/{key}`"))
    }

    fn delete(&self, key: &str) -> Result<()> {
        let deleted = self.path(key).and_then(|path| {
            self.again(|| match self.wait(self.store.delete(&path)) {
                Err(Error::NotFound { .. }) => Ok(()),
                deleted => Ok(deleted?),
            })
        });
        deleted.context_with(|| format!("failed to delete `{self}/{key}`"))
    }

    fn prepare(&self) -> Result<()> {
        // Others' objects in a bucket do no harm.
        Ok(())
    }

    fn lock_alone(&self) -> Result<Lock<'_>> {
        if !self.create(LOCK).context_with(|| format!("failed to lock `{self}`"))? {
            return Err(Failure::new(format!(
                "another process joins the files of `{self}`; if none does, one was killed, and `{self}/{LOCK}` can be deleted"
            )));
        }
        // If it can't be deleted, the next process gets an error.
        Ok(Lock::until(|| _ = self.delete(LOCK)))
    }
}

/// Whether the store or the network failed, rather than the request.
fn may_pass(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(Error::Generic { .. })))
}

async fn put_parts(upload: &mut dyn MultipartUpload, file: &mut File) -> anyhow::Result<()> {
    loop {
        let part = next(file)?;
        if part.is_empty() {
            upload.complete().await?;
            return Ok(());
        }
        upload.put_part(part.into()).await?;
    }
}

/// The next part of a file.
fn next(file: &mut File) -> io::Result<Vec<u8>> {
    let mut part = Vec::new();
    file.take(PART).read_to_end(&mut part)?;
    Ok(part)
}
