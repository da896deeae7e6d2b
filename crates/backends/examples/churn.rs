//! Measures the rate of short commands, one after another and all at once, also while a
//! thousand others run.
//!
//! `cargo run --release -p offshoot-backends --example churn`

use std::error::Error;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use offshoot_backends::{Attach, Command, Commands, Surroundings, raise_file_limit};
use offshoot_runtime::{Runtime, Session, TaskRequest};
use offshoot_sqlite::Sqlite;

/// The number of short commands.
const MANY: usize = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    raise_file_limit();
    let folder = tempfile::tempdir()?;
    let commands = Commands::at(folder.path())?;
    let builder = Runtime::builder(Sqlite::at(folder.path()));
    let runtime = builder.backend(Commands::KIND, commands.backend()).open().await?;
    let session = runtime.session("churn").await?;
    let request = |program: &str, args: &[&str]| -> Result<TaskRequest, Box<dyn Error>> {
        let command = Command::new(program, folder.path())?.args(args)?;
        Ok(commands.request(command, Some(Surroundings::own()), Attach::No)?)
    };
    measure(&session, || request("true", &[])).await?;
    measure(&session, || request("echo", &["hello"])).await?;
    let begun = Instant::now();
    let sleeping = (0..MANY).map(|_| async {
        session.spawn(request("sleep", &["1000"])?).await.map_err(Box::<dyn Error>::from)
    });
    let sleeping = try_join_all(sleeping).await?;
    println!("{MANY} sleeping commands: {:.0} a second", rate(MANY, begun.elapsed()));
    measure(&session, || request("true", &[])).await?;
    let begun = Instant::now();
    for task in &sleeping {
        task.cancel("enough").await?;
    }
    for task in &sleeping {
        task.wait().await?;
    }
    println!("{MANY} cancelled: {:.0} a second", rate(MANY, begun.elapsed()));
    Ok(())
}

async fn measure(
    session: &Session,
    request: impl Fn() -> Result<TaskRequest, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    for _ in 0..MANY / 10 {
        session.spawn(request()?).await?.wait().await?;
    }
    let one_by_one = rate(MANY / 10, begun.elapsed());
    let begun = Instant::now();
    let all = (0..MANY).map(|_| async {
        session.spawn(request()?).await?.wait().await.map_err(Box::<dyn Error>::from)
    });
    try_join_all(all).await?;
    let at_once = rate(MANY, begun.elapsed());
    println!("one by one {one_by_one:.0} a second, {MANY} at once {at_once:.0} a second");
    Ok(())
}

fn rate(many: usize, took: Duration) -> f64 {
    many as f64 / took.as_secs_f64()
}
