//! A stream of answers to one request.

use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::input::InputSender;
use crate::connection::Connection;
use crate::error::Error;
use crate::frame::{Frame, read_frame};
use crate::wire::{Chunk, Reply};

/// A stream of answers. Dropping it tells the daemon to stop.
#[derive(Debug)]
pub struct ReplyStream {
    reader: Option<BufReader<OwnedReadHalf>>,
    writer: Option<OwnedWriteHalf>,
}

/// One item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem {
    /// A piece of output.
    Output(Chunk),
    /// An answer.
    Reply(Reply),
}

impl ReplyStream {
    pub(crate) fn new(connection: Connection) -> Self {
        let Connection { reader, writer, .. } = connection;
        Self { reader: Some(reader), writer: Some(writer) }
    }

    /// Where the input of the command goes that this is the stream of; once.
    /// Nothing may be passed on before the stream has told of its task: until
    /// then the request may have to be repeated.
    pub fn input(&mut self) -> Option<InputSender> {
        self.writer.take().map(InputSender::new)
    }

    /// The next item; `None` once the stream is over. An error ends it.
    pub async fn next(&mut self) -> Result<Option<StreamItem>, Error> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let next = match read_frame(reader).await {
            Ok(Frame::Output(chunk)) => return Ok(Some(StreamItem::Output(chunk))),
            Ok(said) => said.read().map_err(Error::from),
            Err(error) => Err(error.into()),
        };
        match next {
            Ok(Reply::Done) => {
                self.over();
                Ok(None)
            }
            Ok(Reply::Error(error)) => {
                self.over();
                Err(error.into())
            }
            Ok(reply) => Ok(Some(StreamItem::Reply(reply))),
            Err(error) => {
                self.over();
                Err(error)
            }
        }
    }

    fn over(&mut self) {
        self.reader = None;
        self.writer = None;
    }
}
