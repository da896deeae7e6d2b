//! Bodies that do one simple thing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_runtime::{BodyError, BoxFuture, Context, Kind};

use super::{Flag, Gate};

/// A result that is not read.
pub(crate) type Done = Result<(), BodyError>;

/// A body that returns `value` at once.
pub(crate) fn returns<T: Send + 'static>(
    value: T,
) -> impl FnOnce(Context) -> BoxFuture<Result<T, BodyError>> + Send + 'static {
    move |_cx| Box::pin(async move { Ok(value) })
}

/// A body that never ends by itself, cancelled or not.
pub(crate) async fn never(_cx: Context) -> Done {
    std::future::pending().await
}

/// A body that stops as soon as it is cancelled.
pub(crate) async fn obedient(cx: Context) -> Done {
    cx.cancelled().await;
    cx.check_cancelled()?;
    Ok(())
}

/// A kind whose bodies report their arrival, never end by themselves, and report
/// when they are dropped.
pub(crate) fn hanging(came: &Gate, gone: &Gate) -> Kind<(), ()> {
    let (came, gone) = (came.clone(), gone.clone());
    Kind::new("hanging", move |cx: Context, ()| {
        let (came, flag) = (came.clone(), Flag::new(&gone));
        async move {
            let _flag = flag;
            came.arrive();
            never(cx).await
        }
    })
    .resumable()
}

/// Counts how often bodies were polled for the first time.
#[derive(Clone, Default)]
pub(crate) struct Polls(Arc<AtomicUsize>);

impl Polls {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// A body that counts itself and returns.
    pub(crate) fn body(&self) -> impl FnOnce(Context) -> BoxFuture<Done> + Send + 'static + use<> {
        let polls = self.clone();
        move |_cx| {
            Box::pin(async move {
                polls.0.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
        }
    }
}
