"""Ordinary work that a sandbox must not be in the way of. A sandbox that is turned off protects nobody.

A task is a list of commands of the shell, run one after the other in a folder of its own. It is done if each of them ends
with 0 and the last one prints what is expected.
"""
from dataclasses import dataclass, field


@dataclass
class Task:
    name: str
    commands: list
    # What the last command must print, among other things.
    expect: str
    # The programs that it needs.
    needs: list = field(default_factory=list)
    # Why it cannot work without namespaces, if it cannot.
    only_full: str = ""
    # Whether it is done in the workspace itself instead of a folder of its own.
    in_workspace: bool = False


NO_NETWORK = "the level landlock has no loopback interface"
NO_UNIX = "the level landlock has no Unix sockets"

WHEEL = r'''
import zipfile
with zipfile.ZipFile("greeting-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greeting.py", "def greet(): return 'hello from a wheel'\n")
    wheel.writestr("greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    wheel.writestr("greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("greeting-1.0.dist-info/RECORD", "greeting.py,,\ngreeting-1.0.dist-info/METADATA,,\ngreeting-1.0.dist-info/WHEEL,,\ngreeting-1.0.dist-info/RECORD,,\n")
'''

MULTIPROCESSING = r'''
import multiprocessing as m
from multiprocessing import shared_memory
def square(number): return number * number
if __name__ == "__main__":
    with m.Pool(3) as pool:
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    semaphore, queue = m.Semaphore(2), m.Queue()
    with semaphore:
        queue.put("queued")
    memory = shared_memory.SharedMemory(create=True, size=64)
    memory.buf[:3] = b"shm"
    print(queue.get(), bytes(memory.buf[:3]).decode())
    memory.close(); memory.unlink()
'''

PTY = r'''
import os, pty
output = []
def read(descriptor):
    data = os.read(descriptor, 1024)
    output.append(data)
    return data
pty.spawn(["/bin/sh", "-c", "test -t 0 && test -t 1 && tty && echo a terminal"], read)
assert b"a terminal" in b"".join(output)
'''

UNIX_SERVER = r'''
import os, socket, sys
path = "/tmp/ordinary.socket" if len(sys.argv) < 2 else sys.argv[1]
server = socket.socket(socket.AF_UNIX)
server.bind(path); server.listen()
connection, _ = server.accept()
connection.sendall(b"over a socket"); connection.close()
'''

COMMIT = "git -c user.name=A -c user.email=a@example.org commit -q"


def lines(*commands):
    """Returns commands as one, which stops at the first failure."""
    return "set -e\n" + "\n".join(commands)


def script(name, text):
    return f"cat > {name} <<'END_OF_SCRIPT'\n{text}\nEND_OF_SCRIPT"


TASKS = [
    Task("cargo: new, build, test, run", [
        "cargo new --quiet --lib crate_a 2>&1 && cargo new --quiet crate_b 2>&1",
        "cd crate_b && echo 'crate_a = { path = \"../crate_a\" }' >> Cargo.toml && cargo build --quiet --offline 2>&1",
        "cd crate_a && cargo test --quiet --offline 2>&1",
        "cd crate_b && cargo run --quiet --offline",
    ], "Hello, world!", ["cargo"]),
    Task("gcc: compile, link, run", [
        lines(script("a.c", '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }'), "gcc -O1 -o a a.c", "./a"),
    ], "compiled", ["gcc"]),
    Task("make -j with many rules", [
        lines(script("Makefile", ".PHONY: all\nall: $(addsuffix .o,1 2 3 4 5 6 7 8)\n%.o:\n\t@echo $* > $@"), "make -j4", "cat 8.o && ls *.o | wc -l"),
    ], "8", ["make"]),
    Task("git: commit in the workspace's repository", [
        "echo text > committed && git add committed && " + COMMIT + " -m 'Inside' && git log --format=%s -1",
    ], "Inside", ["git"], in_workspace=True),
    Task("git: branch, merge, stash, tag", [
        lines("git switch -q -c topic", "echo topic > on_topic", "git add on_topic", COMMIT + " -m Topic", "git switch -q -",
              "git merge -q topic", "git tag v1", "echo more >> on_topic",
              "git -c user.name=A -c user.email=a@example.org stash -q", "git stash pop -q", "git diff --stat", "git checkout -q on_topic",
              "git status --short", "git describe --tags"),
    ], "v1", ["git"], in_workspace=True),
    Task("git: worktree", [
        lines("git worktree add -q trees/one -b one", "cd trees/one", "echo tree > in_tree", "git add in_tree", COMMIT + " -m Tree"),
        lines("cd trees/one", "git status --short", "git log --format=%s -1", "cd ../..", "git worktree list | wc -l"),
        lines("git -C trees/one log --format=%s -1", "git worktree remove --force trees/one", "git branch -q -D one", "echo removed"),
    ], "removed", ["git"], in_workspace=True),
    Task("git: new repository, config, clone, submodule", [
        lines("git init -q library", "cd library", "git config user.name B", "git config user.email b@example.org", "echo l > l",
              "git add l", "git commit -q -m Library"),
        lines("git clone -q library copy", "git init -q main", "cd main", "git config user.name B", "git config user.email b@example.org",
              "git -c protocol.file.allow=always submodule --quiet add ../library sub", "git commit -q -m Submodule", "git submodule status"),
        "cat main/sub/l copy/l && git -C main/sub log --format=%s -1",
    ], "Library", ["git"]),
    Task("python: venv and pip from a wheel", [
        lines(script("wheel.py", WHEEL), "python3 wheel.py", "python3 -m venv environment 2>&1",
              "environment/bin/pip install --quiet --no-index --disable-pip-version-check ./greeting-1.0-py3-none-any.whl 2>&1"),
        "environment/bin/python -c 'import greeting; print(greeting.greet())'",
    ], "hello from a wheel", ["python3", "python3:venv,ensurepip"]),
    Task("python: processes, semaphores, shared memory", [
        lines(script("processes.py", MULTIPROCESSING), "python3 processes.py"),
    ], "queued shm", ["python3"]),
    Task("node and npm: install a folder, run a script", [
        lines("mkdir dependency application", "echo 'module.exports = \"from a dependency\"' > dependency/index.js",
              "echo '{\"name\":\"dependency\",\"version\":\"1.0.0\"}' > dependency/package.json",
              "echo '{\"name\":\"application\",\"version\":\"1.0.0\",\"scripts\":{\"say\":\"node -p \\\"require(\\u0027dependency\\u0027)\\\"\"}}' > application/package.json"),
        "cd application && npm install --offline --no-audit --no-fund --silent ../dependency 2>&1",
        "cd application && npm run --silent say",
    ], "from a dependency", ["node", "npm"]),
    Task("sqlite: write ahead log, two processes", [
        lines("sqlite3 base.db 'pragma journal_mode=wal; create table t(n); insert into t values (1);'",
              "sqlite3 base.db 'insert into t values (41);' & wait", "sqlite3 base.db 'select sum(n) from t;'"),
    ], "42", ["sqlite3"]),
    Task("terminal: script", ["script -qec 'tty && echo in a terminal' /dev/null"], "in a terminal", ["script"]),
    Task("terminal: python's pty", [lines(script("terminal.py", PTY), "python3 terminal.py")], "a terminal", ["python3"]),
    Task("server in the background, reached by the next command", [
        "echo served > page && (python3 -m http.server 8731 --bind 127.0.0.1 >/dev/null 2>&1 &)",
        "for i in $(seq 50); do curl -s http://localhost:8731/page && break; sleep 0.1; done",
        "curl -s http://127.0.0.1:8731/page; pkill -f 'http.server 8731'",
    ], "served", ["python3", "curl", "pkill"], only_full=NO_NETWORK),
    Task("node: server and client in one process", [
        "node -e 'const h=require(\"http\").createServer((q,s)=>s.end(\"answered\")).listen(0,()=>fetch(`http://localhost:${h.address().port}`)"
        ".then(r=>r.text()).then(t=>{console.log(t);h.close()}))'",
    ], "answered", ["node"], only_full=NO_NETWORK),
    Task("Unix socket in /tmp, reached by the next command", [
        lines(script("server.py", UNIX_SERVER), "(python3 server.py >/dev/null 2>&1 &)", "sleep 0.3"),
        "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"/tmp/ordinary.socket\"); print(s.recv(99).decode())'",
    ], "over a socket", ["python3"], only_full=NO_UNIX),
    Task("Unix socket in the workspace", [
        lines(script("server.py", UNIX_SERVER), "(python3 server.py ./s >/dev/null 2>&1 &)", "sleep 0.3"),
        "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"./s\"); print(s.recv(99).decode())'",
    ], "over a socket", ["python3"], only_full=NO_UNIX),
    Task("strace", ["strace -f -o trace sh -c 'true; true' && grep -c exit_group trace && echo traced"], "traced", ["strace"],
         only_full="the level landlock refuses ptrace"),
    Task("gdb", [
        lines(script("a.c", "int main(void) { return 7; }"), "gcc -g -o a a.c",
              "gdb -batch -ex 'break main' -ex run -ex 'info source' ./a 2>&1 | grep -m1 'Breakpoint 1, main'"),
    ], "Breakpoint 1, main", ["gdb", "gcc"], only_full="the level landlock refuses ptrace"),
    Task("find, xargs in parallel, sort, uniq", [
        lines("mkdir -p tree/{a,b,c}/{1,2,3}", "find tree -type d | xargs -P4 -I{} touch {}/file", "find tree -name file | sort | uniq | wc -l"),
    ], "13"),
    Task("here-documents and process substitution", [
        "cat <<END > here\none\ntwo\nEND\ndiff <(sort -r here) <(printf 'two\\none\\n') && cat <<< same",
    ], "same"),
    Task("mktemp, TMPDIR and /dev/shm", [
        "file=$(mktemp) && folder=$(mktemp -d) && echo x > $file && mv $file $folder/ && rm -r $folder && "
        "touch ${TMPDIR:-/tmp}/t && rm ${TMPDIR:-/tmp}/t && echo x > /dev/shm/ordinary && rm /dev/shm/ordinary && echo temporary",
    ], "temporary"),
    Task("files in /tmp for the next command", [
        "echo kept > ${TMPDIR:-/tmp}/ordinary_kept", "cat ${TMPDIR:-/tmp}/ordinary_kept",
    ], "kept"),
    Task("move and link files between folders", [
        "mkdir -p from to/below && echo moved > from/file && mv from/file to/below/ && ln to/below/file from/linked && "
        "mv to/below from/ && cat from/below/file && stat -c %h from/linked",
    ], "2"),
    Task("named pipes and locks", [
        "mkfifo pipe && (echo through a pipe > pipe &) && flock lock cat pipe",
    ], "through a pipe", ["flock"]),
    Task("background jobs and signals", [
        "sleep 30 & job=$!; kill -TERM $job; wait $job; [ $? = 143 ] && (trap 'echo trapped' USR1; kill -USR1 $BASHPID)",
    ], "trapped"),
    Task("process list, limits, devices", [
        "ps aux >/dev/null && ulimit -n >/dev/null && head -c 4 /dev/urandom | wc -c && : > /dev/null && cat /proc/self/comm && nproc",
    ], "cat", ["ps"]),
    Task("tar, gzip, chmod, links", [
        "mkdir d && echo x > d/f && chmod 600 d/f && ln -s f d/l && ln d/f d/h && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/l && stat -c %a d/h",
    ], "600", ["tar"]),
    Task("java", [
        lines(script("A.java", 'class A { public static void main(String[] a) { System.out.println("ran"); } }'), "java A.java"),
    ], "ran", ["java", "javac"]),
    Task("perl", ["perl -e 'print join(\",\", map { $_ * 2 } 1..3), \"\\n\"'"], "2,4,6", ["perl"]),
]
