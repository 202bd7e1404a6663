//! The virtual testbed: sources, a router and sinks in a virtual machine that runs in virtual time.
//!
//! QEMU's software CPU counts instructions, one per nanosecond, as the guest's clock. When the guest is
//! idle, the clock jumps to the next timer. So timing does not depend on the speed or load of the real
//! machine, idle time costs nothing, and neither root nor KVM is needed.
//!
//! ```no_run
//! use tcpexp_lab::{Cache, Guest, Image, Job, KernelSource};
//!
//! let image = Image::ensure(&Cache::at("/var/cache/lab"), &KernelSource::Distribution)?;
//! let words = ["ssh", "src1", "ping", "-c", "3", "172.16.11.2"];
//! let guest = Guest::spawn(&image, &Job::new(words.map(str::to_owned).to_vec()))?;
//! let code = guest.wait(&mut std::io::stdout(), &mut std::io::stderr(), None)?;
//! assert_eq!(code, 0);
//! # Ok::<(), tcpexp_lab::LabError>(())
//! ```

mod apt;
mod cache;
mod cpio;
pub mod doctor;
mod elf;
mod error;
mod files;
mod guest;
mod image;
mod inside;
mod inventory;
mod job;
mod kernel;
mod libraries;
mod modules;
mod monitor;
mod process;
mod programs;
mod qemu;
mod shape;
mod state;
mod step;
mod topology;
mod unwrap;
mod version;

pub use cache::Cache;
pub use error::LabError;
pub use guest::{Guest, Stopper};
pub use image::Image;
pub use inside::{is_guest, process_of};
pub use inventory::CacheEntry;
pub use job::Job;
pub use kernel::KernelSource;
pub use shape::{DRIVER, Host, Interface, MAX_HOSTS, MAX_ROUTERS, Role, Shape};
pub use step::{Step, script};
pub use topology::Topology;
pub use version::KernelVersion;
