// Small functions about events and tools, which only help TypeScript to know the type of a value.

import { EventEmitter } from "node:events";

/** Returns the definition of a tool as it is. */
export function defineTool(tool) {
  return tool;
}

/** Tells whether a `tool_call` event is about this tool. */
export function isToolCallEventType(toolName, event) {
  return event.toolName === toolName;
}

const isResultOf = (toolName) => (event) => event.toolName === toolName;

export const isReadToolResult = isResultOf("read");
export const isBashToolResult = isResultOf("bash");
export const isPowerShellToolResult = isResultOf("powershell");
export const isEditToolResult = isResultOf("edit");
export const isWriteToolResult = isResultOf("write");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");

/** Returns a bus on which parts of an extension talk to each other. An error of a listener does not reach the others. */
export function createEventBus() {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  return {
    // The event of this name is the only one that Node throws for when nobody listens.
    emit(channel, data) {
      if (channel !== "error" || emitter.listenerCount(channel) > 0) emitter.emit(channel, data);
    },
    on(channel, listener) {
      const guarded = async (data) => {
        try {
          await listener(data);
        } catch (error) {
          console.error(`A listener of ${channel} failed:`, error);
        }
      };
      emitter.on(channel, guarded);
      return () => emitter.off(channel, guarded);
    },
    clear: () => emitter.removeAllListeners(),
  };
}

/** Returns where a resource comes from, for one that no file of settings names. */
export function createSyntheticSourceInfo(path, { source, scope = "temporary", origin = "top-level", baseDir }) {
  return { path, source, scope, origin, baseDir };
}

/** Returns the parts of a message that calls a skill, or null. */
export function parseSkillBlock(text) {
  const found = /^<skill name="([^"]+)" location="([^"]+)">\n([^]*?)\n<\/skill>(?:\n\n([^]+))?$/.exec(text);
  if (!found) return null;
  const [, name, location, content, rest] = found;
  return { name, location, content, userMessage: rest?.trim() || undefined };
}
