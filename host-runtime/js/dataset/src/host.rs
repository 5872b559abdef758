//! A dataset's files as JavaScript has them.

use kperf_dataset::{Error, Files, Found, Result, WriteFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;

/// What is asked about the files, as JSON. Keys are names within the dataset.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Question<'a> {
    /// The keys of all files below a folder: `["runs/..", ..]`.
    List(&'a str),
    /// The names of the folders in a folder.
    Folders(&'a str),
    /// The text of a short file, or `null`.
    Get(&'a str),
    /// Whether a file is there.
    Has(&'a str),
    /// Deletes a file, if it is there: `null`.
    Delete(&'a str),
    /// Makes the folder, which must be empty: `null`.
    Prepare(&'a str),
}

/// The host. What fails there doesn't come back.
pub trait Host: Send {
    /// Answers a question, with JSON.
    fn ask(&self, question: &[u8]) -> Vec<u8>;

    /// Writes a file whole or not at all.
    fn put(&self, key: &str, bytes: &[u8]);
}

/// A host's files.
pub struct HostFiles<H>(pub H);

impl<H: Host> HostFiles<H> {
    fn ask<T: DeserializeOwned>(&self, question: Question<'_>) -> Result<T> {
        let failed = |error| Error::because("the host gives no answer", error);
        let question = serde_json::to_vec(&question).map_err(failed)?;
        serde_json::from_slice(&self.0.ask(&question)).map_err(failed)
    }
}

impl<H: Host> Files for HostFiles<H> {
    fn list(&self, folder: &str) -> Result<Vec<Found>> {
        let keys: Vec<String> = self.ask(Question::List(folder))?;
        Ok(keys.into_iter().map(|key| Found { key, bytes: 0 }).collect())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>> {
        self.ask(Question::Folders(folder))
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let text: Option<String> = self.ask(Question::Get(key))?;
        Ok(text.map(String::into_bytes))
    }

    fn open(&self, key: &str) -> Result<Option<File>> {
        Err(Error::new(format!("`{key}` can't be read here")))
    }

    fn has(&self, key: &str) -> Result<bool> {
        self.ask(Question::Has(key))
    }

    fn put(&self, key: &str, write: WriteFile<'_>) -> Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes).map_err(|error| Error::because(format!("failed to write `{key}`"), error))?;
        self.0.put(key, &bytes);
        Ok(())
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.ask(Question::Delete(key))
    }

    fn prepare(&self) -> Result<()> {
        self.ask(Question::Prepare(""))
    }
}
