//! What a program without the clients of stores has in their place.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::{Error, StoreOptions, Stored, Tag};

/// An object in a store. This build has no stores, so there is none.
#[derive(Clone, Debug)]
pub struct Object(Infallible);

/// Reads an object. This build has no stores, so there is none.
#[derive(Debug)]
pub struct ObjectReader(Infallible);

impl Object {
    /// Returns [`Error::NotBuilt`].
    pub fn open(_url: &str, _options: &StoreOptions) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// Returns [`Error::NotBuilt`].
    pub fn exists(_url: &str, _options: &StoreOptions) -> Result<bool, Error> {
        Err(Error::NotBuilt)
    }

    /// Returns [`Error::NotBuilt`].
    pub fn put(_url: &str, _bytes: Vec<u8>, _options: &StoreOptions) -> Result<(), Error> {
        Err(Error::NotBuilt)
    }

    /// The URL without its query and user information.
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        match self.0 {}
    }

    /// Starts to read the object at its first byte.
    pub fn reader(&self) -> ObjectReader {
        match self.0 {}
    }

    /// The first error of any reader.
    pub fn failure(&self) -> Option<Error> {
        match self.0 {}
    }
}

impl Read for ObjectReader {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, _to: SeekFrom) -> io::Result<u64> {
        match self.0 {}
    }
}

/// An object that is being written. This build has no stores, so there is none.
#[derive(Debug)]
pub struct Upload(Infallible);

impl Upload {
    /// Returns [`Error::NotBuilt`].
    pub fn create(_url: &str, _options: &StoreOptions) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// Completes the object.
    pub fn finish(self) -> Result<Option<Tag>, Error> {
        match self.0 {}
    }
}

impl Write for Upload {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Objects of a dataset. This build has no stores, so there is none.
#[derive(Clone, Debug)]
pub struct Folder(Infallible);

impl Folder {
    /// Returns [`Error::NotBuilt`].
    pub fn at(_url: &str, _options: &StoreOptions) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// The URL of an object in it, without a query.
    pub fn url(&self, _name: &str) -> String {
        match self.0 {}
    }

    /// All objects in it and in the folders below.
    pub fn all(&self) -> Result<Vec<Stored>, Error> {
        match self.0 {}
    }

    /// Opens an object in it.
    pub fn open(&self, _name: &str) -> Result<Object, Error> {
        match self.0 {}
    }

    /// True if the object exists.
    pub fn has(&self, _name: &str) -> Result<bool, Error> {
        match self.0 {}
    }

    /// Writes an object unless it exists.
    pub fn put_new(&self, _name: &str, _bytes: Vec<u8>) -> Result<bool, Error> {
        match self.0 {}
    }

    /// Names of the objects and folders in it, without those in folders below.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        match self.0 {}
    }

    /// Names of the objects in it, without those in folders below.
    pub fn objects(&self) -> Result<Vec<String>, Error> {
        match self.0 {}
    }

    /// The tags of the objects in it.
    pub fn tags(&self) -> Result<BTreeMap<String, Option<Tag>>, Error> {
        match self.0 {}
    }

    /// Begins to write an object in it.
    pub fn create(&self, _name: &str) -> Result<Upload, Error> {
        match self.0 {}
    }

    /// Removes an object in it, if it exists.
    pub fn remove(&self, _name: &str) -> Result<(), Error> {
        match self.0 {}
    }
}
