// The clipboard of the machine that bowline runs on.

import { spawn } from "node:child_process";

function programs() {
  if (process.platform === "darwin") return [["pbcopy"]];
  if (process.platform === "win32") return [["clip"]];
  if (process.env.TERMUX_VERSION) return [["termux-clipboard-set"]];
  const wayland = [["wl-copy"]];
  const x11 = [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]];
  return process.env.WAYLAND_DISPLAY ? [...wayland, ...x11] : [...x11, ...wayland];
}

function fed([program, ...args], text) {
  const { promise, resolve } = Promise.withResolvers();
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"], timeout: 5000, windowsHide: true });
  child.once("error", () => resolve(false));
  child.once("exit", (code) => resolve(code === 0));
  child.stdin.on("error", () => {});
  child.stdin.end(text);
  return promise;
}

/** Puts text into the clipboard, with the first program of the system that can. */
export async function copyToClipboard(text) {
  for (const program of programs()) if (await fed(program, text)) return;
  throw new Error("There is no program that puts text into the clipboard");
}
