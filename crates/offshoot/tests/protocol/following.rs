//! Following the events of a session.

use offshoot_client::Error;
use offshoot_client::wire::{Code, Reply, Request, Sessions};

use crate::support::{World, status};

#[tokio::test]
async fn following_a_missing_session_fails_and_creates_none() {
    let world = World::new();
    let client = world.client();
    status(&client).await;
    for cursor in [None, Some(0)] {
        let request = Request::Events { session: "nowhere".into(), cursor };
        let refused = client.follow(&request).await.unwrap().next().await;
        let Err(Error::Refused(fault)) = refused else { panic!("{refused:?}") };
        assert_eq!(fault.code, Code::NotFound, "{fault:?}");
    }
    let listed = client.ask(&Request::Sessions { cursor: None, limit: 9 }).await.unwrap();
    let Reply::Sessions(Sessions { sessions, .. }) = listed else { panic!("{listed:?}") };
    assert_eq!(sessions, []);
}
