//! Columns of text.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, NullBufferBuilder, StringArray};
use foldhash::fast::RandomState;

/// Number of texts that are found by their address, without the hash table: the addresses of the
/// flows of a batch and the names of enumerations are each at one place, and a batch has few others.
const REMEMBERED: usize = 256;

/// Encodes text cells as a dictionary, in order of first appearance.
pub(crate) fn texts<'a>(cells: impl ExactSizeIterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut texts = Texts::with_capacity(cells.len());
    for cell in cells {
        texts.push(cell);
    }
    texts.finish()
}

/// Encodes the texts of values as a dictionary, and formats each different value once.
pub(crate) fn displayed<T: Copy + Eq + Hash + Display>(
    cells: impl ExactSizeIterator<Item = Option<T>>,
) -> ArrayRef {
    let mut names = Vec::new();
    let mut keys: HashMap<T, i32, RandomState> = HashMap::default();
    let mut last: Option<(T, i32)> = None;
    let mut key = |value: T| {
        // Rows of one flow often follow each other.
        if let Some((known, key)) = last
            && known == value
        {
            return key;
        }
        let key = *keys.entry(value).or_insert_with(|| {
            names.push(value.to_string());
            last_key(names.len())
        });
        last = Some((value, key));
        key
    };
    let keys: Int32Array = cells.map(|cell| cell.map(&mut key)).collect();
    dictionary(keys, names.iter().map(String::as_str))
}

/// The cells so far.
// Separate from `texts`, which is compiled once for each column: this is compiled once.
struct Texts<'a> {
    names: Names<'a>,
    keys: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl<'a> Texts<'a> {
    fn with_capacity(cells: usize) -> Self {
        Self {
            names: Names::default(),
            keys: Vec::with_capacity(cells),
            nulls: NullBufferBuilder::new(cells),
        }
    }

    fn push(&mut self, cell: Option<&'a str>) {
        self.keys.push(cell.map_or(0, |text| self.names.key(text)));
        self.nulls.append(cell.is_some());
    }

    fn finish(mut self) -> ArrayRef {
        let keys = Int32Array::new(self.keys.into(), self.nulls.finish());
        dictionary(keys, self.names.texts.into_iter())
    }
}

fn dictionary<'a>(keys: Int32Array, names: impl Iterator<Item = &'a str>) -> ArrayRef {
    let names = StringArray::from_iter_values(names);
    let array = DictionaryArray::try_new(keys, Arc::new(names));
    Arc::new(array.expect("each key is the place of a text"))
}

/// The key of the last of `texts` texts.
fn last_key(texts: usize) -> i32 {
    i32::try_from(texts - 1).expect("a batch has fewer rows")
}

/// Different texts, each with its place as its key.
struct Names<'a> {
    texts: Vec<&'a str>,
    keys: HashMap<&'a str, i32, RandomState>,
    /// Texts with their keys, by [`place`].
    remembered: [Option<(&'a str, i32)>; REMEMBERED],
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            keys: HashMap::default(),
            remembered: [None; REMEMBERED],
        }
    }
}

impl<'a> Names<'a> {
    fn key(&mut self, text: &'a str) -> i32 {
        let place = place(text);
        // The same bytes of memory are the same text: they live as long as the cells.
        if let Some((known, key)) = self.remembered[place]
            && std::ptr::eq(known, text)
        {
            return key;
        }
        let key = *self.keys.entry(text).or_insert_with(|| {
            self.texts.push(text);
            last_key(self.texts.len())
        });
        self.remembered[place] = Some((text, key));
        key
    }
}

/// A hash of the text's address (Knuth, The Art of Computer Programming, section 6.4).
fn place(text: &str) -> usize {
    (text.as_ptr().addr().wrapping_mul(0x9E37_79B9) >> 24) % REMEMBERED
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn each_text_is_stored_once_and_read_back_in_its_row() {
        let cells: Vec<Option<String>> = (0..100_u32)
            .map(|row| (row % 7 > 0).then(|| format!("10.0.0.{}", row * row % 11)))
            .collect();
        let array = texts(cells.iter().map(Option::as_deref));
        let array = array.as_dictionary::<Int32Type>();
        let read = array.downcast_dict::<StringArray>().unwrap();
        let read: Vec<Option<&str>> = read.into_iter().collect();
        let expected: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
        assert_eq!(read, expected);
        // Squares have six remainders by eleven.
        assert_eq!(array.values().len(), 6);
    }

    #[test]
    fn values_read_back_as_the_texts_that_they_display() {
        let cells: Vec<Option<u32>> = (0..100_u32)
            .map(|row| (row % 7 > 0).then_some(row / 3 * row % 11))
            .collect();
        let shown: Vec<Option<String>> = cells
            .iter()
            .map(|cell| Some(cell.as_ref()?.to_string()))
            .collect();
        let expected = texts(shown.iter().map(Option::as_deref));
        assert_eq!(displayed(cells.into_iter()).to_data(), expected.to_data());
    }
}
