//! Memory prefetch.

/// Size of a cache line on x86-64.
const LINE_BYTES: usize = 64;

/// Prefetches `value` into the cache.
///
/// With a hundred thousand live flows, the next packet's flow is in no cache, and the cache miss
/// takes longer than all work on the packet. Does nothing on processors other than x86-64.
#[inline]
#[expect(
    unsafe_code,
    reason = "the instruction has no safe form in the standard library"
)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for line in 0..size_of::<T>().div_ceil(LINE_BYTES) {
            // SAFETY: a prefetch has no visible effect and ignores unreadable addresses; these
            // addresses lie in `value` or in the cache line of its end. The instruction is part of
            // every x86-64 processor (SSE).
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * LINE_BYTES)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
