//! The operations, by name.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::ExitCode;

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// Tries the operation of the arguments. One that the system refuses exits with 1 and
/// prints the number of the error. One that cannot be tried exits with 2.
pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match operation(&args) {
        Some(Ok(told)) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Some(Err(error)) => {
            println!("{}", error.raw_os_error().unwrap_or(0));
            ExitCode::FAILURE
        }
        None => {
            eprintln!("there is no such operation: {args:?}");
            ExitCode::from(2)
        }
    }
}

fn operation(args: &[&str]) -> Option<io::Result<String>> {
    let done = |result: io::Result<()>| result.map(|()| "done".to_owned());
    Some(match *args {
        ["read", path] => std::fs::read_to_string(path),
        ["open", path] => done(std::fs::File::open(path).map(drop)),
        ["link", path] => std::fs::read_link(path).map(|to| to.display().to_string()),
        ["list", path] => std::fs::read_dir(path).map(|found| found.count().to_string()),
        ["write", path] => done(std::fs::write(path, "changed")),
        ["connect", path] => done(UnixStream::connect(path).map(drop)),
        ["connect-abstract", name] => {
            let address = SocketAddr::from_abstract_name(name);
            done(address.and_then(|address| UnixStream::connect_addr(&address)).map(drop))
        }
        ["signal", pid] => {
            let pid = pid.parse().ok().and_then(Pid::from_raw)?;
            done(rustix::process::kill_process(pid, Signal::USR1).map_err(Into::into))
        }
        ["limit", pid, limit] => {
            let current = Some(limit.parse().ok()?);
            let maximum = rustix::process::getrlimit(Resource::Rttime).maximum;
            let limit = Rlimit { current, maximum };
            let set = match pid.parse().ok().and_then(Pid::from_raw) {
                Some(pid) => rustix::process::prlimit(Some(pid), Resource::Rttime, limit).map(drop),
                None => rustix::process::setrlimit(Resource::Rttime, limit),
            };
            done(set.map_err(Into::into))
        }
        ["descriptors"] => descriptors(),
        ["variable", name] => std::env::var(name).map_err(io::Error::other),
        ["helper"] => Ok(format!("{:?}", offshoot_sandbox::Helper::own())),
        _ => return None,
    })
}

/// The open files, but for the one that lists them.
fn descriptors() -> io::Result<String> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.push(entry?.path());
    }
    let open = open.iter().filter(|path| path.read_link().is_ok()).count();
    Ok(open.to_string())
}
