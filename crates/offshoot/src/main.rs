//! The `offshoot` program. What each of its commands does is in the file of its
//! name, below `cli`.

mod cli;

fn main() -> std::process::ExitCode {
    // Before anything else: what confines a command must not do anything before.
    offshoot_sandbox::enter_if_asked();
    cli::main()
}
