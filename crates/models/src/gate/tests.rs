use super::*;

fn limited(retry_after: Option<Duration>) -> ModelError {
    let (provider, message) = (Provider::OpenAi, "slow down".to_owned());
    ModelError::RateLimited { provider, retry_after, message }
}

fn overloaded(retry_after: Option<Duration>) -> ModelError {
    let (provider, message) = (Provider::OpenAi, "out of order".to_owned());
    ModelError::Overloaded { provider, retry_after, message }
}

async fn waited(gate: &Gate) -> Duration {
    let begun = Instant::now();
    gate.pass().await.answered();
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn s8_4_what_one_is_told_holds_for_all() {
    let gate = Gate::default();
    let (one, other) = (gate.pass().await, gate.pass().await);
    one.failed(&limited(Some(Duration::from_secs(30))), 0.0);
    assert!(gate.try_pass().is_none());
    // An answer that was under way does not open it early.
    other.answered();
    assert_eq!(waited(&gate).await, Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn s8_4_without_a_word_the_time_doubles_and_is_bounded() {
    let gate = Gate::default();
    let mut spans = Vec::new();
    for _ in 0..9 {
        let begun = Instant::now();
        let pass = gate.pass().await;
        spans.push(begun.elapsed().as_secs());
        pass.failed(&limited(None), 1.0);
    }
    assert_eq!(spans, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
}

#[tokio::test(start_paused = true)]
async fn s8_4_one_goes_ahead_after_a_closing() {
    let gate = Gate::default();
    gate.pass().await.failed(&limited(Some(Duration::from_secs(1))), 0.0);
    let ahead = gate.pass().await;
    assert!(gate.try_pass().is_none());
    ahead.answered();
    assert!(gate.try_pass().is_some());
}

#[tokio::test(start_paused = true)]
async fn s8_4_fewer_go_through_after_a_closing_and_more_with_each_answer() {
    let gate = Gate::default();
    let mut inside = Vec::new();
    for _ in 0..8 {
        inside.push(gate.pass().await);
    }
    let last = inside.pop().unwrap();
    last.failed(&limited(Some(Duration::from_secs(1))), 0.0);
    inside.into_iter().for_each(Pass::answered);
    gate.pass().await.answered();
    let through: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
    assert!((4..8).contains(&through.len()), "{}", through.len());
}

#[tokio::test(start_paused = true)]
async fn other_errors_close_nothing_and_a_dropped_pass_makes_room() {
    let gate = Gate::default();
    let error = ModelError::Truncated { message: String::new() };
    gate.pass().await.failed(&error, 0.5);
    drop(gate.pass().await);
    let through: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
    assert_eq!(through.len(), WIDE as usize);
}

#[test]
fn s8_4_there_is_one_gate_for_each_provider_and_key() {
    let keys = |key: &str| {
        let key = key.to_owned();
        Keys::from_lookup(move |name| (name == "OPENAI_API_KEY").then(|| key.clone()))
    };
    let gates = Gates::default();
    let same = |one: &Gate, other: &Gate| Arc::ptr_eq(&one.inner, &other.inner);
    let gate = gates.before(Provider::OpenAi, &keys("a"));
    assert!(same(&gate, &gates.before(Provider::OpenAi, &keys("a"))));
    assert!(!same(&gate, &gates.before(Provider::OpenAi, &keys("b"))));
    assert!(!same(&gate, &gates.before(Provider::Anthropic, &keys("a"))));
}

#[tokio::test(start_paused = true)]
async fn s8_4_a_burst_closes_the_gate_once() {
    let gate = Gate::default();
    let burst: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
    assert_eq!(burst.len(), 64);
    burst.into_iter().for_each(|pass| pass.failed(&limited(None), 1.0));
    assert_eq!(waited(&gate).await, FIRST);
    let through: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
    assert_eq!(through.len(), 32);
}

#[tokio::test(start_paused = true)]
async fn s8_4_the_rest_of_a_burst_may_be_told_to_wait_longer() {
    let gate = Gate::default();
    let passes = [gate.pass().await, gate.pass().await, gate.pass().await];
    for (pass, seconds) in passes.into_iter().zip([5, 30, 10]) {
        pass.failed(&limited(Some(Duration::from_secs(seconds))), 0.0);
    }
    assert_eq!(waited(&gate).await, Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn s8_4_who_goes_ahead_need_not_wait_for_those_from_before() {
    let gate = Gate::default();
    let old: Vec<_> = std::iter::from_fn(|| gate.try_pass()).take(8).collect();
    gate.pass().await.failed(&limited(None), 1.0);
    let ahead = gate.pass().await;
    // Their answers say nothing of how things are after the closing.
    old.into_iter().for_each(Pass::answered);
    assert!(gate.try_pass().is_none());
    drop(ahead);
}

#[tokio::test(start_paused = true)]
async fn s8_4_the_first_word_opens_the_gate_and_an_error_after_it_closes_it_for_longer() {
    let gate = Gate::default();
    let burst: Vec<_> = std::iter::from_fn(|| gate.try_pass()).take(4).collect();
    burst.into_iter().for_each(|pass| pass.failed(&limited(None), 1.0));
    let ahead = gate.pass().await;
    let waiting = gate.pass();
    let mut waiting = std::pin::pin!(waiting);
    assert!(futures_util::poll!(&mut waiting).is_pending());
    ahead.heard();
    ahead.heard();
    drop(waiting.await);
    ahead.failed(&limited(None), 1.0);
    assert_eq!(waited(&gate).await, FIRST * 2);
}

#[tokio::test(start_paused = true)]
async fn s8_4_whoever_is_stopped_on_the_way_ahead_hands_it_on() {
    let gate = Gate::default();
    gate.pass().await.failed(&limited(None), 0.0);
    let ahead = gate.pass().await;
    let next = tokio::spawn({
        let gate = gate.clone();
        async move { gate.pass().await }
    });
    tokio::task::yield_now().await;
    drop(ahead);
    let next = next.await.unwrap();
    // It is one again.
    assert!(gate.try_pass().is_none());
    next.heard();
    drop(next);
    assert!(gate.try_pass().is_some());
}

#[tokio::test(start_paused = true)]
async fn s8_4_the_time_lies_where_chance_says_and_never_before_what_was_told() {
    let told = Some(Duration::from_secs(10));
    for (told, chance, millis) in
        [(told, 0.0, 10_000), (told, 1.0, 11_000), (None, 0.0, 500), (None, 1.0, 1_000)]
    {
        let gate = Gate::default();
        gate.pass().await.failed(&limited(told), chance);
        assert_eq!(waited(&gate).await, Duration::from_millis(millis), "{told:?} {chance}");
    }
}

#[tokio::test(start_paused = true)]
async fn s8_4_a_gate_is_closed_as_long_as_it_is_told_and_for_a_day_at_the_most() {
    let day = Duration::from_secs(24 * 60 * 60);
    for (told, held) in [(day / 24, day / 24), (day, day), (day * 365, day), (Duration::MAX, day)] {
        for chance in [0.0, 1.0] {
            let gate = Gate::default();
            assert_eq!(gate.closed(), None);
            gate.pass().await.failed(&limited(Some(told)), chance);
            let closed = gate.closed().unwrap().left;
            assert!((held..=held + SPREAD).contains(&closed), "{told:?}: {closed:?}");
            assert_eq!(waited(&gate).await, closed);
            assert_eq!(gate.closed(), None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s8_4_nobody_overtakes_those_who_wait() {
    let gate = Gate::default();
    let mut inside: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
    let mut waiting = Box::pin(gate.pass());
    assert!(futures_util::poll!(&mut waiting).is_pending());
    inside.pop();
    assert!(gate.try_pass().is_none());
    let pass = waiting.await;
    assert!(gate.try_pass().is_none(), "the room is taken");
    drop(pass);
    assert!(gate.try_pass().is_some());
}

#[tokio::test(start_paused = true)]
async fn s8_4_a_closed_gate_says_for_how_long_and_why() {
    let gate = Gate::default();
    assert_eq!(gate.closed(), None);
    gate.pass().await.failed(&limited(Some(Duration::from_secs(20))), 0.0);
    let closed = gate.closed().unwrap();
    assert_eq!(closed.left, Duration::from_secs(20));
    assert_eq!(closed.why, ClosingReason::Limited(Provider::OpenAi));
    // Those who wait may be others', and what was said to one is for that one.
    assert_eq!(closed.why.to_string(), "openai: it limits the rate of calls");
    tokio::time::advance(Duration::from_secs(20)).await;
    assert_eq!(gate.closed(), None);
}

#[tokio::test(start_paused = true)]
async fn s8_4_whoever_is_told_to_come_back_at_once_waits_longer_each_time() {
    let gate = Gate::default();
    let mut spans = Vec::new();
    for told in [0, 0, 1, 1_000, 0] {
        let begun = Instant::now();
        let pass = gate.pass().await;
        spans.push(begun.elapsed().as_secs());
        pass.failed(&limited(Some(Duration::from_millis(told))), 1.0);
    }
    assert_eq!(spans, [0, 1, 2, 4, 8]);
    assert_eq!(gate.closed().unwrap().left, Duration::from_secs(16));
}

#[tokio::test(start_paused = true)]
async fn s8_4_trouble_of_one_caller_holds_up_nobody() {
    for told in [None, Some(Duration::ZERO)] {
        let gate = Gate::default();
        let (poisoned, other) = (gate.for_another(), gate.for_another());
        for _ in 0..20 {
            poisoned.pass().await.failed(&overloaded(told), 1.0);
            assert_eq!(waited(&other).await, Duration::ZERO);
        }
        // Nor if the others have nothing to ask in between.
        for _ in 0..20 {
            poisoned.pass().await.failed(&overloaded(told), 1.0);
        }
        assert_eq!(other.closed(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn s8_4_trouble_that_callers_share_closes_the_gate_and_for_longer_each_time() {
    let gate = Gate::default();
    let (one, other) = (gate.for_another(), gate.for_another());
    one.pass().await.failed(&overloaded(None), 1.0);
    assert_eq!(gate.closed(), None);
    other.pass().await.failed(&overloaded(None), 1.0);
    let closed = gate.closed().unwrap();
    assert_eq!((closed.left, closed.why), (FIRST, ClosingReason::Overloaded(Provider::OpenAi)));
    one.pass().await.failed(&overloaded(None), 1.0);
    assert_eq!(gate.closed().unwrap().left, FIRST * 2);
    // An answer in between, or a long time, and it is not the same trouble.
    gate.pass().await.answered();
    other.pass().await.failed(&overloaded(None), 1.0);
    assert_eq!(gate.closed(), None);
    tokio::time::advance(TOGETHER * 2).await;
    one.pass().await.failed(&overloaded(None), 1.0);
    assert_eq!(gate.closed(), None);
}

#[tokio::test(start_paused = true)]
async fn s8_4_trouble_closes_the_gate_at_once_if_the_provider_says_for_how_long() {
    let gate = Gate::default();
    gate.pass().await.failed(&overloaded(Some(Duration::from_secs(7))), 0.0);
    assert_eq!(waited(&gate).await, Duration::from_secs(7));
}
