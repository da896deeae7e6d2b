//! Destructors that panic: nobody is left behind.

use offshoot::core::{Caps, Ceiling, FailureKind, Outcome, State};
use offshoot::{BodyError, Memory, Runtime};

type Test = Result<(), Box<dyn std::error::Error>>;

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the bomb went off");
        }
    }
}

#[tokio::test]
async fn s2_6_a_panic_that_throws_a_bomb_is_a_failure_all_the_same() -> Test {
    let runtime = Runtime::builder(Memory::new()).open().await?;
    let session = runtime.session("main").await?;
    let thrower = session
        .spawn_ephemeral(|_cx| async {
            if true {
                std::panic::panic_any(Bomb);
            }
            Ok::<_, BodyError>(())
        })
        .await?;
    let ended = thrower.wait().await?;
    assert!(
        matches!(ended.outcome(), Some(Outcome::Failed(failure)) if failure.kind == FailureKind::Panic)
    );
    Ok(())
}

#[tokio::test]
async fn s6_2_a_queued_body_that_panics_when_dropped_is_cancelled_all_the_same() -> Test {
    let executing = Ceiling { space: Some(1), ..Ceiling::NONE };
    let caps = Caps { executing, ..Caps::default() };
    let runtime = Runtime::builder(Memory::new()).caps(caps).open().await?;
    let session = runtime.session("main").await?;
    let first = session
        .spawn_ephemeral(|cx| async move {
            cx.cancelled().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    let bomb = Bomb;
    let queued = session
        .spawn_ephemeral(move |_cx| async move {
            let _bomb = bomb;
            Ok::<_, BodyError>(())
        })
        .await?;
    assert_eq!(queued.record().await?.state, State::Queued);
    assert_eq!(queued.cancel("enough").await?, 1);
    assert_eq!(queued.wait().await?.task.state, State::Cancelled);
    first.cancel("enough").await?;
    assert!(first.wait().await?.is_ended());
    Ok(())
}
