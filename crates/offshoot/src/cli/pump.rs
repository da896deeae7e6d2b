//! Pumps what a command writes to our own streams, across the death of a
//! daemon.
//!
//! The daemon tells now and then up to which place of the log it has sent. If
//! it dies, the next one is asked from the last such place on. What had come
//! after that place comes again, and is not written again.

use offshoot_client::Followed;
use offshoot_client::wire::{Chunk, Following, Named, Reading, Reply, Request, StreamName, Tail};

use super::desk::Desk;
use super::outlet::{Outlet, Passing};
use super::show::size;
use super::trouble::Trouble;

/// How often a stream may break in a row without having said anything.
const BREAKS: u32 = 5;

/// Pumps what a command writes.
#[derive(Debug)]
pub(crate) struct Pump {
    desk: Desk,
    task: Named,
    out: Side,
    err: Side,
    attempt: u32,
}

/// One of the command's streams, and where it goes.
#[derive(Debug)]
struct Side {
    outlet: Outlet,
    passing: Passing,
    /// What came since the last place.
    since: u64,
    /// What is to come again, and was written.
    again: u64,
}

/// Where each of the streams of a command goes.
#[derive(Debug)]
pub(crate) struct Outlets {
    /// Its standard output.
    pub(crate) out: (Outlet, Passing),
    /// Its standard error.
    pub(crate) err: (Outlet, Passing),
}

impl Side {
    fn new((outlet, passing): (Outlet, Passing)) -> Self {
        Self { outlet, passing, since: 0, again: 0 }
    }

    async fn write(&mut self, mut bytes: Vec<u8>) -> Result<(), Trouble> {
        let length = bytes.len() as u64;
        self.since += length;
        let known = self.again.min(length);
        self.again -= known;
        // Not longer than the piece, whose length is a usize.
        bytes.drain(..known as usize);
        self.outlet.write(self.passing.pass(bytes)).await
    }

    fn placed(&mut self) {
        self.since = 0;
    }

    fn broke(&mut self) {
        self.again += self.since;
        self.since = 0;
    }

    fn begins_anew(&mut self) {
        self.again = 0;
        self.since = 0;
    }
}

impl Pump {
    /// A pump of this task's output.
    pub(crate) fn new(desk: Desk, task: Named, outlets: Outlets) -> Self {
        let (out, err) = (Side::new(outlets.out), Side::new(outlets.err));
        Self { desk, task, out, err, attempt: 0 }
    }

    /// Pumps from a place in the log on, to its present end or the task's.
    pub(crate) async fn run(
        &mut self,
        mut reading: Reading,
        following: Following,
    ) -> Result<(), Trouble> {
        let mut breaks = 0;
        loop {
            let tail = Tail { task: self.task.clone(), reading, following };
            let mut stream = self.desk.client.follow(&Request::Tail(tail)).await?;
            let broken = loop {
                match stream.next().await {
                    Ok(None) => return self.finish().await,
                    Ok(Some(item)) => {
                        breaks = 0;
                        if let Some(place) = self.take(item).await? {
                            reading = Reading::From(place);
                        }
                    }
                    Err(error) if error.is_broken_off() && breaks < BREAKS => break error,
                    Err(error) => return Err(error.into()),
                }
            };
            breaks += 1;
            self.out.broke();
            self.err.broke();
            if breaks == 1 && following == Following::Follow {
                self.desk.screen.tell(&format!("offshoot: {broken}; going on with a new daemon"));
            }
        }
    }

    /// Takes one item; a place from which reading may go on is given back.
    async fn take(&mut self, item: Followed) -> Result<Option<u64>, Trouble> {
        match item {
            Followed::Output(Chunk { stream: StreamName::Stdout, bytes, .. }) => {
                self.out.write(bytes).await?;
            }
            Followed::Output(Chunk { stream: StreamName::Stderr, bytes, .. }) => {
                self.err.write(bytes).await?;
            }
            Followed::Said(Reply::Place { at }) => {
                self.out.placed();
                self.err.placed();
                return Ok(Some(at));
            }
            Followed::Said(Reply::Gap { bytes }) => {
                let bytes = size::bytes(bytes);
                self.desk.screen.remark(&format!("offshoot: {bytes} are missing here, not kept"));
            }
            Followed::Said(Reply::Attempt { number }) if number > self.attempt => {
                self.out.begins_anew();
                self.err.begins_anew();
                if number > 1 {
                    self.desk.screen.remark(&format!("offshoot: attempt {number} begins here"));
                }
                self.attempt = number;
            }
            Followed::Said(_) => {}
        }
        Ok(None)
    }

    async fn finish(&mut self) -> Result<(), Trouble> {
        for side in [&mut self.out, &mut self.err] {
            let rest = side.passing.rest();
            side.outlet.write(rest).await?;
        }
        Ok(())
    }
}
