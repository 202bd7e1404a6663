//! Loss before the queue.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use tcpexp_units::Share;

use super::Text;

/// Loss that does not depend on the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Loss {
    /// Independent loss with this probability: `loss = "1%"`.
    Random(#[schemars(with = "Text<Share>")] Share),
    /// Bursts of loss: `loss = { enter_bad = "0.1%", leave_bad = "20%" }`.
    Bursts(GilbertElliott),
}

/// The Gilbert-Elliott model: a good and a bad state, each with its own loss.
///
/// The state changes with each packet. A stay in the bad state lasts 1/`leave_bad` packets on
/// average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability per packet of going from good to bad (p in the literature).
    #[schemars(with = "Text<Share>")]
    pub enter_bad: Share,
    /// Probability per packet of going from bad to good (r).
    #[schemars(with = "Text<Share>")]
    pub leave_bad: Share,
    /// Probability that a packet is lost in the bad state (1-h); 100 % by default.
    #[serde(default = "all")]
    #[schemars(with = "Text<Share>")]
    pub in_bad: Share,
    /// Probability that a packet is lost in the good state (1-k); 0 % by default.
    #[serde(default)]
    #[schemars(with = "Text<Share>")]
    pub in_good: Share,
}

const fn all() -> Share {
    Share::ALL
}

impl Loss {
    /// Long-run share of lost packets, from 0 to 1: (p·(1-h) + r·(1-k)) / (p + r). `None` for a model that
    /// never changes state.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Random(share) => Some(share.as_f64()),
            Self::Bursts(model) => {
                let (p, r) = (model.enter_bad.as_f64(), model.leave_bad.as_f64());
                let lost = p * model.in_bad.as_f64() + r * model.in_good.as_f64();
                (p + r > 0.0).then(|| lost / (p + r))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // An untagged enum reports only that no variant matches. The visitor keeps the message of
        // each form.
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Loss;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a percentage such as \"1%\", or { enter_bad = \"0.1%\", leave_bad = \"20%\" }",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Loss, E> {
                text.parse().map(Loss::Random).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loss, A::Error> {
                GilbertElliott::deserialize(MapAccessDeserializer::new(map)).map(Loss::Bursts)
            }
        }

        from.deserialize_any(Either)
    }
}
