//! The report, as Markdown: the verdicts first, then every figure and every ratio.

use std::fmt::Write;

use crate::figure::Metric;
use crate::machine::Machine;
use crate::process::{Gap, WORKERS};
use crate::results::Results;
use crate::systems::{self, FLOOR, SUBJECT};
use crate::targets::{self, Against, Bound, Target};
use crate::verdict::{Point, Verdict, judge, ratio};
use crate::workload::{SIZES, Workload};

/// The whole report.
pub fn render(machine: &Machine, command: &str, results: &Results) -> String {
    let mut text = head(machine, command);
    text += &verdicts(results);
    for workload in Workload::ALL {
        if !results.sizes(workload).is_empty() {
            text += &section(workload, results);
        }
    }
    text
}

fn head(machine: &Machine, command: &str) -> String {
    let mut text = format!(
        "# Results\n\n\
         Written by `offshoot-bench`; every run replaces it. Compare within one report, not \
         between reports.\n\n\
         | | |\n|---|---|\n\
         | date | {} |\n\
         | processor | {}, {} threads |\n\
         | kernel | {} |\n\
         | compiler | {} |\n\
         | load before the run | {} |\n\
         | one reading of the clock | {:.0} ns |\n\
         | command | `offshoot-bench {command}` |\n\n\
         Each cell (system, workload, N) runs in a process of its own, inside a spawned task on a \
         tokio runtime with {WORKERS} workers, and repeats what is short: of the repetitions the \
         lower quartile counts. Systems take turns; a value is the median of the runs, and \
         *spread* is the largest run divided by the smallest, at the size where that is \
         worst.\n\n",
        machine.date,
        machine.processor,
        machine.cores,
        machine.kernel,
        machine.compiler,
        machine.load,
        machine.clock,
    );
    for system in systems::ALL {
        line(&mut text, format_args!("- **{}**: {}", system.name, system.about));
    }
    text
}

fn verdicts(results: &Results) -> String {
    let mut text = format!(
        "\n## What {SUBJECT} has to reach\n\n\
         | | compared | measured | must | | goal | |\n|---|---|---|---|---|---|---|\n"
    );
    for target in targets::ALL {
        let finding = judge(target, results);
        let points: Vec<String> =
            finding.points.iter().map(|point| show_point(target, *point)).collect();
        line(
            &mut text,
            format_args!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                target.metric.workload().label(),
                compared(target),
                points.join(", "),
                show_bound(target, target.must),
                finding.must.show(),
                target.goal.map_or_else(String::new, |goal| show_bound(target, goal)),
                finding.goal.map_or("", Verdict::show),
            ),
        );
    }
    text
}

fn compared(target: &Target) -> String {
    let metric = target.metric.title();
    match target.against {
        Against::System(system) => format!("{metric} ÷ {system}"),
        Against::Metric(other) => format!("{metric} ÷ {}", other.title()),
        Against::Growth => {
            format!("{metric}, growth {} → {}", size(SIZES[0]), size(SIZES[SIZES.len() - 1]))
        }
        Against::Itself => metric.to_owned(),
    }
}

fn show_point(target: &Target, (n, point): (usize, Point)) -> String {
    let value = match point {
        Point::Measured(value) => show_value(target, value),
        Point::OtherDidNotFinish => "the other did not finish".to_owned(),
        Point::Missing => "–".to_owned(),
    };
    match target.at {
        [_] => value,
        _ => format!("{}: {value}", size(n)),
    }
}

fn show_bound(target: &Target, bound: Bound) -> String {
    let (sign, limit) = match bound {
        Bound::AtMost(limit) => ("≤", limit),
        Bound::Below(limit) => ("<", limit),
        Bound::AtLeast(limit) => ("≥", limit),
    };
    match target.against {
        Against::Itself => format!("{sign} {}", target.metric.unit().show(limit)),
        _ => format!("{sign} {limit}×"),
    }
}

fn show_value(target: &Target, value: f64) -> String {
    match target.against {
        Against::Itself => target.metric.unit().show(value),
        _ => times(value),
    }
}

/// Every system that may have figures: the subject, which another executable may have measured,
/// and those compiled in.
fn names() -> impl Iterator<Item = &'static str> {
    let others = systems::ALL.iter().map(|system| system.name).filter(|name| *name != SUBJECT);
    std::iter::once(SUBJECT).chain(others)
}

/// One workload: its figures, its ratios, and notes about them.
fn section(workload: Workload, results: &Results) -> String {
    let sizes = results.sizes(workload);
    let mut text = format!("\n## {}\n", workload.title());
    for metric in Metric::of(workload) {
        let mut header = format!("\n| {} |", metric.title());
        for n in &sizes {
            header += &format!(" N = {} |", size(*n));
        }
        line(&mut text, format_args!("{header} growth | spread |"));
        line(&mut text, format_args!("|---|{}---|---|", "---|".repeat(sizes.len())));
        for system in names() {
            text += &figure_row(metric, system, &sizes, results);
        }
        for (label, over, under) in ratios(metric, results) {
            text += &ratio_row(&label, over, under, &sizes, results);
        }
    }
    text + &notes(workload, &sizes, results)
}

fn figure_row(metric: Metric, system: &str, sizes: &[usize], results: &Results) -> String {
    let known = |n: &usize| {
        results.value(metric, system, *n).is_some()
            || results.gap(metric.workload(), system, *n).is_some()
    };
    if !sizes.iter().any(known) {
        return String::new();
    }
    let mut row = format!("| {system} |");
    for n in sizes {
        let shown = match results.value(metric, system, *n) {
            Some(value) => metric.unit().show(value),
            None => show_gap(metric.workload(), results.gap(metric.workload(), system, *n)),
        };
        row += &format!(" {shown} |");
    }
    let growth = match sizes {
        [first, .., last] => {
            let (first, last) =
                (results.value(metric, system, *first), results.value(metric, system, *last));
            first.zip(last).and_then(|(first, last)| ratio(last, first))
        }
        _ => None,
    };
    let spread = results.spread(metric, system);
    row + &format!(" {} | {} |\n", growth.map_or_else(dash, times), spread.map_or_else(dash, times))
}

/// Numerator and denominator of a ratio: a system and one of its metrics each.
type Side = (Metric, &'static str);

/// The ratios of the report: the subject to every system, every system to the floor, and a
/// metric to the one with which a target compares it.
fn ratios(metric: Metric, results: &Results) -> Vec<(String, Side, Side)> {
    let measured = || names().filter(|system| results.has(metric, system));
    let mut rows = Vec::new();
    for other in measured().filter(|_| results.has(metric, SUBJECT)) {
        if other != SUBJECT {
            rows.push((format!("{SUBJECT} ÷ {other}"), (metric, SUBJECT), (metric, other)));
        }
    }
    for system in measured().filter(|_| results.has(metric, FLOOR)) {
        if system != SUBJECT && system != FLOOR {
            rows.push((format!("{system} ÷ {FLOOR}"), (metric, system), (metric, FLOOR)));
        }
    }
    for target in targets::ALL.iter().filter(|target| target.metric == metric) {
        if let Against::Metric(other) = target.against {
            for system in measured().filter(|system| results.has(other, system)) {
                let label = format!("{system}: {} ÷ {}", metric.title(), other.title());
                rows.push((label, (metric, system), (other, system)));
            }
        }
    }
    rows
}

fn ratio_row(label: &str, over: Side, under: Side, sizes: &[usize], results: &Results) -> String {
    let mut row = format!("| *{label}* |");
    for n in sizes {
        let over = results.value(over.0, over.1, *n);
        let under = results.value(under.0, under.1, *n);
        let ratio = over.zip(under).and_then(|(over, under)| ratio(over, under));
        row += &format!(" {} |", ratio.map_or_else(dash, times));
    }
    row + " | |\n"
}

fn notes(workload: Workload, sizes: &[usize], results: &Results) -> String {
    let mut text = String::from("\n");
    for system in systems::ALL {
        for metric in Metric::of(workload).filter(|metric| results.has(*metric, system.name)) {
            for (_, note) in system.notes.iter().filter(|(about, _)| *about == metric) {
                line(&mut text, format_args!("- {}, {}: {note}", system.name, metric.title()));
            }
        }
        let mut told = Vec::new();
        for n in sizes {
            let why = match results.gap(workload, system.name, *n) {
                Some(Gap::NotOffered(why)) => format!("not available: {why}"),
                Some(Gap::Failed(why)) => format!("a run failed at N = {}: {why}", size(*n)),
                _ => continue,
            };
            if !told.contains(&why) {
                line(&mut text, format_args!("- {}: {why}", system.name));
                told.push(why);
            }
        }
    }
    text
}

fn show_gap(workload: Workload, gap: Option<&Gap>) -> String {
    match gap {
        Some(Gap::NotOffered(_)) => "n/a".to_owned(),
        Some(Gap::TimedOut) => format!("> {} s", workload.limit().as_secs()),
        Some(Gap::Skipped) => "not run: a smaller N took too long".to_owned(),
        Some(Gap::Failed(_)) => "failed".to_owned(),
        None => dash(),
    }
}

fn times(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}×")
    } else if value >= 10.0 {
        format!("{value:.1}×")
    } else if value >= 0.01 || value == 0.0 {
        format!("{value:.2}×")
    } else {
        format!("{value:.1e}×")
    }
}

fn size(n: usize) -> String {
    if n >= 1_000 && n.is_multiple_of(1_000) { format!("{}k", n / 1_000) } else { n.to_string() }
}

fn dash() -> String {
    "–".to_owned()
}

/// Appends a line. Writing to a string cannot fail.
fn line(text: &mut String, args: std::fmt::Arguments<'_>) {
    writeln!(text, "{args}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(results: &Results) -> String {
        let machine = Machine {
            date: "today".to_owned(),
            processor: "a processor".to_owned(),
            cores: 2,
            kernel: "a kernel".to_owned(),
            compiler: "a compiler".to_owned(),
            load: "0.1 0.2 0.3".to_owned(),
            clock: 20.0,
        };
        render(&machine, "--runs 3", results)
    }

    #[test]
    fn verdicts_come_from_the_figures() {
        let mut results = Results::default();
        results.add(SUBJECT, 1_000, &[Metric::Messages.is(2.5e6)]);
        results.add(SUBJECT, 100, &[Metric::Lifecycle.is(900.0)]);
        results.add(FLOOR, 100, &[Metric::Lifecycle.is(300.0)]);
        let text = rendered(&results);
        for row in [
            "| W6 | messages | 2.50 M/s | ≥ 1.00 M/s | met | ≥ 3.00 M/s | **not met** |",
            "| W1 | per task ÷ floor | 100: 3.00×, 1k: –, 10k: –, 100k: – | ≤ 4× | met so far | \
             ≤ 2× | **not met** |",
            "| W8 | per idle task | – | ≤ 1200 B | not measured | ≤ 900 B | not measured |",
            "| offshoot | 900 ns | – | – |",
            "| *offshoot ÷ floor* | 3.00× | | |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
    }

    #[test]
    fn a_gap_says_why() {
        let mut results = Results::default();
        results.add_gap(Workload::W6, FLOOR, 1_000, Gap::NotOffered("no such call".to_owned()));
        results.add_gap(Workload::W1, FLOOR, 100, Gap::TimedOut);
        results.add_gap(Workload::W1, FLOOR, 1_000, Gap::Skipped);
        let text = rendered(&results);
        assert!(text.contains("| floor | n/a | – | – |"), "{text}");
        assert!(text.contains("- floor: not available: no such call"), "{text}");
        assert!(text.contains("| floor | > 30 s | not run: a smaller N took too long |"), "{text}");
    }
}
