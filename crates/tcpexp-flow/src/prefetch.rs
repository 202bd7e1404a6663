//! Asking for memory ahead of its use.

/// Bytes of a cache line on the processors that this is for.
const LINE_BYTES: usize = 64;

/// Tells the processor that `value` will soon be read and written.
///
/// Where a hundred thousand flows are alive, the next packet's flow is in no cache, and waiting for
/// it takes longer than all work on the packet. Does nothing where the processor has no such
/// instruction.
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
            // SAFETY: a prefetch reads nothing that the program can see and ignores addresses that
            // cannot be read; these lie in `value` or in the line that its end is in. The
            // instruction is part of every x86-64 processor (SSE).
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * LINE_BYTES)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
