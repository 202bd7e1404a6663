//! Labels of live flows.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;
use tcpexp_table::FlowLabel;

/// Labels by flow number. Each row asks for one, so the hash is the fast one of the flow table.
pub(crate) type Labels = HashMap<FlowId, Arc<FlowLabel>, FixedState>;
