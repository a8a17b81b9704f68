import { BowlineError } from "./errors.js";
/** The most bytes that bowline reads as one line, without a flag. */
const LINE_LIMIT = 64 * 1024 * 1024;
const SESSION_FLAGS = ["-c", "--continue", "--session", "--resume", "--session-id", "--fork", "--no-session"];
const OWN_FLAGS = ["--mode", "--dialect", "--rpc", "-p", "--print"];
/** Returns the arguments of bowline for a session. Throws if flags contradict options. */
export function argumentsFor(options, session) {
    const { model, args = [] } = options;
    const flags = args.map((arg) => arg.split("=", 1)[0] ?? "");
    const own = flags.find((flag) => OWN_FLAGS.includes(flag));
    if (own !== undefined)
        throw new BowlineError(`args: remove ${own}; this client chooses the mode and the dialect itself`);
    const chosen = flags.find((flag) => SESSION_FLAGS.includes(flag));
    if (chosen !== undefined)
        throw new BowlineError(`args: use the option "session" instead of ${chosen}`);
    if (options.restart && session === "memory") {
        throw new BowlineError('restart: a session in memory is lost with its process; choose another "session"');
    }
    return ["--mode", "rpc", ...(model === undefined ? [] : ["--model", model]), ...sessionFlags(session), ...args];
}
function sessionFlags(session) {
    if (session === "new")
        return [];
    if (session === "continue")
        return ["--continue"];
    if (session === "memory")
        return ["--no-session"];
    if ("id" in session)
        return ["--session-id", session.id];
    if ("path" in session)
        return ["--session", session.path];
    return ["--fork", session.fork];
}
/** Returns the most bytes that bowline reads as one line. */
export function lineLimit(args = []) {
    const flag = "--line-limit";
    const index = args.findLastIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
    const value = args[index] === flag ? args[index + 1] : args[index]?.slice(flag.length + 1);
    const limit = Number(value);
    return Number.isInteger(limit) && limit > 0 ? limit : LINE_LIMIT;
}
