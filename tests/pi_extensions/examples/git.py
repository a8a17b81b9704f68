"""Extensions that work with a git repository."""
from script import Script, call
from . import Example

REPOSITORY = "git init -q && git add . && git commit -qm start"
FILES = {"work/a.txt": "one\n"}

AUTO_COMMIT = [
    Script(files=FILES, setup=REPOSITORY)
    .prompt("change", call("write", path="b.txt", content="new\n"), "Added b.txt, which holds what was asked for and more\nand so on")
    .shell("git log --format=%s; git status --short"),
    Script(files=FILES, setup=REPOSITORY + " && echo two >> a.txt").shell("git log --format=%s"),
    # Not a repository.
    Script().prompt("hello", "hello"),
]

DIRTY_REPO_GUARD = (
    Script(files=FILES, setup=REPOSITORY)
    .prompt("hello", "hello")
    .ask_for("FILE", "data.sessionFile", "get_state")
    .ask("new_session")
    .prompt("change", call("bash", command="echo two >> a.txt; echo > c.txt"), "changed")
    .send("new_session").dialog("select", value="No, let me commit first").responded()
    .send("switch_session", sessionPath="${FILE}").dialog("select", value="Yes, proceed anyway").responded()
    .ask_for("ENTRY", "data.messages.0.entryId", "get_fork_messages")
    .send("fork", entryId="${ENTRY}").dialog("select", cancelled=True).responded())

DATES = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}

GIT_CHECKPOINT = (
    Script(files=FILES, setup=REPOSITORY + " && echo two >> a.txt", environment=DATES)
    .prompt("look", call("bash", command="cat a.txt"), call("bash", command="echo three >> a.txt"), "changed")
    # The checkpoints are forgotten when the run has ended.
    .ask_for("ENTRY", "data.messages.0.entryId", "get_fork_messages")
    .ask("fork", entryId="${ENTRY}")
    .shell("git fsck --no-reflogs --dangling 2>/dev/null | grep -c commit; cat a.txt"))

CONFLICT = (
    "git init -q {HOME}/origin && cd {HOME}/origin && printf 'one\\ntwo\\nthree\\n' > a.txt && git add . && git commit -qm start"
    " && cd {CWD} && git clone -q {HOME}/origin . && cd {HOME}/origin && printf 'one\\ntheirs\\nthree\\n' > a.txt && git commit -qam theirs"
    " && cd {CWD} && printf 'one\\nours\\nthree\\n' > a.txt && git commit -qam ours")

GIT_MERGE_AND_RESOLVE = [
    Script(setup=CONFLICT)
    .begin("hello", "hello", call("bash", command="git checkout -q --ours a.txt && git add . && git commit -qm merged"),
           "resolved")
    .settled()
    .shell("git log --first-parent --format=%s; git status --short")
    .sees("Resolve these conflicts.", "a.txt:2-6 (ours 3, theirs 5)"),
    # The remote repository has gone.
    Script(setup=CONFLICT + " && rm -rf {HOME}/origin").prompt("hello", "hello"),
]

EXAMPLES = [
    Example("auto-commit-on-exit", *AUTO_COMMIT),
    Example("dirty-repo-guard", DIRTY_REPO_GUARD),
    Example("git-checkpoint", GIT_CHECKPOINT),
    Example("git-merge-and-resolve", *GIT_MERGE_AND_RESOLVE),
]
