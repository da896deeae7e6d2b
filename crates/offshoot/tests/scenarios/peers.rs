//! What published systems get wrong today, shown not to happen here, through
//! the path that users take.

mod awaken;
mod defect;
mod everruns;
mod koda;

use offshoot::core::FailureKind;
use offshoot::{BodyError, Context, Kind};

use crate::support::{Test, failure, returns, said, session};

/// Returns the first message it hears.
fn listener() -> Kind<(), String> {
    Kind::new("listener", |cx: Context, ()| async move {
        let rows = cx.receive(1).await?;
        rows.ack().await?;
        Ok::<_, BodyError>(said(&rows).concat())
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
