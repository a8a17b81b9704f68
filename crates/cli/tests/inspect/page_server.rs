//! The page is for whoever knows its address, and nobody else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use super::inspected::Inspected;

#[test]
fn page_is_served_under_its_own_address_only() {
    let inspected = Inspected::start(&["--", "cat"]);
    let page = inspected.get("");
    assert_eq!(page.status, 200);
    for header in [
        "content-security-policy: default-src 'none'; img-src data:; style-src 'sha256-",
        "connect-src 'self'; frame-ancestors 'none'\r\n",
        "referrer-policy: no-referrer\r\n",
        "cache-control: no-store\r\n",
        "x-content-type-options: nosniff\r\n",
        "cross-origin-resource-policy: same-origin\r\n",
    ] {
        assert!(page.head.contains(header), "{header} is not in {}", page.head);
    }
    assert!(!page.head.contains("access-control"), "{}", page.head);

    let host = format!("Host: 127.0.0.1:{}", inspected.port);
    let token = &inspected.token;
    let status = |line: &str, headers: &[&str]| {
        let answer = inspected.request(line, headers, "");
        assert!(!answer.body.contains("script") && !answer.body.contains(token.as_str()), "{answer:?}");
        answer.status
    };
    let wrong = format!("{}0", &token[1..]);
    for path in ["", "index.html", &wrong, &token[1..], &format!("{wrong}/records?from=0")] {
        assert_eq!(status(&format!("GET /{path}"), &[&host]), 404, "{path}");
    }
    let page = format!("GET /{token}/");
    for other in ["Host: evil.example", "Host: 127.0.0.1:1", "Host: localhost", "X: y"] {
        assert_eq!(status(&page, &[other]), 403, "{other}");
    }
    assert_eq!(status(&page, &[&host, &host]), 400);
    let records = format!("GET /{token}/records?from=0");
    assert_eq!(status(&records, &[&host, "Origin: http://evil.example"]), 403);
    assert_eq!(status(&records, &[&host, "Sec-Fetch-Site: cross-site"]), 403);
    let send = format!("POST /{token}/send");
    assert_eq!(status(&send, &[&host]), 403);
    assert_eq!(status(&send, &[&host, &format!("Bowline-Token: {wrong}")]), 403);
    assert_eq!(status(&format!("OPTIONS /{token}/send"), &[&host]), 405);
}

#[test]
fn records_of_both_ways_are_served_with_what_is_wrong() {
    let mut inspected = Inspected::start(&["--model", "scripted/demo", "--no-session"]);
    inspected.send(b"{\"id\":1,\"type\":\"get_state\"}\n{\"id\":2,\"type\":\"prompt\",\"message\":7}\n");
    let rows =
        inspected.rows_until(|row| row["line"].as_str().unwrap().contains("\"id\":2,\"type\":\"response\""));
    let of = |from: &str| rows.iter().filter(|row| row["from"] == from).collect::<Vec<_>>();
    let (client, agent) = (of("client"), of("agent"));
    assert_eq!(client[0]["line"], "{\"id\":1,\"type\":\"get_state\"}");
    assert!(client[0]["problems"].is_null());
    assert_eq!(client[1]["problems"][0]["path"], "/message");
    assert!(agent.iter().all(|row| row["problems"].is_null()), "{agent:?}");
    assert!(client[0]["at"].as_f64() <= agent[0]["at"].as_f64());
    // A command comes before its response.
    let place = |from: &str| rows.iter().position(|row| row["from"] == from).unwrap();
    assert!(place("client") < place("agent"));
}

#[test]
fn page_sends_commands_between_the_lines_of_the_client() {
    let mut inspected = Inspected::start(&["--", "cat"]);
    let mut stdout = BufReader::new(inspected.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(inspected.post("{\"type\":\"first\"}").status, 200);
    assert_eq!(line(), "{\"type\":\"first\"}\n");
    inspected.send(b"{\"type\":");
    inspected.rows_until(|row| row["from"] == "page");
    assert_eq!(inspected.post("{\"type\":\"second\"}").status, 200);
    inspected.send(b"\"whole\"}\n");
    assert_eq!([line(), line()], ["{\"type\":\"whole\"}\n", "{\"type\":\"second\"}\n"]);
    assert_eq!(inspected.post("two\nlines").status, 400);
    inspected.rows_until(|row| row["line"] == "{\"type\":\"second\"}" && row["from"] == "page");
}

#[test]
fn commands_are_completed_from_the_schema() {
    let inspected = Inspected::start(&["--dialect", "omp", "--", "cat"]);
    let commands: serde_json::Value = serde_json::from_str(&inspected.get("commands").body).unwrap();
    let find =
        |name: &str| commands.as_array().unwrap().iter().find(|command| command["name"] == name).cloned();
    let prompt = find("prompt").unwrap();
    assert_eq!(prompt["template"], serde_json::json!({ "type": "prompt", "message": "" }));
    assert!(!prompt["about"].as_str().unwrap().is_empty());
    assert!(find("abort_and_prompt").is_some() && find("nonsense").is_none());
}

#[test]
fn page_learns_of_the_end() {
    let mut inspected = Inspected::start(&["--", "sh", "-c", "echo '{}'; read line; exit 3"]);
    inspected.rows_until(|row| row["from"] == "agent");
    inspected.stdin = None;
    let rows = inspected.rows_until(|row| row["event"]["type"] == "ended");
    assert_eq!(rows.last().unwrap()["event"]["code"], 3);
    assert_eq!(inspected.child.wait().unwrap().code(), Some(3));
}

#[test]
fn long_line_is_shortened_on_the_page_and_whole_on_request() {
    let mut inspected = Inspected::start(&["--", "cat"]);
    let sent = format!("{{\"type\":\"x\",\"text\":\"{}\"}}", "é".repeat(300_000));
    let mut stdout = inspected.stdout.take().unwrap();
    // Nobody else empties the pipe.
    let reader = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    inspected.send(format!("{sent}\n").as_bytes());
    let rows = inspected.rows_until(|row| row["from"] == "client");
    assert_eq!(rows[0]["shortened"], sent.len());
    assert!(rows[0]["line"].as_str().unwrap().len() <= 256 * 1024);
    let whole: serde_json::Value = serde_json::from_str(&inspected.get("record?number=0").body).unwrap();
    assert_eq!(whole["line"], sent);
    inspected.stdin = None;
    assert_eq!(reader.join().unwrap().unwrap(), sent.len() as u64 + 1);
}

#[test]
fn bad_requests_cost_one_connection() {
    let inspected = Inspected::start(&["--", "cat"]);
    for bad in [
        "GET / HTTP/1.1\n\n".to_owned(),
        "\0\0\0\0".repeat(20_000),
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200)),
    ] {
        let mut stream = inspected.connect();
        let _ = stream.write_all(bad.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(inspected.get("").status, 200);
}
