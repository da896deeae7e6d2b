//! The text for a model that has reached a cap. No model can raise a cap.

use offshoot_core::{Cap, CapReached};

/// The text about a reached cap: the limit, and what the model can do.
pub(super) fn cap_text(reached: &CapReached) -> String {
    let CapReached { cap, limit, used } = reached;
    let way_out = match cap {
        Cap::Depth => "do it yourself",
        Cap::Live(_) => {
            "wait for some of your tasks with wait_tasks or stop some with cancel_task, and try \
             again; or do it yourself"
        }
        Cap::Queued(_) => {
            "wait until some of your tasks have started or stop some with cancel_task, and try \
             again; or do it yourself"
        }
        // Ended tasks still count.
        Cap::Total(_) | Cap::Tree => "do what is left yourself",
    };
    let how_far = match cap {
        Cap::Depth => format!("at most {limit}, and this one would have {used}"),
        _ => format!("{used} of {limit}"),
    };
    format!("the cap on {cap} is reached ({how_far}): {way_out}")
}
