//! The errors that the daemon sends to its callers.

use std::io::ErrorKind;
use std::path::Path;

use offshoot_backends::CommandsError;
use offshoot_client::DaemonDir;
use offshoot_client::wire::{Code, WireError};
use offshoot_core::Cap;
use offshoot_runtime::{Error, TaskRef};
use offshoot_store::StoreError;

use crate::disk::free_bytes;

/// An error of the runtime as its caller gets it, with a hint where the caller can do something.
pub(crate) fn wire_error(error: &Error) -> WireError {
    let code = match error {
        Error::NotFound { .. } | Error::NoSession { .. } => Code::NotFound,
        Error::Ambiguous { .. } => Code::Ambiguous,
        Error::Name(_) => Code::BadName,
        Error::NameTaken { .. } => Code::NameTaken,
        Error::Ended { .. } => Code::Ended,
        Error::OwnerClosed(_) => Code::OwnerClosed,
        Error::SessionBusy(_) => Code::Busy,
        Error::Cap(_) => Code::Cap,
        Error::TakesNoMessages(_) => Code::TakesNoMessages,
        Error::InputEnded(_) => Code::InputEnded,
        Error::TooLarge(_) => Code::TooLarge,
        Error::Full { .. } => Code::Full,
        Error::Lacks { .. }
        | Error::ZeroDuration { .. }
        | Error::KeyReused { .. }
        | Error::MessageKeyReused { .. } => Code::BadRequest,
        Error::Store(StoreError::Locked { .. }) => Code::Locked,
        Error::Store(_) => Code::Store,
        Error::Closed => return closing_error(),
        _ => Code::Other,
    };
    let sent = WireError::from_error(code, error);
    match (error, hint(error)) {
        (Error::Store(StoreError::Full { path }), _) => disk_full_error(sent, path),
        (_, Some(hint)) => sent.hint(hint),
        (_, None) => sent,
    }
}

/// An error about a task, which calls the task by the name that the caller used.
pub(crate) fn wire_error_about(task: &TaskRef, named: &str, error: &Error) -> WireError {
    let mut sent = wire_error(error);
    let id = task.id().to_string();
    if named.trim() != id {
        sent.message = sent.message.replace(&id, &format!("{named:?}"));
    }
    sent
}

/// The hint for a user at a command line.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::NotFound { nearest: None, .. } => Some("`offshoot tasks ls --all` lists them"),
        Error::Ended { .. } => {
            Some("`offshoot tasks show` says how, and `tasks tail` what it wrote")
        }
        Error::Lacks { .. } => Some("`offshoot run` in its session brings what is set"),
        Error::TooLarge(_) => Some("shorten it; a command can read it from a file instead"),
        Error::Cap(reached) => Some(match reached.cap {
            Cap::Depth => "name a task further up with --parent, or none with --no-parent",
            _ => "`offshoot tasks ls --all-sessions` shows what is live",
        }),
        _ => None,
    }
}

/// The error for a session that does not exist.
pub(crate) fn no_session_error(name: &str) -> WireError {
    let text = format!("there is no session {name:?} here");
    WireError::new(Code::NotFound, text).hint("`offshoot sessions ls` lists them")
}

/// The error for a request to a daemon that is ending.
pub(crate) fn closing_error() -> WireError {
    WireError::new(Code::Closing, "the daemon is ending: ask again")
}

/// Adds to an error that the disk is full, with the free bytes and a hint.
pub(crate) fn disk_full_error(error: WireError, directory: &Path) -> WireError {
    with_free_bytes(error, directory).hint(
        "free some space there, or remove sessions whose tasks have ended with `offshoot sessions \
         rm`; nothing that was acknowledged is lost",
    )
}

/// The same for a daemon that cannot start.
fn start_on_full_disk_error(error: WireError, directory: &Path) -> WireError {
    with_free_bytes(error, directory).hint(
        "the daemon needs some room to start, 100 KiB are enough: free it there and try again; \
         nothing that was acknowledged is lost",
    )
}

/// Adds the free bytes of the disk to the causes of an error.
fn with_free_bytes(mut error: WireError, directory: &Path) -> WireError {
    if let Some(free) = free_bytes(directory) {
        error.causes.push(format!("{free} bytes are free on the disk of {}", directory.display()));
    }
    error
}

/// The error for a data directory in which the output of commands cannot be kept.
pub(crate) fn output_error(error: &CommandsError, dir: &DaemonDir) -> WireError {
    let full = |source: &std::io::Error| source.kind() == ErrorKind::StorageFull;
    match error {
        CommandsError::Directory { source, .. } if full(source) => {
            let data = dir.data();
            let text = format!("the disk under {} is full", data.display());
            start_on_full_disk_error(WireError::new(Code::Store, text), data)
        }
        error => WireError::from_error(Code::Store, error),
    }
}

/// The error for a data directory that cannot be opened.
pub(crate) fn open_error(error: &Error) -> WireError {
    match error {
        // A client that starts daemons reads the holder of the lock in the causes.
        Error::Store(StoreError::Locked { holder, .. }) => {
            let causes = vec![holder.to_string()];
            WireError { causes, ..WireError::new(Code::Locked, error.to_string()) }
        }
        Error::Store(StoreError::Full { path }) => {
            start_on_full_disk_error(WireError::from_error(Code::Store, error), path)
        }
        error => wire_error(error),
    }
}
