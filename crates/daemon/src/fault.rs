//! What an error of the runtime means to a visitor.

use offshoot_client::wire::{Code, Fault};
use offshoot_core::Cap;
use offshoot_runtime::Error;
use offshoot_store::StoreError;

/// Why a request was refused.
pub(crate) fn refusal(error: &Error) -> Fault {
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
        Error::ZeroDuration { .. } | Error::KeyReused { .. } | Error::MessageKeyReused { .. } => {
            Code::BadRequest
        }
        Error::Store(StoreError::Locked { .. }) => Code::Locked,
        Error::Store(_) => Code::Store,
        Error::Closed => Code::Closing,
        _ => Code::Other,
    };
    let fault = Fault::from_error(code, error);
    match way_out(error) {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// What a visitor can do about it at a command line.
fn way_out(error: &Error) -> Option<&'static str> {
    match error {
        Error::NotFound { nearest: None, .. } => Some("`offshoot tasks ls --all` lists them"),
        Error::Ended { .. } => {
            Some("`offshoot tasks show` says how, and `tasks tail` what it wrote")
        }
        Error::TooLarge(_) => Some("write it into a file, and say where that is"),
        Error::Cap(reached) => Some(match reached.cap {
            Cap::Depth => "name a task further up with --parent, or none with --no-parent",
            _ => "`offshoot tasks ls --all-sessions` shows what is live",
        }),
        _ => None,
    }
}

/// Why a data folder could not be opened.
pub(crate) fn unusable(error: &Error) -> Fault {
    match error {
        // Whoever starts daemons wants to know by whom.
        Error::Store(StoreError::Locked { holder, .. }) => {
            let causes = vec![holder.to_string()];
            Fault { causes, ..Fault::new(Code::Locked, error.to_string()) }
        }
        error => refusal(error),
    }
}
