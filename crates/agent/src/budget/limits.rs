//! Budgets, and how they are written.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use offshoot_core::ConstDefault;
use offshoot_models::Money;
use serde::{Deserialize, Serialize};

/// The largest limit: counters change by signed amounts.
const MOST: u64 = i64::MAX as u64;

/// The limits of an agent and all its descendants. Zero allows nothing. An absent limit is no
/// limit.
///
/// The parts may be written in any order:
///
/// ```
/// # use offshoot_agent::Budget;
/// let budget: Budget = "2usd, 200k tokens, 10m, 20 steps".parse()?;
/// assert_eq!(budget.tokens, Some(200_000));
/// assert_eq!(budget.to_string(), "2usd, 200000 tokens, 10m, 20 steps");
/// # Ok::<_, offshoot_agent::BudgetError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// The most tokens that are read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The most that the model calls cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// The time of the agent itself. Waiting for people does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// The most answers of models, closing answers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
}

/// A budget that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part:?} is no budget: {why}. {FORMS}")]
pub struct BudgetError {
    /// The part that is wrong.
    pub part: String,
    /// The reason.
    pub why: String,
}

/// The accepted forms.
const FORMS: &str = "Write money as 2usd, $2 or 0.50usd, tokens as 200k tokens or 1.5m tokens, \
     time as 90s, 10m or 1h30m, steps as 20 steps; several joined by commas, such as 2usd, 200k \
     tokens, 10m";

impl ConstDefault for Budget {
    const DEFAULT: &'static Self = &Self { tokens: None, money: None, time: None, steps: None };
}

impl Budget {
    /// Whether no resource is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// The lesser of each limit of both budgets.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self {
            tokens: lesser(self.tokens, other.tokens),
            money: lesser(self.money, other.money),
            time: lesser(self.time, other.time),
            steps: lesser(self.steps, other.steps),
        }
    }
}

fn lesser<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.money.map(|Money(money)| written_money(money)),
            self.tokens.map(|tokens| format!("{tokens} {}", noun(tokens, "token"))),
            self.time.map(written_time),
            self.steps.map(|steps| format!("{steps} {}", noun(steps, "step"))),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => f.write_str("unlimited"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

fn noun(number: u64, one: &str) -> String {
    if number == 1 { one.to_owned() } else { format!("{one}s") }
}

/// Writes money with all its digits.
fn written_money(money: u64) -> String {
    let (dollars, rest) = (money / NANOS, money % NANOS);
    match rest {
        0 => format!("{dollars}usd"),
        rest => format!("{dollars}.{}usd", format!("{rest:09}").trim_end_matches('0')),
    }
}

/// Writes a time in hours, minutes and seconds, rounded up to a second.
fn written_time(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let parts: String =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if parts.is_empty() { "0s".to_owned() } else { parts }
}

/// The billionths of a dollar.
const NANOS: u64 = 1_000_000_000;

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(written: &str) -> Result<Self, BudgetError> {
        let mut budget = Self::default();
        for part in written.split(',') {
            let part = part.trim();
            let bad = |why: String| BudgetError { part: part.to_owned(), why };
            let twice = |what| bad(format!("the {what} is limited twice"));
            match read(part).map_err(bad)? {
                Part::Tokens(tokens) if budget.tokens.replace(tokens).is_some() => {
                    return Err(twice("number of tokens"));
                }
                Part::Money(money) if budget.money.replace(money).is_some() => {
                    return Err(twice("money"));
                }
                Part::Time(time) if budget.time.replace(time).is_some() => {
                    return Err(twice("time"));
                }
                Part::Steps(steps) if budget.steps.replace(steps).is_some() => {
                    return Err(twice("number of steps"));
                }
                _ => {}
            }
        }
        Ok(budget)
    }
}

/// One part of a written budget.
enum Part {
    Tokens(u64),
    Money(Money),
    Time(Duration),
    Steps(u64),
}

fn read(part: &str) -> Result<Part, String> {
    let lower = part.to_lowercase();
    let lower = lower.as_str();
    if lower.is_empty() {
        return Err("it says nothing".to_owned());
    }
    if lower.starts_with('-') {
        return Err("nothing less than nothing can be spent".to_owned());
    }
    if let Some(amount) = lower.strip_prefix('$') {
        return Ok(Part::Money(money(amount.trim())?));
    }
    for unit in ["usd", "dollars", "dollar"] {
        if let Some(amount) = lower.strip_suffix(unit) {
            return Ok(Part::Money(money(amount.trim())?));
        }
    }
    for unit in ["tokens", "token"] {
        if let Some(amount) = lower.strip_suffix(unit) {
            return Ok(Part::Tokens(scaled(amount.trim())?));
        }
    }
    for unit in ["steps", "step"] {
        if let Some(amount) = lower.strip_suffix(unit) {
            return Ok(Part::Steps(whole(amount.trim())?));
        }
    }
    time(lower).map(Part::Time)
}

/// Reads an exact amount of dollars.
fn money(amount: &str) -> Result<Money, String> {
    exactly(amount, 9).map(Money)
}

/// Reads a number of tokens, also in thousands (`k`) or millions (`m`).
fn scaled(amount: &str) -> Result<u64, String> {
    match (amount.strip_suffix('k'), amount.strip_suffix('m')) {
        (Some(thousands), _) => exactly(thousands.trim(), 3),
        (_, Some(millions)) => exactly(millions.trim(), 6),
        _ => whole(amount),
    }
}

fn whole(amount: &str) -> Result<u64, String> {
    exactly(amount, 0)
}

/// Reads a decimal number times ten to the power of `places`, which must be a whole number.
fn exactly(amount: &str, places: u32) -> Result<u64, String> {
    let (whole, rest) = amount.split_once('.').unwrap_or((amount, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && rest.is_empty()) || !digits(whole) || !digits(rest) {
        return Err(match amount {
            "" => "the number is missing".to_owned(),
            _ => format!("{amount:?} is not a number"),
        });
    }
    if amount.ends_with('.') {
        return Err(format!("{amount:?} is not a number"));
    }
    let rest = rest.trim_end_matches('0');
    if rest.len() > places as usize {
        return Err(match places {
            0 => format!("{amount} is not a whole number"),
            places => format!("{amount} has more than {places} decimal places"),
        });
    }
    let written = format!("{whole}{rest:0<width$}", width = places as usize);
    let number = written.trim_start_matches('0');
    let number = if number.is_empty() { Ok(0) } else { number.parse::<u64>() };
    number.ok().filter(|number| *number <= MOST).ok_or_else(|| format!("{amount} is too much"))
}

/// Reads a time: numbers with a unit each, the larger units first.
fn time(written: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 7] =
        [("d", 86_400), ("h", 3_600), ("min", 60), ("mins", 60), ("m", 60), ("sec", 1), ("s", 1)];
    let mut rest = written;
    let (mut seconds, mut before) = (0_u64, u64::MAX);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if number.is_empty() {
            return Err(match unit {
                "" => "it cannot be read".to_owned(),
                _ => "the number is missing".to_owned(),
            });
        }
        if number.contains('.') && !matches!(unit, "" | "k" | "m") {
            return Err("a time is written in whole numbers, such as 1h30m".to_owned());
        }
        if number.contains('.') || matches!(unit, "" | "k") {
            exactly(number, 9)?;
            return Err(format!(
                "it has no unit: write {number}{unit} tokens, or say whether money, time or steps \
                 are meant"
            ));
        }
        let Some((_, each)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("{unit:?} is no unit"));
        };
        if *each >= before {
            return Err("the units of a time go from the larger to the smaller".to_owned());
        }
        let more = whole(number)?.checked_mul(*each);
        let sum = more.and_then(|more| seconds.checked_add(more)).filter(|sum| *sum <= MOST);
        seconds = sum.ok_or_else(|| "it is too much".to_owned())?;
        (before, rest) = (*each, after.trim_start());
    }
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
