//! Prints what hostile answers cost: peak memory and processor time for reading
//! each, and for sending it back in five more calls.
//!
//! ```text
//! cargo run --release -p offshoot-models --example answer_costs -- [SIZE [FAMILY [WIRE]]]
//! ```
//!
//! The server works in another thread, and its time is not counted.

// A program that cannot measure has nothing to print.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "../tests/costs/measure.rs"]
mod measure;

use offshoot_wiretest::{HostileAnswer, HostileWire};

/// Twice the longest answer that is kept.
const LONGEST: usize = 8 * 1024 * 1024;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let size = arguments.next().map_or(LONGEST, |size| size.parse().expect("SIZE is a number"));
    let (family, wire) = (arguments.next(), arguments.next());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!(
        "{:<18} {:<10} {:>9} {:>9} {:>7}  outcome",
        "family", "wire", "peak", "sent on", "cpu"
    );
    for answer in HostileAnswer::ALL {
        if family.as_deref().is_some_and(|only| only != "all" && only != format!("{answer:?}")) {
            continue;
        }
        for language in HostileWire::ALL {
            if wire.as_deref().is_some_and(|only| only != format!("{language:?}")) {
                continue;
            }
            let cost = runtime.block_on(measure::measure(answer, language, size));
            let outcome = match &cost.answer {
                Ok(answer) => {
                    format!("{} parts, {} calls", answer.parts.len(), answer.calls().count())
                }
                Err(error) => error.to_string().chars().take(100).collect(),
            };
            let mb = |bytes: usize| format!("{:.1} MB", bytes as f64 / 1e6);
            let (peak, sent_on, cpu) = (mb(cost.peak), mb(cost.sent_on), cost.cpu.as_secs_f64());
            println!(
                "{:<18} {:<10} {peak:>9} {sent_on:>9} {cpu:>6.2}s  {outcome}",
                format!("{answer:?}"),
                format!("{language:?}")
            );
        }
    }
}
