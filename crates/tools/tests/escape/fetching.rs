//! `fetch`, and the addresses that it refuses.
//!
//! One address of this machine represents the public network, the others private ones.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use offshoot_tools::{Fetch, Lookup, Names};
use serde_json::json;

use crate::server::{Answer, PRIVATE, PUBLIC, Server, is_public};
use crate::support::{Agent, World};

/// Addresses that a test sets for a name: each lookup returns the next.
#[derive(Debug, Default)]
struct Book {
    asked: Arc<AtomicUsize>,
}

impl Names for Book {
    fn lookup(&self, host: String) -> Lookup {
        let round = self.asked.fetch_add(1, Ordering::SeqCst);
        let found: io::Result<Vec<IpAddr>> = match host.as_str() {
            "public.test" => Ok(vec![PUBLIC.into()]),
            "private.test" => Ok(vec![PRIVATE.into()]),
            "both.test" => Ok(vec![PUBLIC.into(), PRIVATE.into()]),
            "rebinds.test" if round == 0 => Ok(vec![PUBLIC.into()]),
            "rebinds.test" => Ok(vec![PRIVATE.into()]),
            "nothing.test" => Ok(Vec::new()),
            _ => Err(io::Error::other("no such name")),
        };
        Box::pin(std::future::ready(found))
    }
}

/// An agent with `fetch`.
async fn agent(world: &World, fetch: Fetch) -> Agent {
    let tool = fetch.tool();
    world.agent_with(|agents| agents.tool(tool)).await
}

fn fetch() -> Fetch {
    Fetch::new().names(Book::default()).public(is_public)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_read_as_text() {
    let world = World::new();
    let server = Server::at(PUBLIC, |path| match path {
        "/moved" => Answer::redirect("/page"),
        "/page" => Answer::page("text/html", "<h1>Head</h1><script>no</script><p>a &amp; b"),
        "/json" => Answer::page("application/json", "{\"a\":1}"),
        "/none" => Answer::Bytes(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone".into()),
        _ => Answer::page("image/png", b"\x89PNG"),
    });
    let server = server.await;
    let agent = agent(&world, fetch()).await;
    let ask = async |path: &str| {
        agent.call("fetch", json!({ "url": server.url("public.test", path) })).await
    };
    let page = ask("/moved").await.done();
    assert!(page.contains("/page answered 200 OK.\n\nHead\na & b"), "{page}");
    assert!(ask("/json").await.done().ends_with("{\"a\":1}"));
    ask("/none").await.refused("answered 404 Not Found");
    ask("/picture").await.refused("no text (image/png, 4 bytes)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_refused_by_name_address_and_redirect() {
    let world = World::new();
    let private = Server::at(PRIVATE, |_| Answer::page("text/plain", "the secret")).await;
    let port = private.address.port();
    let ways = Arc::new(vec![
        format!("http://127.0.0.2:{port}/"),
        format!("http://private.test:{port}/"),
        format!("http://both.test:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        format!("http://2130706434:{port}/"),
        format!("http://0x7f.2:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://192.168.1.1/".to_owned(),
        "http://[fd00::1]/".to_owned(),
        "http://nothing.test/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "ftp://public.test/".to_owned(),
        "http://user:key@public.test:8080/".to_owned(),
        "http://public.test:25/".to_owned(),
    ]);
    let to = ways.clone();
    let public = Server::at(PUBLIC, move |path| {
        Answer::redirect(&to[path.trim_matches('/').parse::<usize>().unwrap()])
    });
    let public = public.await;
    let agent = agent(&world, fetch()).await;
    for (number, url) in ways.iter().enumerate() {
        agent.call("fetch", json!({ "url": url })).await.refused("not asked for");
        let redirect = public.url("public.test", &format!("/{number}"));
        let told = agent.call("fetch", json!({ "url": redirect })).await;
        told.refused("not asked for");
    }
    assert_eq!(public.asked(), ways.len());
    assert_eq!(private.asked(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_changes_its_address_leads_to_the_checked_one() {
    let world = World::new();
    // Both listen on the same port.
    let public = Server::at(PUBLIC, |path| match path {
        "/again" => Answer::redirect("/page"),
        _ => Answer::page("text/plain", "public"),
    });
    let public = public.await;
    let port = public.address.port();
    let private = tokio::net::TcpListener::bind((PRIVATE, port)).await.unwrap();
    let book = Book::default();
    let asked = book.asked.clone();
    let agent = agent(&world, Fetch::new().names(book).public(is_public)).await;
    let url = format!("http://rebinds.test:{port}/page");
    assert!(agent.call("fetch", json!({ "url": url })).await.done().ends_with("public"));
    // The name is looked up once, so the connection uses the checked address.
    assert_eq!(asked.swap(0, Ordering::SeqCst), 1);
    let url = format!("http://rebinds.test:{port}/again");
    agent.call("fetch", json!({ "url": url })).await.refused("not asked for");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    tokio::select! {
        biased;
        _ = private.accept() => panic!("the private address was connected to"),
        () = tokio::task::yield_now() => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_body_is_cut_and_endless_redirects_fail() {
    let world = World::new();
    let server = Server::at(PUBLIC, |path| match path {
        "/around" => Answer::redirect("/around"),
        _ => Answer::Endless(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".into(),
            b"more and more\n".repeat(1_000),
        ),
    });
    let server = server.await;
    let agent = agent(&world, fetch()).await;
    let url = server.url("public.test", "/endless");
    let told = agent.call("fetch", json!({ "url": url })).await.done();
    assert!(told.contains("answered 200 OK.\n\nmore and more"), "{told}");
    let url = server.url("public.test", "/around");
    agent.call("fetch", json!({ "url": url })).await.refused("more than 5 redirects");
    assert_eq!(server.asked(), 1 + 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_reaches_the_time_limit() {
    let world = World::new();
    let server = Server::at(PUBLIC, |path| match path {
        "/head" => Answer::Silent(Vec::new()),
        _ => Answer::Silent(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegun".into()),
    });
    let server = server.await;
    let agent = agent(&world, fetch().patience(Duration::from_millis(200))).await;
    for path in ["/head", "/body"] {
        let url = server.url("public.test", path);
        agent.call("fetch", json!({ "url": url })).await.refused("took longer than 0.2 seconds");
    }
}
