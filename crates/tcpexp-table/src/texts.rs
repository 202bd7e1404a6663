//! Columns of text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Builder, StringArray};
use foldhash::fast::RandomState;

/// Texts whose address is compared before the hash table is asked: most columns have fewer values,
/// and a value of an enumeration is always at the same place.
const COMPARED: usize = 4;

/// Encodes text cells as a dictionary, in order of first appearance.
pub(crate) fn texts<'a>(cells: impl ExactSizeIterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut keys = Int32Builder::with_capacity(cells.len());
    let mut names = Names::default();
    for cell in cells {
        keys.append_option(cell.map(|text| names.key(text)));
    }
    let names = StringArray::from_iter_values(names.texts);
    let array = DictionaryArray::try_new(keys.finish(), Arc::new(names));
    Arc::new(array.expect("each key is the place of a text"))
}

/// Different texts, each with its place as its key.
#[derive(Default)]
struct Names<'a> {
    texts: Vec<&'a str>,
    places: HashMap<&'a str, usize, RandomState>,
    last: usize,
}

impl<'a> Names<'a> {
    fn key(&mut self, text: &'a str) -> i32 {
        // Rows of one flow follow each other, and share its addresses.
        let is_last = self
            .texts
            .get(self.last)
            .is_some_and(|last| is_same(last, text));
        if !is_last {
            self.last = self.place(text);
        }
        i32::try_from(self.last).expect("a batch has fewer rows")
    }

    fn place(&mut self, text: &'a str) -> usize {
        let mut few = self.texts.iter().take(COMPARED);
        if let Some(place) = few.position(|known| is_same(known, text)) {
            return place;
        }
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }
}

/// True if both are the same bytes of memory, which all live as long as the cells.
fn is_same(one: &str, other: &str) -> bool {
    std::ptr::eq(one, other)
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
}
