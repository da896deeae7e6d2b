//! What an error of the runtime means to a visitor.

use offshoot_client::wire::{Code, Fault};
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
    Fault::from_error(code, error)
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
