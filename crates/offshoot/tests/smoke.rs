use offshoot::*;
use std::time::Duration;

#[tokio::test]
async fn cancel_tree_and_messages() {
    let rt = Runtime::builder(Memory::new()).open().await.unwrap();
    let s = rt.session("main").await.unwrap();
    let root = s
        .spawn_ephemeral(|cx| async move {
            let mut kids = vec![];
            for _ in 0..3 {
                kids.push(
                    cx.spawn_ephemeral(|cx| async move {
                        cx.cancelled().await;
                        Err::<(), _>(Cancelled)
                    })
                    .await?,
                );
            }
            cx.wait(&kids).await?;
            Ok::<_, BodyError>(())
        })
        .name("tree")
        .await
        .unwrap();
    while root.snapshot().await.unwrap().task.state.to_string() != "waiting(children)" {
        tokio::task::yield_now().await;
    }
    assert_eq!(root.cancel("enough").await.unwrap(), 4);
    let w = root.wait().await.unwrap();
    println!("{:?}", w.task);
    assert_eq!(w.task.state, core::State::Cancelled);
    let echo = s
        .spawn_ephemeral(|cx| async move {
            let rows = cx.receive(10).await?;
            let text = rows.iter().next().unwrap().message().unwrap().text.to_string();
            rows.ack().await?;
            Ok::<_, BodyError>(text)
        })
        .await
        .unwrap();
    echo.send("hello").await.unwrap();
    assert_eq!(echo.wait().await.unwrap().decode::<String>().unwrap(), "hello");
    let stubborn = s
        .spawn_ephemeral(|_| async move {
            std::future::pending::<()>().await;
            Ok::<_, BodyError>(())
        })
        .await
        .unwrap();
    stubborn.cancel("x").grace(Duration::from_millis(1)).await.unwrap();
    println!("{:?}", stubborn.wait().await.unwrap().task.outcome);
    let panics = s
        .spawn_ephemeral(|_| async move {
            if true {
                panic!("boom")
            };
            Ok::<_, BodyError>(())
        })
        .await
        .unwrap();
    println!("{:?}", panics.wait().await.unwrap().task.outcome);
    assert_eq!(s.drain(10).await.unwrap().len(), 4);
    assert_eq!(rt.shutdown(Duration::from_secs(1)).await.unwrap(), 0);
}
