//! The machine and time of a measurement, as far as the system reports them.

use std::process::Command;
use std::time::Instant;

use crate::measure::{median, ns};

/// The facts that a reader needs to judge absolute numbers.
#[derive(Debug)]
pub struct Machine {
    /// When the run began.
    pub date: String,
    /// The processor's model.
    pub processor: String,
    /// The number of its hardware threads.
    pub cores: usize,
    /// The operating system's kernel.
    pub kernel: String,
    /// The compiler.
    pub compiler: String,
    /// The load of the machine when the run began: 1, 5 and 15 minutes.
    pub load: String,
    /// The cost of one reading of the clock, in nanoseconds. It is part of every p50.
    pub clock: f64,
}

impl Machine {
    /// Collects the facts; an unknown one is `unknown`.
    pub fn look() -> Self {
        Self {
            date: first_line(&output("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
            processor: processor(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: first_line(&output("uname", &["-srm"])),
            compiler: first_line(&output("rustc", &["--version"])),
            load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
            clock: clock(),
        }
    }
}

fn processor(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    first_line(model.and_then(|line| line.split_once(':')).map_or("", |(_, model)| model))
}

fn clock() -> f64 {
    const READINGS: u32 = 1_000;
    let mut costs: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..READINGS {
                std::hint::black_box(Instant::now());
            }
            ns(start.elapsed()) / f64::from(READINGS)
        })
        .collect();
    median(&mut costs)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn output(program: &str, args: &[&str]) -> String {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => String::new(),
    }
}

fn first_line(text: &str) -> String {
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => line.to_owned(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_found_or_unknown() {
        assert_eq!(
            processor("processor : 0\nmodel name\t: Fast CPU @ 3 GHz\n"),
            "Fast CPU @ 3 GHz"
        );
        assert_eq!(processor(""), "unknown");
    }
}
