//! Records to test with.

use offshoot_client::wire::{Cancel, CommandLine, Lineage, Outcome, Restart, State, Task};

/// A command of this handle, in this state.
pub(crate) fn task(handle: &str, state: State) -> Task {
    Task {
        id: format!("id-of-{handle}"),
        handle: handle.to_owned(),
        name: Some(handle.to_owned()),
        kind: "command".to_owned(),
        session: "main".to_owned(),
        state,
        waiting_on: None,
        lacks: None,
        question: None,
        approval: None,
        outcome: state.is_terminal().then(|| Outcome::new(state)),
        lineage: Lineage {
            session: "id-of-main".to_owned(),
            parent: None,
            root: format!("id-of-{handle}"),
            run: None,
            tool_call: None,
            agent: None,
            depth: 0,
            detached: false,
        },
        spawned_at: "2026-01-02T03:04:05Z".to_owned(),
        started_at: Some("2026-01-02T03:04:05Z".to_owned()),
        ended_at: state.is_terminal().then(|| "2026-01-02T03:04:09Z".to_owned()),
        age_ms: 4_200,
        attempts: 1,
        cancel: None,
        progress: None,
        activity: None,
        command: Some(CommandLine {
            argv: vec!["cargo".to_owned(), "build".to_owned()],
            cwd: "/home/me".to_owned(),
            env: Vec::new(),
            restart: Restart::Never,
        }),
        agent: None,
        spent: None,
        settling: false,
        unresponsive: false,
    }
}

/// A request to stop.
pub(crate) fn cancelled(reason: &str) -> Cancel {
    Cancel {
        by: "host".to_owned(),
        reason: reason.to_owned(),
        at: "2026-01-02T03:04:08Z".to_owned(),
    }
}
