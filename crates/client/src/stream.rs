//! A stream of answers to one request.

use crate::connection::Connection;
use crate::error::Error;
use crate::frame::Frame;
use crate::wire::{Chunk, Reply};

/// A stream of answers. Dropping it tells the daemon to stop.
#[derive(Debug)]
pub struct Following {
    connection: Option<Connection>,
}

/// One item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// A piece of output.
    Output(Chunk),
    /// An answer.
    Said(Reply),
}

impl Following {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection: Some(connection) }
    }

    /// The next item; `None` once the stream is over. An error ends it.
    pub async fn next(&mut self) -> Result<Option<Followed>, Error> {
        let Some(connection) = &mut self.connection else { return Ok(None) };
        let next = match connection.next().await {
            Ok(Frame::Output(chunk)) => return Ok(Some(Followed::Output(chunk))),
            Ok(said) => said.read().map_err(Error::from),
            Err(error) => Err(error),
        };
        match next {
            Ok(Reply::Done) => {
                self.connection = None;
                Ok(None)
            }
            Ok(Reply::Fault(fault)) => {
                self.connection = None;
                Err(fault.into())
            }
            Ok(reply) => Ok(Some(Followed::Said(reply))),
            Err(error) => {
                self.connection = None;
                Err(error)
            }
        }
    }
}

impl Error {
    /// Whether a stream broke because the daemon went away: ask the next one
    /// for the rest.
    pub fn is_broken_off(&self) -> bool {
        self.is_gone()
    }
}
