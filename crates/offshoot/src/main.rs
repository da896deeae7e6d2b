//! The `offshoot` program. What each of its commands does is in the file of its
//! name, below `cli`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
