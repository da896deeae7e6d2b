//! Does one thing and tells how it went: the tests have it done by a confined
//! process and by one that is not.

fn main() -> std::process::ExitCode {
    offshoot_sandbox::enter_if_asked();
    deeds::main()
}

#[cfg(target_os = "linux")]
mod deeds;

#[cfg(not(target_os = "linux"))]
mod deeds {
    pub(crate) fn main() -> std::process::ExitCode {
        std::process::ExitCode::FAILURE
    }
}
