//! What an error of the runtime means to a visitor.

use std::io::ErrorKind;
use std::path::Path;

use offshoot_backends::CommandsError;
use offshoot_client::DaemonDir;
use offshoot_client::wire::{Code, WireError};
use offshoot_core::Cap;
use offshoot_runtime::{Error, TaskRef};
use offshoot_store::StoreError;

use crate::house::closing;
use crate::reserve::free_bytes;

/// Why a request was refused.
pub(crate) fn refusal(error: &Error) -> WireError {
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
        Error::Closed => return closing(),
        _ => Code::Other,
    };
    let fault = WireError::from_error(code, error);
    match (error, way_out(error)) {
        (Error::Store(StoreError::Full { path }), _) => no_room(fault, path),
        (_, Some(hint)) => fault.hint(hint),
        (_, None) => fault,
    }
}

/// Why a request about a task was refused, in the words of whoever asked.
pub(crate) fn refusal_about(task: &TaskRef, named: &str, error: &Error) -> WireError {
    let mut fault = refusal(error);
    let id = task.id().to_string();
    if named.trim() != id {
        fault.message = fault.message.replace(&id, &format!("{named:?}"));
    }
    fault
}

/// What a visitor can do about it at a command line.
fn way_out(error: &Error) -> Option<&'static str> {
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

/// A fault that is due to a full disk, with what to do about it.
pub(crate) fn no_room(fault: WireError, folder: &Path) -> WireError {
    measured(fault, folder).hint(
        "free some space there, or remove sessions whose tasks have ended with `offshoot sessions \
         rm`; nothing that was acknowledged is lost",
    )
}

/// A fault that keeps a daemon from starting on a full disk.
fn no_room_to_start(fault: WireError, folder: &Path) -> WireError {
    measured(fault, folder).hint(
        "the daemon needs some room to start, 100 KiB are enough: free it there and try again; \
         nothing that was acknowledged is lost",
    )
}

/// A fault, with how much room there is.
fn measured(mut fault: WireError, folder: &Path) -> WireError {
    if let Some(free) = free_bytes(folder) {
        fault.causes.push(format!("{free} bytes are free on the disk of {}", folder.display()));
    }
    fault
}

/// Why the output of commands cannot be kept.
pub(crate) fn no_output(error: &CommandsError, place: &DaemonDir) -> WireError {
    let full = |source: &std::io::Error| source.kind() == ErrorKind::StorageFull;
    match error {
        CommandsError::Folder { source, .. } if full(source) => {
            let data = place.data();
            let text = format!("the disk under {} is full", data.display());
            no_room_to_start(WireError::new(Code::Store, text), data)
        }
        error => WireError::from_error(Code::Store, error),
    }
}

/// Why a data folder could not be opened.
pub(crate) fn unusable(error: &Error) -> WireError {
    match error {
        // Whoever starts daemons wants to know by whom.
        Error::Store(StoreError::Locked { holder, .. }) => {
            let causes = vec![holder.to_string()];
            WireError { causes, ..WireError::new(Code::Locked, error.to_string()) }
        }
        Error::Store(StoreError::Full { path }) => {
            no_room_to_start(WireError::from_error(Code::Store, error), path)
        }
        error => refusal(error),
    }
}
