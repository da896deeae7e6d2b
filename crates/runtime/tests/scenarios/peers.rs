//! Defects of published systems, shown not to happen here, through the public API.

mod awaken;
mod defect;
mod everruns;
mod koda;

use offshoot_core::FailureKind;
use offshoot_runtime::{BodyError, Context, Kind};

use crate::support::{Test, failure, message_texts, returns, session};

/// Returns the first message that it reads.
fn listener() -> Kind<(), String> {
    Kind::new("listener", |cx: Context, ()| async move {
        let rows = cx.receive(1).await?;
        rows.ack().await?;
        Ok::<_, BodyError>(message_texts(&rows).concat())
    })
    .resumable()
}

async fn assert_a_panic_ends_its_task() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|_cx| async {
            tokio::task::yield_now().await;
            if true {
                panic!("out of luck");
            }
            Ok::<_, BodyError>(())
        })
        .name("unlucky")
        .await?;
    let waited = task.wait().await?;
    assert_eq!(failure(&waited.task).kind, FailureKind::Panic);
    assert_eq!(session.drain(10).await?.len(), 1, "its owner is told");
    session.spawn_ephemeral(returns(())).name("unlucky").await?;
    Ok(())
}
