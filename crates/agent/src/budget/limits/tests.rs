use proptest::prelude::*;

use super::*;

fn budget(written: &str) -> Budget {
    written.parse().unwrap()
}

fn refused(written: &str) -> String {
    written.parse::<Budget>().unwrap_err().to_string()
}

#[test]
fn s8_2_a_budget_is_parsed_as_people_write_it() {
    let money = |billionths| Some(Money(billionths));
    for (written, read) in [
        ("2usd", 2_000_000_000),
        ("$2", 2_000_000_000),
        ("0.50usd", 500_000_000),
        (".5 USD", 500_000_000),
        ("$0.000000001", 1),
        ("0usd", 0),
    ] {
        assert_eq!(budget(written), Budget { money: money(read), ..Budget::default() });
    }
    for (written, read) in
        [("200k tokens", 200_000), ("1.5m tokens", 1_500_000), ("7 tokens", 7), ("1 token", 1)]
    {
        assert_eq!(budget(written), Budget { tokens: Some(read), ..Budget::default() });
    }
    for (written, read) in
        [("10m", 600), ("1h30m", 5_400), ("90s", 90), ("1h 5s", 3_605), ("2d", 172_800)]
    {
        let time = Some(Duration::from_secs(read));
        assert_eq!(budget(written), Budget { time, ..Budget::default() });
    }
    assert_eq!(budget("20 steps"), Budget { steps: Some(20), ..Budget::default() });
    let all = budget("2usd, 200k tokens,10m , 1 step");
    assert_eq!(all.to_string(), "2usd, 200000 tokens, 10m, 1 step");
}

#[test]
fn s8_2_the_error_for_an_invalid_budget_names_the_valid_forms() {
    for (written, why) in [
        ("", "it says nothing"),
        ("2usd,", "it says nothing"),
        ("200k", "it has no unit: write 200k tokens"),
        ("1.5m", "it has no unit: write 1.5m tokens"),
        ("1.5h", "in whole numbers, such as 1h30m"),
        ("5", "it has no unit: write 5 tokens"),
        ("-2usd", "nothing less than nothing"),
        ("usd", "the number is missing"),
        ("m", "the number is missing"),
        ("2.usd", "is not a number"),
        ("1.2.3usd", "is not a number"),
        ("2eur", "\"eur\" is no unit"),
        ("1.5 steps", "is not a whole number"),
        ("1.0001k tokens", "more than 3 decimal places"),
        ("0.0000000001usd", "more than 9 decimal places"),
        ("10000000000usd", "is too much"),
        ("99999999999999999999 tokens", "is too much"),
        ("30m1h", "from the larger to the smaller"),
        ("9999999999999999999d", "too much"),
        ("2usd, $3", "the money is limited twice"),
        ("1m, 2m", "the time is limited twice"),
        ("?", "it cannot be read"),
    ] {
        let told = refused(written);
        assert!(told.contains(why) && told.contains("$2 or 0.50usd"), "{written:?}: {told}");
    }
}

#[test]
fn s8_2_within_another_budget_the_lower_limit_of_each_applies() {
    let within = budget("2usd, 5 steps").within(budget("3usd, 1k tokens, 0 steps"));
    assert_eq!(within.to_string(), "2usd, 1000 tokens, 0 steps");
    assert!(Budget::default().within(Budget::default()).is_unlimited());
    assert!(!budget("0 tokens").is_unlimited());
}

proptest! {
    #[test]
    fn s8_2_a_written_budget_is_read_back_unchanged(
        tokens in proptest::option::of(0..=MOST),
        money in proptest::option::of(0..=MOST),
        time in proptest::option::of(0..=MOST),
        steps in proptest::option::of(0..=MOST),
    ) {
        let (money, time) = (money.map(Money), time.map(Duration::from_secs));
        let limits = Budget { tokens, money, time, steps };
        prop_assume!(!limits.is_unlimited());
        prop_assert_eq!(limits.to_string().parse::<Budget>().unwrap(), limits);
    }

    #[test]
    fn s8_2_every_text_is_a_budget_or_an_error(written in "[0-9a-z.,$ -]{0,24}") {
        if let Ok(limits) = written.parse::<Budget>() {
            prop_assert_eq!(limits.to_string().parse::<Budget>().unwrap(), limits);
        }
    }
}
