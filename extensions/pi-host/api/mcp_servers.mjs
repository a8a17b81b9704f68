// MCP servers that extensions register for the session. bowline connects them, unless an extension says that it does.

import { dispatch } from "../host/dispatch.mjs";
import { normalizePath } from "../paths.mjs";

/** The event whose handler makes an extension the one that connects servers. */
export const SERVERS_CHANGE = "mcp_servers_change";

const EXPOSURES = ["codemode", "codemode-deferred", "deferred", "direct", "hidden"];
const MILLISECONDS = 1000;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string" && value.trim() !== "";
const areTexts = (values) => values.every((value) => typeof value === "string");
const isExposure = (value) => EXPOSURES.includes(value);

/** What each member of a description must be, with words for it. */
const MEMBERS = {
  type: [(type) => ["stdio", "http", "streamable-http"].includes(type), "stdio, http or streamable-http"],
  command: [isText, "a text"],
  args: [(args) => Array.isArray(args) && areTexts(args), "a list of texts"],
  env: [(env) => isObject(env) && areTexts(Object.values(env)), "an object of texts"],
  cwd: [isText, "a text"],
  url: [(url) => isText(url) && /^https?:$/.test(protocolOf(url)), "an http or https address"],
  headers: [(headers) => isObject(headers) && areTexts(Object.values(headers)), "an object of texts"],
  timeout: [(timeout) => Number.isFinite(timeout) && timeout > 0, "a number of seconds"],
  enabled: [(enabled) => typeof enabled === "boolean", "true or false"],
  description: [(description) => typeof description === "string", "a text"],
  exposure: [isExposure, `one of ${EXPOSURES.join(", ")}`],
  toolExposure: [(ways) => isObject(ways) && Object.values(ways).every(isExposure), `an object of ${EXPOSURES.join(", ")}`],
};

function protocolOf(url) {
  try {
    return new URL(url).protocol;
  } catch {
    return "";
  }
}

/** Throws what is wrong with a description. */
function check(name, config) {
  const wrong = (problem) => new Error(`MCP server "${name}": ${problem}`);
  if (typeof name !== "string" || !/^[\w-]+$/.test(name)) throw wrong("its name may have letters, digits, _ and - only");
  if (!isObject(config)) throw wrong("its description must be an object");
  if (config.command === undefined && config.url === undefined) throw wrong("it needs a command or a url");
  if (config.command !== undefined && config.url !== undefined) throw wrong("it has both a command and a url");
  for (const [member, [isRight, what]] of Object.entries(MEMBERS)) {
    const value = config[member];
    if (value !== undefined && value !== null && !isRight(value)) throw wrong(`${member} must be ${what}`);
  }
  const transport = config.command === undefined ? "http" : "stdio";
  if (config.type && (config.type === "stdio") !== (transport === "stdio")) throw wrong(`type must be ${transport}`);
}

/** Returns a description as bowline takes it: with milliseconds, and with paths from the home directory. */
export function engineConfig({ timeout, command, args, cwd, ...others }) {
  const fields = {
    ...others,
    command: command && normalizePath(command),
    args: args?.map((argument) => (argument.startsWith("~/") ? normalizePath(argument) : argument)),
    cwd: cwd && normalizePath(cwd),
    timeout: timeout && Math.max(1, Math.round(timeout * MILLISECONDS)),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Returns every server that extensions have registered. */
export function registeredServers(host) {
  return host.extensions().flatMap(({ path, runtime }) =>
    [...runtime.mcpServers].map(([name, config]) => ({ name, config: structuredClone(config), extensionPath: path })),
  );
}

/** Returns the functions of `pi` that are about MCP servers. */
export function mcpServerApi(host, runtime) {
  const { extension } = runtime;
  const changed = () => {
    if (runtime.isStale || extension.runtime !== runtime) return;
    extension.announce();
    if (runtime.isLoading) return;
    for (const other of host.extensions()) {
      void dispatch(host, other, { type: SERVERS_CHANGE, servers: registeredServers(host) }, undefined);
    }
  };
  return {
    registerMcpServer(name, config) {
      runtime.assertUsable();
      check(name, config);
      const other = host.extensions().find((known) => known !== extension && known.runtime.mcpServers.has(name));
      if (other) throw new Error(`MCP server "${name}" is registered by another extension: ${other.path}`);
      runtime.mcpServers.set(name, structuredClone(config));
      changed();
    },
    unregisterMcpServer(name) {
      runtime.assertUsable();
      if (runtime.mcpServers.delete(name)) changed();
    },
    getMcpServers() {
      runtime.assertUsable();
      return registeredServers(host);
    },
  };
}
