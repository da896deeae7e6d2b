//! scratch
use offshoot::*;
use std::time::Instant;
#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let ns: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    tokio::spawn(async move {
        for n in ns {
            let mut best = f64::MAX;
            let mut bestf = f64::MAX;
            for _ in 0..(1_000_000 / n).clamp(3, 200) {
                let rt = Runtime::builder(Memory::new()).open().await.unwrap();
                let s = rt.session("main").await.unwrap();
                let t = Instant::now();
                for _ in 0..n {
                    s.spawn_ephemeral(|_| async { Ok::<_, BodyError>(1u32) }).await.unwrap();
                }
                let mut k = 0;
                while k < n {
                    let rows = s.receive(1024).await.unwrap();
                    k += rows.len();
                    rows.ack().await.unwrap();
                }
                best = best.min(t.elapsed().as_nanos() as f64 / n as f64);
                let t = Instant::now();
                let mut set = tokio::task::JoinSet::new();
                for _ in 0..n {
                    set.spawn(async { 1u32 });
                }
                while set.join_next().await.is_some() {}
                bestf = bestf.min(t.elapsed().as_nanos() as f64 / n as f64);
            }
            println!("w1 n={n} {best:.0} ns/task  floor {bestf:.0}  ratio {:.2}", best / bestf);
        }
    })
    .await
    .unwrap();
}
