use offshoot_core::Stamp;

use super::*;

fn ledger(limits: &str, price: Price) -> BudgetLedger {
    let own = TaskId::mint(Stamp::from_millis(1), 1);
    let pools = vec![BudgetPool { task: own, limits: limits.parse().unwrap() }];
    BudgetLedger::new(own, pools, price, Reservations::default())
}

fn need(input: u64) -> CallCost {
    CallCost { input, output: 8_192, steps: 1, closing: Some(input) }
}

#[test]
fn s8_2_an_ordinary_call_leaves_enough_for_the_closing_answer() {
    let ledger = ledger("5k tokens", Price::default());
    let room = ledger.room(&[Amount::default()], &need(2_000)).unwrap();
    assert!(room >= LEAST_ANSWER, "{room}");
    // The call, and the closing answer that reads its answer.
    assert!(2_000 + room + 2_000 + room + NOTICE + LEAST_ANSWER <= 5_000);
    let used = Amount { tokens: 600, ..Amount::default() };
    assert!(ledger.room(&[used], &need(2_000)).is_err());
    let closing = CallCost { closing: None, ..need(2_000) };
    assert_eq!(ledger.room(&[used], &closing), Ok(2_400));
}

#[test]
fn s8_2_a_limit_of_zero_allows_nothing_even_at_no_cost() {
    for limits in ["0usd", "0 tokens", "0 steps"] {
        let ledger = ledger(limits, Price::default());
        let closing = CallCost { closing: None, ..need(1) };
        assert!(ledger.room(&[Amount::default()], &closing).is_err(), "{limits}");
    }
    assert_eq!(ledger("1m", Price::default()).room(&[Amount::default()], &need(1)), Ok(u64::MAX));
}

#[test]
fn s8_2_money_is_reserved_at_the_dearest_price() {
    let price = Price { input: 1_000, cache_read: 100, cache_write: 1_250, output: 5_000 };
    let ledger = ledger("1usd", price);
    let amount = ledger.amount(&need(1_000), 100);
    assert_eq!(amount, Amount { tokens: 1_100, money: 1_250_000 + 500_000, steps: 1 });
    let dearest = Usage { input: 1_000, cache_write: 1_000, output: 100, ..Usage::default() };
    assert_eq!(price.of(dearest).0, amount.money);
}

#[test]
fn s8_2_the_last_step_is_for_the_closing_answer() {
    let ledger = ledger("2 steps", Price::default());
    assert!(ledger.room(&[Amount::default()], &need(10)).is_ok());
    let used = Amount { steps: 1, ..Amount::default() };
    assert!(ledger.room(&[used], &need(10)).is_err());
    assert!(ledger.room(&[used], &CallCost { closing: None, ..need(10) }).is_ok());
}
