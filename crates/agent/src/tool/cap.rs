//! A cap that is reached, in words for a model: no model can raise it.

use offshoot_core::{Cap, CapReached};

/// What a model is told of it, and what it can do.
pub(super) fn told(reached: &CapReached) -> String {
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
        // None of them is ever given back.
        Cap::Total(_) | Cap::Tree => "do what is left yourself",
    };
    let how_far = match cap {
        Cap::Depth => format!("at most {limit}, and this one would have {used}"),
        _ => format!("{used} of {limit}"),
    };
    format!("the cap on {cap} is reached ({how_far}): {way_out}")
}
