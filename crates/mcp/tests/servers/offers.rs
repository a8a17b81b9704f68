//! What servers offer, and what becomes of it.

use serde_json::json;

use crate::world::{World, entry, eventually, images, run, text, with};

#[test]
fn tools_have_the_names_of_their_server_and_are_called_by_them() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let tools = servers.tools();
        let echo = tools.iter().find(|tool| tool.definition().name == "mcp__s__echo").unwrap();
        assert_eq!(echo.definition().description, "Returns its text.");
        let outcome = echo.call(world.context(), json!({"text": "hi"}).as_object().unwrap().clone()).await;
        assert_eq!(text(&outcome), "hi");
        let status = servers.status().remove(0);
        assert_eq!((status.state, status.identity.as_deref()), ("ready", Some("test-server 1.2.3")));
        assert_eq!(
            servers.instructions(),
            [("s".to_owned(), "Use the tool echo for everything.".to_owned())]
        );
        servers.stop().await;
        assert_eq!(servers.status()[0].state, "stopped");
    });
}

#[test]
fn nothing_is_started_before_it_is_needed() {
    run(async {
        let world = World::new();
        let early =
            with(entry(&["--log", &world.path("log").display().to_string()]), "start", json!("at-start"));
        let servers = world.configured(&json!({"early": early, "s": entry(&[])}));
        assert!(servers.tools().is_empty());
        servers.start_early();
        eventually("the early server runs", || servers.status()[0].state == "ready").await;
        assert_eq!(servers.status()[1].state, "idle");
        servers.stop().await;
    });
}

#[test]
fn disabled_server_is_not_there() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"s": with(entry(&[]), "enabled", json!(false))}));
        servers.start().await;
        assert!(servers.is_empty() && servers.tools().is_empty());
    });
}

#[test]
fn every_kind_of_content_arrives() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let outcome = world.call(&servers, "contents", json!({})).await;
        assert_eq!(
            text(&outcome),
            "one\n[audio: audio/wav, 5 B]\n[resource: demo://link, a link, text/plain]\n[resource: demo://inside]\n\
         inside\n[resource: demo://picture, image/png, 70 B]"
        );
        assert_eq!(images(&outcome), 2);
        let details = outcome.details.unwrap();
        assert_eq!(details["structuredContent"], json!({"answer": 42}));
        assert_eq!((&details["server"], &details["tool"]), (&json!("s"), &json!("contents")));
        let outcome = world.call(&servers, "structured", json!({})).await;
        assert_eq!(text(&outcome), "{\"answer\":42}");
        let outcome = world.call(&servers, "long", json!({"bytes": 1_000_000})).await;
        assert!(text(&outcome).len() < 52_000 && text(&outcome).contains("[Truncated"));
    });
}

#[test]
fn changed_list_of_tools_is_read_again() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let before = servers.tools().len();
        let changes = *world.events.changes.lock().unwrap();
        world.call(&servers, "grow", json!({})).await;
        eventually("the new tool is listed", || servers.tools().len() == before + 1).await;
        assert!(*world.events.changes.lock().unwrap() > changes);
        let outcome = world.call(&servers, "grown_0", json!({})).await;
        assert_eq!(text(&outcome), "called grown_0");
    });
}

#[test]
fn huge_and_endless_lists_are_cut() {
    run(async {
        let world = World::new();
        let servers = world.start(&["--tools", "2000"]).await;
        assert_eq!(servers.status()[0].tools.len(), 500);
        assert!(world.notices()[0].contains("too many tools"), "{:?}", world.notices());
        servers.stop().await;
        let servers = world.start(&["--endless-pages"]).await;
        assert_eq!(servers.status()[0].state, "ready");
        servers.stop().await;
    });
}

#[test]
fn names_that_collide_stay_distinct() {
    run(async {
        let world = World::new();
        let servers = world.start(&["--duplicates"]).await;
        let status = servers.status().remove(0);
        let names: Vec<_> = status.tools.iter().filter(|tool| tool.name.starts_with("same")).collect();
        assert_eq!(names.len(), 3, "the second one of the same name is not used");
        assert_eq!(names[0].full_name, "mcp__s__same");
        assert_eq!(names[0].description, "First.");
        assert!(
            names[1].full_name.starts_with("mcp__s__same_name_") && names[1].full_name != names[2].full_name
        );
        let outcome = world.call(&servers, &names[2].full_name.clone(), json!({})).await;
        assert_eq!(text(&outcome), "called same.name");
    });
}

#[test]
fn prompts_are_commands() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let commands = servers.commands();
        assert_eq!(
            (commands[0].name.as_str(), commands[0].arguments.as_str()),
            ("mcp__s__weather", "<city> [units]")
        );
        let expanded = servers.expand("mcp__s__weather", "\"New York\" metric").await.unwrap();
        assert_eq!(expanded.text, "How is the weather in New York, in metric units?");
        let missing = servers.expand("mcp__s__weather", "").await.unwrap_err().to_string();
        assert_eq!(missing, "city is missing. Usage: /mcp__s__weather <city> [units]");
    });
}

#[test]
fn resources_are_listed_and_read_by_tools() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let tools = servers.tools();
        let tool = |name: &str| tools.iter().find(|tool| tool.definition().name == name).unwrap();
        let list = tool("list_mcp_resources").call(world.context(), serde_json::Map::new()).await;
        assert_eq!(text(&list), "s demo://note (note, text/plain)\ns demo://{name} (any note)");
        let arguments = json!({"server": "s", "uri": "demo://note"}).as_object().unwrap().clone();
        let read = tool("read_mcp_resource").call(world.context(), arguments).await;
        assert_eq!(text(&read), "[resource: demo://note]\nthe text of demo://note");
        let arguments = json!({"server": "t", "uri": "x"}).as_object().unwrap().clone();
        let unknown = tool("read_mcp_resource").call(world.context(), arguments).await;
        assert!(
            unknown.is_error && text(&unknown) == "There is no MCP server named t. Known: s.",
            "{unknown:?}"
        );
    });
}
