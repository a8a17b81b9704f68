// The system prompt and the tools of a conversation. Newer extensions carry both in messages of the role `system`, older ones
// in `systemPrompt` and `tools` of the context.

/** Returns the text of a message's content. */
export function contentText(content, separator = "\n") {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.filter((block) => block?.type === "text").map((block) => block.text).join(separator);
}

const isSystem = (message) => message?.role === "system";

/** Returns the whole text of a system message, its sections included. */
export function getSystemMessageText(message) {
  const sections = Object.values(message.sections ?? {}).filter((section) => section !== null);
  return [contentText(message.content), ...sections].filter((part) => part.length > 0).join("\n\n");
}

/** Returns what a system message in the middle of a conversation changes, as text. */
export function renderSystemMessageUpdate(message) {
  const text = contentText(message.content);
  const parts = text ? [text] : [];
  for (const [name, value] of Object.entries(message.sections ?? {})) {
    parts.push(
      value === null ? `Removed system prompt section "${name}".` : `Updated system prompt section "${name}":\n\n${value}`,
    );
  }
  return parts.join("\n\n");
}

/** Returns the system message that a conversation with this prompt and these tools begins with, if it has either. */
export function createInitialSystemMessage(systemPrompt, tools) {
  const hasTools = Array.isArray(tools) && tools.length > 0;
  if (!systemPrompt && !hasTools) return undefined;
  return { role: "system", content: systemPrompt ?? "", ...(hasTools ? { toolsAdded: tools } : {}), timestamp: 0 };
}

/** Returns a context whose prompt and tools are in its messages. */
export function normalizeContext(context) {
  const messages = context?.messages ?? [];
  // A context that the host made carries both forms.
  if (isSystem(messages[0])) return { messages };
  const first = createInitialSystemMessage(context?.systemPrompt, context?.tools);
  return { messages: first ? [first, ...messages] : messages };
}

/** Returns the system message that a conversation begins with. */
export function getInitialSystemMessage(messages) {
  return isSystem(messages[0]) ? messages[0] : undefined;
}

/** Returns the messages without the one of the system at the beginning. */
export function withoutInitialSystemMessage(messages) {
  return isSystem(messages[0]) ? messages.slice(1) : messages;
}

/** Returns the tools after all changes. */
export function getCurrentTools(messages) {
  const tools = new Map();
  for (const message of messages.filter(isSystem)) {
    for (const { name } of message.toolsRemoved ?? []) tools.delete(name);
    for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** Returns one system message that says what all of them together say. */
export function getCurrentSystemMessage(messages) {
  const system = messages.filter(isSystem);
  if (system.length === 0) return undefined;
  const sections = new Map();
  for (const message of system) {
    for (const [name, value] of Object.entries(message.sections ?? {})) {
      if (value === null) sections.delete(name);
      else sections.set(name, value);
    }
  }
  const tools = getCurrentTools(system);
  return {
    role: "system",
    content: system.map((message) => contentText(message.content)).filter((text) => text.length > 0).join("\n\n"),
    ...(sections.size > 0 ? { sections: Object.fromEntries(sections) } : {}),
    ...(tools.length > 0 ? { toolsAdded: tools } : {}),
    timestamp: system[0].timestamp ?? 0,
  };
}

/** Returns the system prompt after all changes. */
export function getCurrentSystemPrompt(messages) {
  const message = getCurrentSystemMessage(messages);
  return message ? getSystemMessageText(message) : "";
}

/** Returns the conversation with one system message at the beginning. */
export function collapseSystemMessages(context) {
  const first = getCurrentSystemMessage(context.messages);
  const rest = context.messages.filter((message) => !isSystem(message));
  return { messages: first ? [first, ...rest] : rest };
}

/** Returns the conversation as a provider takes it, which may not take system messages in the middle. */
export function resolveTranscript(context, supportsMidConversationSystemMessages) {
  return supportsMidConversationSystemMessages ? context : collapseSystemMessages(context);
}

/** Returns what a model is told of a tool. */
export function toToolDeclaration(tool) {
  const { constrainedSampling } = tool;
  return {
    name: tool.name,
    description: tool.description,
    parameters: JSON.parse(JSON.stringify(tool.parameters)),
    ...(constrainedSampling === undefined ? {} : { constrainedSampling }),
  };
}

/** Tells whether a model is told the same of two tools. */
export function declarationsEqual(left, right) {
  return JSON.stringify(toToolDeclaration(left)) === JSON.stringify(toToolDeclaration(right));
}

/** Returns what a system message has to say when the tools change. */
export function getToolStateChanges(previous, current) {
  const named = (tools, name) => tools.find((tool) => tool.name === name);
  const isSame = (tool, other) => other !== undefined && declarationsEqual(tool, other);
  return {
    toolsAdded: current.filter((tool) => !isSame(tool, named(previous, tool.name))).map(toToolDeclaration),
    toolsRemoved: previous.filter((tool) => !isSame(tool, named(current, tool.name))).map(({ name }) => ({ name })),
  };
}

/** Returns every tool that was ever declared, by its newest declaration. */
export function getDeclaredTools(messages) {
  const added = messages.filter(isSystem).flatMap((message) => message.toolsAdded ?? []);
  return [...new Map(added.map((tool) => [tool.name, tool])).values()];
}

/** Tells whether a tool was declared again in another form. */
export function hasToolRedefinitions(messages) {
  const added = messages.filter(isSystem).flatMap((message) => message.toolsAdded ?? []);
  const first = new Map();
  for (const tool of added) {
    const known = first.get(tool.name);
    if (known && !declarationsEqual(known, tool)) return true;
    first.set(tool.name, tool);
  }
  return false;
}

/** Tells whether tools were removed or declared again. */
export function hasNonAdditiveToolChanges(messages) {
  const system = messages.filter(isSystem);
  const names = system.flatMap((message) => message.toolsAdded ?? []).map((tool) => tool.name);
  return system.some((message) => message.toolsRemoved?.length > 0) || new Set(names).size < names.length;
}

/** Returns the tools that belong into a request, and whether later additions stay where they were made. */
export function resolveTranscriptTools(messages, supportsToolAdditions) {
  const anchorsAdditions = Boolean(supportsToolAdditions) && !hasNonAdditiveToolChanges(messages);
  const requestTools = anchorsAdditions
    ? (getInitialSystemMessage(messages)?.toolsAdded ?? [])
    : getCurrentTools(messages);
  return { requestTools, anchorsAdditions };
}
