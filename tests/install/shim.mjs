// The command `bowline` of the npm package: whoever starts it sees what they would see of the program itself. Usage:
//   node shim.mjs SHIM    with the Node that runs the shim, too
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

const shim = process.argv[2];
const becomesProgram = typeof process.execve === "function";
const SERVE = ["--mode", "rpc", "--model", "scripted/demo", "--no-session"];

/** Starts the shim and waits for a first answer, so that the program runs. */
async function serve(words = SERVE) {
  const child = spawn(process.execPath, [shim, ...words], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.write('{"type":"get_state","id":"1"}\n');
  const [chunk] = await once(child.stdout, "data");
  assert.match(String(chunk), /"type":"response"/);
  child.stdout.resume();
  return child;
}

/** Returns the processes below one, and that one, which are no zombies. */
function family(root) {
  const parents = new Map();
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const [state, parent] = readFileSync(`/proc/${name}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
      if (state !== "Z") parents.set(Number(name), Number(parent));
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelow = (pid) => pid === root || (parents.has(pid) && isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow);
}

function lives(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function allEnded(processes) {
  for (let tries = 0; processes.some(lives); tries += 1) {
    assert.ok(tries < 500, `still there: ${processes.filter(lives)}`);
    await wait(20);
  }
}

async function run(words, input = "") {
  const child = spawn(process.execPath, [shim, ...words], { stdio: ["pipe", "pipe", "pipe"] });
  let [out, error] = ["", ""];
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (error += data));
  child.stdin.on("error", () => {}); // Some commands read nothing.
  child.stdin.end(input);
  const [code, signal] = await once(child, "close");
  return { code, signal, out, error };
}

test("output and exit codes are those of the program", async () => {
  const { code, out, error } = await run(["--version"]);
  assert.deepEqual([code, error], [0, ""]);
  assert.match(out, /^\d+\.\d+\.\d+\n$/);
  assert.equal((await run(["dmeo"])).code, 2);
  assert.equal((await run(["--list-models", "no such model"])).code, 1);
  assert.equal((await run(["completions", "words", "--", "", "$HOME", "a b", "--thinking", "me"])).out, "none\nmedium\t\n");
});

test("the end of stdin ends it, after everything is answered", async () => {
  const { code, out, error } = await run(SERVE, '{"type":"get_state","id":"1"}\n'.repeat(500));
  assert.deepEqual([code, error], [0, ""]);
  assert.equal(out.match(/"type":"response"/g).length, 500);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  test(`${signal} reaches the program, and its end is that of the shim`, async () => {
    const child = await serve();
    const processes = family(child.pid);
    child.kill(signal);
    const [code, by] = await once(child, "exit");
    // The program handles signals: it says how it ends.
    assert.ok(code === 128 + { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }[signal] || by === signal, `${code} ${by}`);
    await allEnded(processes);
  });
}

test("the signal that ends the program is what is seen of the shim", async () => {
  const child = await serve();
  const program = family(child.pid).find((pid) => !readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(process.execPath));
  process.kill(becomesProgram ? child.pid : program, "SIGKILL");
  assert.deepEqual(await once(child, "exit"), [null, "SIGKILL"]);
});

test("a shim that is killed leaves nothing once stdin is closed", async () => {
  const child = await serve();
  const processes = family(child.pid);
  child.kill("SIGKILL");
  await once(child, "exit");
  if (becomesProgram) {
    await allEnded(processes.filter((pid) => pid === child.pid));
  }
  child.stdin.destroy();
  await allEnded(processes);
});

test(becomesProgram ? "there is no process beside the program" : "there is one process beside the program", async () => {
  const child = await serve();
  const shims = family(child.pid).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(shim));
  assert.equal(shims.length, becomesProgram ? 0 : 1);
  child.stdin.end();
  assert.deepEqual(await once(child, "exit"), [0, null]);
});
