//! DSCP: the class of a packet in the upper six bits of an octet of the IP header (RFC 2474).

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A DSCP, from 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscp(u8);

/// The names of IANA's registry "Differentiated Services Field Codepoints".
const NAMES: [(&str, u8); 23] = [
    ("cs0", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("voice-admit", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

impl Dscp {
    /// The octet of the IP header with this DSCP and without ECN.
    pub(crate) const fn octet(self) -> u8 {
        self.0 << 2
    }

    /// Its number.
    pub(super) const fn number(self) -> u8 {
        self.0
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(self.0)
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsDscp;

        impl Visitor<'_> for AsDscp {
            type Value = Dscp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 63, or a name such as \"ef\", \"af41\" or \"cs1\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Dscp, E> {
                let known = NAMES.iter().find(|(name, _)| *name == text);
                let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
                known.map(|(_, number)| Dscp(*number)).ok_or_else(wrong)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Dscp, E> {
                let small = u8::try_from(number).ok().filter(|number| *number < 64);
                let wrong = || E::invalid_value(serde::de::Unexpected::Signed(number), &self);
                small.map(Dscp).ok_or_else(wrong)
            }
        }

        from.deserialize_any(AsDscp)
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A DSCP: a number, or a name of IANA's registry.",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 63 },
                { "type": "string", "enum": NAMES.map(|(name, _)| name) },
            ],
        })
    }
}
