//! Waits until the load of the calibration has left the path.

use std::time::{Duration, Instant};

use netem_ctl::Os;

use super::context::Run;
use super::error::Trouble;
use super::files::pause;
use super::load_times::LoadTimes;
use crate::site::{self, Counters};

/// Pause between two reads of the queues.
const READ_PAUSE: Duration = Duration::from_millis(200);

/// Waits until no queue holds a packet of the load, which would delay the traffic and enter its captures. Returns
/// a fault if a queue stays filled.
pub(super) fn drain(run: &Run<'_>, times: &LoadTimes) -> Result<Option<String>, Trouble> {
    let began = Instant::now();
    // Other systems do not report what their queues hold.
    let is_uncounted = run
        .cell
        .setup
        .paths()
        .any(|(_, host, _)| host.os != Os::Linux);
    let first = if is_uncounted {
        times.drain()
    } else {
        times.settle
    };
    pause(run, first)?;
    let mut was_empty = false;
    loop {
        let read = |name: &str| {
            let reading = Some(run.reading(name)).filter(|reading| !reading.is_empty());
            reading.map(|reading| site::plain(name, &reading))
        };
        let said = run.crew.each("drain", read)?;
        let all = run.counters(&said)?;
        let holding = all
            .iter()
            .find_map(|(router, counters)| Some((router, Counters::holding(counters)?)));
        match holding {
            // A packet between two queues may be in none that was read, so two reads must find none.
            None if was_empty => return Ok(None),
            Some((router, queue)) if began.elapsed() > times.most_drain() => {
                return Ok(Some(format!(
                    "the queue {queue} of {router} still holds packets of the calibration"
                )));
            }
            holding => was_empty = holding.is_none(),
        }
        pause(run, READ_PAUSE)?;
    }
}
