//! Context files are read by the task that needs them first, so nothing waits for the disk but that.

use bowline_core::command::Command;
use bowline_core::policy::StateDetail;
use bowline_core::reply::Answer;
use bowline_engine::{Output, SystemPrompt};

use crate::setup::Setup;

#[tokio::test]
async fn abort_does_not_wait_for_context_files() {
    let mut driver = Setup::new().start();
    let folder = tempfile::tempdir().unwrap();
    driver.session.set_system_prompt(SystemPrompt::new(folder.path().to_owned()));
    driver.prompt("p", "hi");
    // The task that reads them has not even started: nothing was awaited since.
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert!(driver.requests().is_empty());
    driver.finish();
}

#[tokio::test]
async fn states_that_wait_for_context_files_are_replied_to_in_order_and_before_what_follows() {
    let setup = Setup::new().policy(|policy| policy.state_detail = StateDetail::WithInstructions);
    let mut driver = setup.start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("AGENTS.md"), "the rules").unwrap();
    driver.session.set_system_prompt(SystemPrompt::new(folder.path().to_owned()));
    for id in ["1", "2"] {
        driver.send(id, Command::GetState);
    }
    driver.send("3", Command::GetMessages);
    assert!(["1", "2", "3"].iter().all(|id| driver.replies(id).is_empty()));
    let mut order = Vec::new();
    while order.len() < 3 {
        let output = driver.until(|output| matches!(output, Output::Reply(_))).await;
        let Output::Reply(reply) = output else { unreachable!() };
        if let Ok(Answer::State(state)) = &reply.result {
            let instructions = state.instructions.as_ref().unwrap();
            assert!(instructions.system_prompt.contains("the rules"));
            assert_eq!(*instructions.context_files, [folder.path().join("AGENTS.md")]);
        }
        order.push(reply);
    }
    assert!(matches!(order[2].result, Ok(Answer::Messages(_))));
    driver.finish();
}
