//! How the C library's allocator keeps the memory of an analysis compact.

/// Smallest block that has its own pages, in bytes.
///
/// Blocks of this size grow by moving pages, and their pages return to the system when they are
/// freed. By default glibc raises the limit to the largest block freed so far, up to 32 MiB
/// (mallopt(3), `M_MMAP_THRESHOLD`). The large vectors of `analyze` then leave holes in the heap:
/// `analyze` took 1.9 GiB for five million flows without this limit, and 1.6 GiB with it. The buffers
/// of a chunk of packets are smaller than the limit, because a block that is allocated and freed
/// repeatedly should keep its pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_PAGES_BYTES: i32 = 1 << 20;

/// Free memory at the end of a heap that a program keeps, in bytes.
///
/// By default glibc returns more than 128 KiB there to the system (mallopt(3), `M_TRIM_THRESHOLD`), and a pass
/// soon takes the pages again. `analyze` on two captures of two million packets took 215 000 page faults with the
/// default, 155 000 with 8 MiB and 70 000 with 16 MiB. With 100 000 flows, its peak grew by less than 1 %.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 16 << 20;

/// Number of processors whose threads share a heap.
///
/// By default glibc makes up to eight heaps per processor (mallopt(3), `M_ARENA_MAX`). The state of a
/// flow moves between threads, so each thread frees blocks of all heaps, and the memory that one pass
/// leaves in a heap is lost to the threads of other heaps in the next pass. With 100 000 flows and two
/// million packets, `analyze` took 1310 MiB with the default and 887 MiB with one heap on two processors, at
/// the same processor time: each thread has a cache of small blocks. More processors would wait for the one
/// heap; four is a choice, not measured.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PROCESSORS_PER_HEAP: usize = 4;

/// Gives large blocks their own pages and lets threads share heaps, if the process is tcpexp's own. Heaps of
/// threads stay, so the call has to precede their start.
pub(crate) fn keep_memory_compact() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if !crate::program::is_in_interpreter() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let heaps = i32::try_from(processors.div_ceil(PROCESSORS_PER_HEAP)).unwrap_or(i32::MAX);
        for (parameter, value) in [
            (libc::M_MMAP_THRESHOLD, OWN_PAGES_BYTES),
            (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
            (libc::M_ARENA_MAX, heaps),
        ] {
            #[expect(unsafe_code, reason = "a C function; see SAFETY")]
            // SAFETY: the function takes two numbers and may be called at any time. If it fails, the
            // default remains, and the results are the same.
            let _ = unsafe { libc::mallopt(parameter, value) };
        }
    }
}

/// Returns the free pages of the heap to the system, except `KEPT_BYTES` at its end, if the process is tcpexp's own.
///
/// A pass frees the state of its flows, but results between the blocks keep the heap from shrinking. With 100 000
/// flows, `analyze` kept 240 MiB of free pages after its comparison of two captures.
pub(crate) fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if !crate::program::is_in_interpreter() {
        let kept = usize::try_from(KEPT_BYTES).unwrap_or(0);
        #[expect(unsafe_code, reason = "a C function; see SAFETY")]
        // SAFETY: the function takes a number and may be called at any time, from any thread. It moves no block.
        let _ = unsafe { libc::malloc_trim(kept) };
    }
}
