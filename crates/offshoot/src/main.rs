//! The `offshoot` program. Each command has a file of its name below `cli`.

mod cli;

fn main() -> std::process::ExitCode {
    // Must come first: a sandboxed command starts as this program.
    offshoot_sandbox::enter_if_asked();
    cli::main()
}
