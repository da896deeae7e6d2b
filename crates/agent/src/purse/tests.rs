use offshoot_core::Stamp;

use super::*;

fn purse(limits: &str, price: Price) -> Purse {
    let own = TaskId::mint(Stamp::from_millis(1), 1);
    let pools = vec![Pool { task: own, limits: limits.parse().unwrap() }];
    Purse::new(own, pools, price, Flights::default())
}

fn need(input: u64) -> Need {
    Need { input, output: 8_192, steps: 1, closing: Some(input) }
}

#[test]
fn s8_2_an_ordinary_call_leaves_enough_for_the_last_words() {
    let purse = purse("5k tokens", Price::default());
    let room = purse.room(&[Amount::default()], &need(2_000)).unwrap();
    assert!(room >= LEAST, "{room}");
    // The call, and its last words that read what it answered.
    assert!(2_000 + room + 2_000 + room + NOTICE + LEAST <= 5_000);
    let used = Amount { tokens: 600, ..Amount::default() };
    assert!(purse.room(&[used], &need(2_000)).is_err());
    let words = Need { closing: None, ..need(2_000) };
    assert_eq!(purse.room(&[used], &words), Ok(2_400));
}

#[test]
fn s8_2_nothing_of_what_is_free_is_nothing_all_the_same() {
    for limits in ["0usd", "0 tokens", "0 steps"] {
        let purse = purse(limits, Price::default());
        let words = Need { closing: None, ..need(1) };
        assert!(purse.room(&[Amount::default()], &words).is_err(), "{limits}");
    }
    assert_eq!(purse("1m", Price::default()).room(&[Amount::default()], &need(1)), Ok(u64::MAX));
}

#[test]
fn s8_2_money_is_reserved_at_the_dearest_price() {
    let price = Price { input: 1_000, cache_read: 100, cache_write: 1_250, output: 5_000 };
    let purse = purse("1usd", price);
    let amount = purse.amount(&need(1_000), 100);
    assert_eq!(amount, Amount { tokens: 1_100, money: 1_250_000 + 500_000, steps: 1 });
    let dearest = Usage { input: 1_000, cache_write: 1_000, output: 100, ..Usage::default() };
    assert_eq!(price.of(dearest).0, amount.money);
}

#[test]
fn s8_2_of_few_steps_the_last_one_is_for_the_last_words() {
    let purse = purse("2 steps", Price::default());
    assert!(purse.room(&[Amount::default()], &need(10)).is_ok());
    let used = Amount { steps: 1, ..Amount::default() };
    assert!(purse.room(&[used], &need(10)).is_err());
    assert!(purse.room(&[used], &Need { closing: None, ..need(10) }).is_ok());
}
