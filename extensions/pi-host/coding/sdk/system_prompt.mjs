// The system prompt of an agent of an extension.

import { formatSkillsForPrompt } from "../skills.mjs";

const PREAMBLE =
  "You are a coding assistant that works on the files of a project with tools. Be brief and exact, and name the files that you " +
  "work on by their paths.";

const section = (name, lines) => (lines.length > 0 ? `\n\n<${name}>\n${lines.join("\n")}\n</${name}>` : "");

/** Returns the system prompt for these tools and resources. */
export function systemPrompt({ resources, tools, cwd }) {
  const custom = resources.getSystemPrompt();
  const snippets = tools.filter((tool) => tool.promptSnippet).map((tool) => `- ${tool.name}: ${tool.promptSnippet}`);
  const rules = [...new Set(tools.flatMap((tool) => tool.promptGuidelines ?? []))].map((rule) => `- ${rule}`);
  const start = custom ?? PREAMBLE + section("tools", snippets) + section("rules", rules);
  const appended = resources.getAppendSystemPrompt();
  const files = resources.getAgentsFiles().agentsFiles.map(
    ({ path, content }) => `<project_instructions path="${path}">\n${content}\n</project_instructions>`,
  );
  const reader = ["read", "bash"].find((name) => tools.some((tool) => tool.name === name));
  const skills = reader ? formatSkillsForPrompt(resources.getSkills().skills, reader) : "";
  return `${start}${section("addendum", appended)}${section("project_context", files)}${skills}\n\n<cwd>${cwd}</cwd>`;
}
