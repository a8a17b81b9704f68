// The process that extensions of pi share: it reads records of the engine on stdin and writes its own on stdout.
// To extensions it is the program `pi`, which some of them start again, with arguments: then that program is run.

import module from "node:module";
import { join } from "node:path";

if (process.argv.length > 2) {
  await import("./host/run_as_pi.mjs");
} else {
  const cache = process.env.BOWLINE_PI_CACHE;
  // Compiled code of large extensions and of the host is read faster than it is compiled.
  if (cache) module.enableCompileCache?.(join(cache, "compiled"));
  await import("./host/start.mjs");
}
