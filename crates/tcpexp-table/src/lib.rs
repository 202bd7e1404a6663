//! Samples to Arrow, Parquet, CSV and JSON.
