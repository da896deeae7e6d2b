//! Tries one operation and prints its result. The tests run it confined and not.

fn main() -> std::process::ExitCode {
    offshoot_sandbox::enter_if_asked();
    operations::main()
}

#[cfg(target_os = "linux")]
mod operations;

#[cfg(not(target_os = "linux"))]
mod operations {
    pub(crate) fn main() -> std::process::ExitCode {
        std::process::ExitCode::FAILURE
    }
}
