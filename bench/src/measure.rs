//! Stopwatches, percentiles and memory readings that the workloads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The number of repetitions of a measurement inside one process, if the time allows.
const REPEATS: usize = 15;
/// The time after which no further repetition starts.
const REPEAT_BUDGET: Duration = Duration::from_secs(3);

/// Nanoseconds as a number to calculate with.
pub fn ns(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

/// The value below which a share `p` of `values` lies; NaN if there are none.
pub fn percentile(values: &mut [f64], p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    values.get((last * p).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The median of `values`.
pub fn median(values: &mut [f64]) -> f64 {
    percentile(values, 0.5)
}

/// Times of a measurement that is repeated on a fresh system each time.
pub struct Repeats {
    started: Instant,
    values: Vec<f64>,
}

impl Repeats {
    /// Starts the budget.
    #[expect(clippy::new_without_default, reason = "it starts a clock")]
    pub fn new() -> Self {
        Self { started: Instant::now(), values: Vec::with_capacity(REPEATS) }
    }

    /// Whether another repetition fits. The first always does.
    pub fn more(&self) -> bool {
        self.values.is_empty()
            || (self.values.len() < REPEATS && self.started.elapsed() < REPEAT_BUDGET)
    }

    /// Adds the time of one repetition.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// The lower quartile: outside disturbances only ever add time, and on a machine with few
    /// cores they do so to every other repetition.
    pub fn typical(mut self) -> f64 {
        percentile(&mut self.values, 0.25)
    }
}

/// Times a call that may be far shorter than a reading of the clock: calls are timed in batches
/// that grow until the clock no longer matters.
///
/// ```
/// let mut laps = offshoot_bench::measure::Laps::new();
/// while let Some(calls) = laps.batch() {
///     for _ in 0..calls {
///         std::hint::black_box(2 + 2);
///     }
///     laps.done();
/// }
/// assert!(laps.per_call() < 1e6);
/// ```
pub struct Laps {
    started: Instant,
    lap: Instant,
    calls: usize,
    per_call: Vec<f64>,
}

impl Laps {
    const ENOUGH: usize = 31;
    const BUDGET: Duration = Duration::from_millis(600);
    const SHORTEST_LAP: Duration = Duration::from_micros(500);

    /// Starts the budget.
    #[expect(clippy::new_without_default, reason = "it starts a clock")]
    pub fn new() -> Self {
        let now = Instant::now();
        Self { started: now, lap: now, calls: 1, per_call: Vec::with_capacity(Self::ENOUGH) }
    }

    /// The number of calls to make now, or `None` when the measurement is complete.
    pub fn batch(&mut self) -> Option<usize> {
        let known = !self.per_call.is_empty();
        if known && (self.per_call.len() >= Self::ENOUGH || self.started.elapsed() > Self::BUDGET) {
            return None;
        }
        self.lap = Instant::now();
        Some(self.calls)
    }

    /// The calls are made. A lap too short to trust is dropped and the next one is longer.
    pub fn done(&mut self) {
        let took = self.lap.elapsed();
        if took < Self::SHORTEST_LAP {
            self.calls *= 2;
        } else {
            self.per_call.push(ns(took) / self.calls as f64);
        }
    }

    /// Nanoseconds per call, of the median lap.
    pub fn per_call(mut self) -> f64 {
        median(&mut self.per_call)
    }
}

/// Resident memory of this process in bytes; NaN where the system does not report it.
pub fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok())
        .map_or(f64::NAN, |kib| kib * 1024.0)
}

/// Waits until this process no longer uses the processor: every spawned task has parked.
pub async fn settle() {
    const QUIET: Duration = Duration::from_millis(30);
    const PATIENCE: u32 = 100;
    let mut before = processor_ticks();
    for _ in 0..PATIENCE {
        tokio::time::sleep(QUIET).await;
        let now = processor_ticks();
        if now == before {
            return;
        }
        before = now;
    }
}

/// User and system time of this process, in the kernel's ticks.
fn processor_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the command's name, may hold spaces; it ends at the last parenthesis.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Keeps the runtime's other worker awake for as long as it lives. A spawn has to wake a
/// sleeping worker, and that system call, which occurs only at times, would dominate the
/// measurement.
pub struct Awake {
    over: Arc<AtomicBool>,
}

impl Awake {
    /// Starts the task that keeps it awake.
    pub fn keep() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        tokio::spawn({
            let over = Arc::clone(&over);
            async move {
                while !over.load(Ordering::Relaxed) {
                    tokio::task::yield_now().await;
                }
            }
        });
        Self { over }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_pick_a_measured_value() {
        let mut values = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(median(&mut values), 3.0);
        assert_eq!(percentile(&mut values, 0.99), 5.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn the_first_repetition_always_fits() {
        let mut repeats = Repeats::new();
        for _ in 0..REPEATS {
            assert!(repeats.more());
            repeats.push(1.0);
        }
        assert!(!repeats.more());
    }
}
