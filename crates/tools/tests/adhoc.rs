use std::sync::Arc; use bowline_tools::*; use serde_json::json;
#[tokio::test] async fn big() {
  let ctx = |d: &str| CallContext{working_directory: d.into(), cancel: Default::default(), progress: Arc::new(|_|{}), environment: vec![], takes_images: true};
  let tb = Toolbox::builtin(&Options::default());
  let hwm = || std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap().to_owned();
  for (tool, d, a) in [("read","/tmp", json!({"path":"adhoc-big.txt","offset":5,"limit":3})), ("read","/tmp", json!({"path":"adhoc-big.txt"})), ("read","/tmp", json!({"path":"adhoc-big.txt","offset":20000000})), ("grep","/work/main", json!({"pattern":"fn drain","context":1})), ("find","/work/main", json!({"pattern":"*.toml","path":"./crates"})), ("bash","/tmp", json!({"command":"yes | head -c 1000000000"}))] {
    let t = std::time::Instant::now();
    let o = tb.get(tool).unwrap().call(ctx(d), a.as_object().unwrap().clone()).await;
    let text = bowline_core::message::join_text(&o.content);
    let tail: String = text.chars().rev().take(170).collect::<Vec<_>>().into_iter().rev().collect();
    println!("{tool} {:?} {} {}\n{tail:?}\n----", t.elapsed(), hwm(), text.len());
    if let Some(p) = o.details.as_ref().and_then(|d| d["fullOutputPath"].as_str()) { std::fs::remove_file(p).unwrap(); }
  }
}
