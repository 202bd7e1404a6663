//! For tests only: trace scripts, a capture writer and a path simulator with known truth.
