//! Inherited open files.

use std::io;

/// Closes all but the standard streams.
pub(super) fn close_inherited() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        open.push(number.ok_or_else(|| io::Error::other("/proc/self/fd is not what it is"))?);
    }
    for number in open.into_iter().filter(|number| *number > 2) {
        // The descriptor of the listing is closed already.
        if let Err(error) = nix::unistd::close(number)
            && error != nix::errno::Errno::EBADF
        {
            return Err(error.into());
        }
    }
    Ok(())
}
