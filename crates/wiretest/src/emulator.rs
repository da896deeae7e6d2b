//! aimock, an emulator of the providers that others have written.
//!
//! It is a program for Node, which `cargo xtask test` installs and names in two
//! variables. What our own server gets wrong in the same way as we do, it may
//! get right.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// The variable that names the Node to run it with.
pub const NODE: &str = "OFFSHOOT_NODE";

/// The variable that names the program.
pub const AIMOCK: &str = "OFFSHOOT_AIMOCK";

/// A running emulator. Dropping it ends it.
#[derive(Debug)]
pub struct Emulator {
    child: Child,
    address: String,
    _fixtures: tempfile::NamedTempFile,
}

impl Emulator {
    /// Starts it with these fixtures, on a port that it chooses.
    pub fn start(fixtures: &[Value]) -> io::Result<Self> {
        let named = |name: &str| {
            let missing = || io::Error::other(format!("{name} is not set: see `cargo xtask test`"));
            std::env::var_os(name).ok_or_else(missing)
        };
        let mut file = tempfile::Builder::new().suffix(".json").tempfile()?;
        file.write_all(json!({ "fixtures": fixtures }).to_string().as_bytes())?;
        let mut child = Command::new(named(NODE)?)
            .arg(named(AIMOCK)?)
            .args(["--port", "0", "--strict", "--fixtures"])
            .arg(file.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("it says nothing"))?;
        let mut lines = BufReader::new(output).lines();
        let mut address = None;
        while let Some(line) = lines.next().transpose()? {
            if let Some((_, found)) = line.split_once("listening on ") {
                address = Some(found.trim().to_owned());
                break;
            }
        }
        // What it says later is read, so that it can go on.
        std::thread::spawn(move || lines.for_each(drop));
        let Some(address) = address else {
            let _gone = child.wait();
            return Err(io::Error::other("aimock ended before it listened"));
        };
        Ok(Self { child, address, _fixtures: file })
    }

    /// Where it is, such as `http://127.0.0.1:4711`.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
