//! The path of a plan on its router.

use netem_ctl::{Bottleneck, Path, Plan, Router, Step};
use tcpexp_units::{BitRate, ByteCount, TimeDelta};

use super::Setup;
use super::host::Host;

/// Why a router cannot emulate a path.
pub(crate) type PathError = Box<dyn std::error::Error + Send + Sync>;

/// The commands of a router for its path. Full packets have the MTU of the hosts, and buffers in BDP are of the
/// base round-trip time over all routers.
pub(crate) fn path_plan(setup: &Setup, path: &Bottleneck, host: &Host) -> Result<Plan, PathError> {
    planned(setup, path, host, setup.base_rtt())
}

/// The commands of the first router for a path that takes the place of `setup.path`. A changed delay changes a
/// buffer in BDP too.
pub(crate) fn changed_plan(
    setup: &Setup,
    path: &Bottleneck,
    host: &Host,
) -> Result<Plan, PathError> {
    planned(setup, path, host, setup.base_rtt_with(path))
}

fn planned(
    setup: &Setup,
    path: &Bottleneck,
    host: &Host,
    base_rtt: TimeDelta,
) -> Result<Plan, PathError> {
    let path = path.clone().with_mtu(setup.prepare.mtu);
    Ok(netem_ctl::plan_in_path(&path, &router(host)?, base_rtt)?)
}

/// The direction and the key that have the fault, if the error is about one key.
pub(super) fn place_of(
    error: &(dyn std::error::Error + Send + Sync + 'static),
) -> Option<(&'static str, &'static str)> {
    error.downcast_ref::<netem_ctl::PlanError>()?.place()
}

/// A host as a router of `netem-ctl`.
pub(crate) fn router(host: &Host) -> Result<Router, PathError> {
    Ok(Router {
        os: host.os,
        left: host.left.as_deref().unwrap_or_default().parse()?,
        right: host.right.as_deref().unwrap_or_default().parse()?,
    })
}

/// The commands that turn one path of the first router into another in place.
pub(crate) fn change_steps(
    setup: &Setup,
    before: &Bottleneck,
    after: &Bottleneck,
    router: &Host,
) -> Result<Vec<Step>, PathError> {
    let plan = |path| changed_plan(setup, path, router);
    Ok(plan(before)?.change_to(&plan(after)?)?)
}

/// The forward queue of a router.
pub(crate) struct ForwardQueue<'a> {
    /// The path that it is in.
    pub(crate) path: &'a Path,
    /// Its rate; the mean rate of a trace.
    pub(crate) rate: BitRate,
    /// Time for the full queue to drain; `None` if it has no configured size.
    pub(crate) full: Option<TimeDelta>,
}

/// The forward queues of all routers that limit the rate, in the order in which packets pass them.
pub(crate) fn forward_queues(setup: &Setup) -> impl Iterator<Item = ForwardQueue<'_>> {
    setup.paths().filter_map(|(_, router, path)| {
        let mean = || path.forward.trace.as_ref()?.mean_rate();
        let rate = path.forward.rate.or_else(mean)?;
        let plan = path_plan(setup, path, router).ok();
        let size = plan.and_then(|plan| plan.queues[0]);
        Some(ForwardQueue {
            path: &path.forward,
            rate,
            full: size.and_then(|size| rate.time_of(ByteCount::new(size.bytes))),
        })
    })
}

/// Commands, one per line.
pub(crate) fn lines(steps: &[Step]) -> String {
    let line = |step: &Step| {
        let end = if step.may_fail {
            " 2>/dev/null || :"
        } else {
            ""
        };
        format!("{}{end}\n", step.line())
    };
    steps.iter().map(line).collect()
}
