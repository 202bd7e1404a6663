//! This package holds only examples.
