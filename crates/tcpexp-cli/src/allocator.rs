//! How the C library's allocator treats large blocks.

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

/// Gives large blocks their own pages, if the process is tcpexp's own.
pub(crate) fn keep_large_blocks_apart() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if !crate::program::is_in_interpreter() {
        #[expect(unsafe_code, reason = "a C function; see SAFETY")]
        // SAFETY: the function takes two numbers and may be called at any time. If it fails, the
        // default remains, and the results are the same.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_PAGES_BYTES) };
    }
}
