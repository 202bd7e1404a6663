//! JSON Schemas of quantities.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tcpexp_units::Written;

/// A quantity as text, for `#[schemars(with = "…")]`.
#[derive(Debug)]
pub struct Text<T>(PhantomData<T>);

impl<T: Written> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::form().name.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let form = T::form();
        let mut letters = form.words.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        let words: String = first.into_iter().chain(letters).collect();
        json_schema!({
            "type": "string",
            "description": format!("{words}."),
            "pattern": form.pattern,
        })
    }
}
