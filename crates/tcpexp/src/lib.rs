//! The library: captures in, results out.
