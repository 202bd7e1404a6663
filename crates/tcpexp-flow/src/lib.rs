//! Segments to flows: direction and unwrapped stream offsets.
