// The process that extensions of pi share: it reads records of the engine on stdin and writes its own on stdout.
// To extensions it is the program `pi`, which some of them start again, with arguments: then that program is run.

if (process.argv.length > 2) await import("./host/run_as_pi.mjs");
else await import("./host/start.mjs");
