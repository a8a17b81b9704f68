//! What tools reach through the proxy: hosts of the list, and nothing else.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use bowline_testkit::Workspace;
use serde_json::{Value, json};

use super::keepers::{output, start};

/// Serves every connection with a text.
fn serve() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached");
        }
    });
    port
}

/// Returns what a command gets of a host, or why it does not.
fn fetch(settings: &Value, host: &str) -> String {
    fetch_and_report(settings, host).0
}

/// Also returns what is said about the connection.
fn fetch_and_report(settings: &Value, host: &str) -> (String, Value) {
    let workspace = Workspace::empty().settings(json!({ "sandbox": settings }));
    let mut agent = start(&workspace);
    let program = format!(
        "import urllib.request as r, urllib.error as e\n\
         o = r.build_opener(r.ProxyHandler({{'http': 'http://127.0.0.1:3128'}}))\n\
         try: print(o.open('http://{host}/', timeout=20).read())\n\
         except e.HTTPError as error: print(error.code, error.read())"
    );
    let text = output(&mut agent, &format!("env -u NO_PROXY -u no_proxy python3 -c \"{program}\""));
    let report = agent.ask(json!({ "type": "get_sandbox", "connections": true }));
    (text, report["data"]["connections"].clone())
}

#[test]
fn host_of_the_list_is_reached_and_no_other() {
    let port = serve();
    let address = format!("127.0.0.1:{port}");
    let list = |hosts: Value, denied: Value| json!({ "network": "allow-list", "hosts": hosts, "deniedHosts": denied });
    let allowed = fetch(&list(json!([address]), json!([])), &address);
    assert!(allowed.contains("reached"), "{allowed}");
    let unlisted = fetch(&list(json!(["other.example"]), json!([])), &address);
    assert!(unlisted.contains("403") && unlisted.contains("not on the list"), "{unlisted}");
    let denied = fetch(&list(json!([address]), json!([address])), &address);
    assert!(denied.contains("403") && denied.contains("deny it"), "{denied}");
    let (_, connections) = fetch_and_report(&list(json!([address]), json!([])), &address);
    let made = &connections[0];
    assert_eq!(
        (&made["host"], &made["port"], &made["decision"]),
        (&json!("127.0.0.1"), &json!(port), &json!("listed"))
    );
    assert!(made["received"].as_u64().unwrap() > 7, "{connections}");
    // A name of the list must not lead to this machine.
    let name = format!("localhost:{port}");
    let private = fetch(&list(json!([name]), json!([])), &name);
    assert!(private.contains("403") && private.contains("leads to this machine"), "{private}");
}

#[test]
fn unix_sockets_are_closed_if_the_settings_say_so() {
    let bind = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('/tmp/s'); print('bound')\" 2>&1; true";
    for (value, is_open) in [("allow", true), ("deny", false)] {
        let workspace = Workspace::empty().settings(json!({ "sandbox": { "unixSockets": value } }));
        let text = output(&mut start(&workspace), bind);
        assert_eq!(text.contains("bound"), is_open, "{text}");
    }
}
