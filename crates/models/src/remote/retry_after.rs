//! How long a provider asks to be left alone.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use serde_json::Value;

/// The longest that is believed.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What the headers say, or else the body.
pub(super) fn retry_after(
    headers: Option<&HeaderMap>,
    error: &Value,
    now: SystemTime,
) -> Option<Duration> {
    let header = |name: &str| headers?.get(name)?.to_str().ok().map(str::trim);
    let millis = header("retry-after-ms").and_then(|said| seconds(said, 1_000.0));
    let said = header("retry-after");
    millis
        .or_else(|| said.and_then(|said| seconds(said, 1.0)))
        .or_else(|| said.and_then(|said| until(said, now)))
        .or_else(|| delay(error))
}

fn seconds(said: &str, unit: f64) -> Option<Duration> {
    let said: f64 = said.parse().ok()?;
    if said.is_nan() || said < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(said / unit).map_or(LONGEST, |wait| wait.min(LONGEST)))
}

fn until(said: &str, now: SystemTime) -> Option<Duration> {
    let when = httpdate::parse_http_date(said).ok()?;
    Some(when.duration_since(now).unwrap_or_default().min(LONGEST))
}

/// Google says it in the details of the error, as `"37s"`.
fn delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let said = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(said.strip_suffix('s')?, 1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:07 GMT").unwrap();
        retry_after(Some(&map), &Value::Null, now)
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        let secs = |n| Some(Duration::from_secs(n));
        assert_eq!(said(&[("retry-after", "7")]), secs(7));
        assert_eq!(said(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(said(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), secs(30));
        assert_eq!(said(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]), secs(0));
        let both = [("retry-after", "2"), ("retry-after-ms", "1500")];
        assert_eq!(said(&both), Some(Duration::from_millis(1_500)));
        let error = json!({"details": [{"a": 1}, {"retryDelay": "37s"}]});
        assert_eq!(retry_after(None, &error, SystemTime::UNIX_EPOCH), secs(37));
    }

    #[test]
    fn nonsense_is_not_believed() {
        for odd in ["", "soon", "-1", "NaN"] {
            assert_eq!(said(&[("retry-after", odd)]), None, "{odd}");
        }
        assert_eq!(said(&[("retry-after", "1e300")]), Some(LONGEST));
        assert_eq!(said(&[("retry-after", "inf")]), Some(LONGEST));
    }
}
