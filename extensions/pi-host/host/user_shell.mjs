// Carries out a shell command of the user with the operations of an extension, and keeps the end of its output.

import { randomBytes } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

const MOST_BYTES = 50 * 1024;
const MOST_LINES = 2000;

/** Runs a command. Returns the result of the hook `user_bash`. */
export async function runShell(operations, command, cwd, signal) {
  const output = new Output();
  try {
    const { exitCode } = (await operations.exec(command, cwd, { onData: (data) => output.add(data), signal })) ?? {};
    return result(output, signal, exitCode);
  } catch (error) {
    if (signal?.aborted) return result(output, signal);
    output.end();
    throw error;
  }
}

function result(output, signal, exitCode) {
  const cancelled = signal?.aborted ?? false;
  const isCode = !cancelled && Number.isInteger(exitCode);
  return { ...output.end(), exitCode: isCode ? exitCode : undefined, cancelled };
}

/** The output of a command: its end, and all of it in a file if it is long. */
class Output {
  #decoder = new TextDecoder();
  #end = "";
  #bytes = 0;
  #lines = 0;
  #file;
  #path;

  add(data) {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const text = printable(stripVTControlCharacters(this.#decoder.decode(bytes, { stream: true })));
    this.#bytes += Buffer.byteLength(text);
    this.#lines += text.split("\n").length - 1;
    this.#end += text;
    if (this.#file !== undefined) writeSync(this.#file, text);
    else if (this.#bytes > MOST_BYTES || this.#lines > MOST_LINES) {
      this.#path = join(tmpdir(), `pi-bash-${randomBytes(8).toString("hex")}.log`);
      this.#file = openSync(this.#path, "w", 0o600);
      writeSync(this.#file, this.#end);
    }
    // Characters, of which there are never more than bytes.
    if (this.#end.length > 4 * MOST_BYTES) this.#end = this.#end.slice(-2 * MOST_BYTES);
  }

  end() {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    const lines = this.#end.split("\n");
    const kept = [];
    let bytes = 0;
    for (const line of lines.slice(-MOST_LINES).reverse()) {
      bytes += Buffer.byteLength(line) + 1;
      if (bytes > MOST_BYTES && kept.length > 0) break;
      kept.unshift(line);
    }
    const truncated = this.#path !== undefined;
    return { output: truncated ? kept.join("\n") : this.#end, truncated, fullOutputPath: this.#path };
  }
}

/** Leaves out what is no text: control characters but tabs and line feeds. */
function printable(text) {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\ufff9-\ufffb]/g, "");
}
