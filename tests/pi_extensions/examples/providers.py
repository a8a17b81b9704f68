"""Extensions that bring a provider. Their services are on the internet, so a second extension leads them to the model."""
from script import Script, call
from . import Example

REDIRECT = """const real = globalThis.fetch;
const here = "http://127.0.0.1:{PORT}";
const access = { token: "t", headers: { "x-from": "gitlab" } };
globalThis.fetch = (input, init) => {
    const address = String(input?.url ?? input);
    if (address.endsWith("/direct_access")) {
        const denied = String(new Headers(init?.headers).get("authorization")).includes("wrong");
        return denied ? new Response("no access", { status: 401 }) : Response.json(access);
    }
    return real(address.replace(/https:\\/\\/(api\\.anthropic\\.com|cloud\\.gitlab\\.com)/, here), init);
};
export default function () {}
"""

WRONG = '{"type":"error","error":{"type":"invalid_request_error","message":"wrong"}}'
FILES = {"redirect.mjs": REDIRECT}
COMPANIONS = ["{HOME}/redirect.mjs"]

ANTHROPIC = [
    Script(files=FILES, companions=COMPANIONS, environment={"CUSTOM_ANTHROPIC_API_KEY": "key"})
    .ask("set_model", provider="custom-anthropic", modelId="claude-sonnet-4-5")
    .prompt("hello", {"think": "I should greet", "text": "hello"})
    .prompt("work", call("bash", command="echo worked"), "done")
    .prompt("fail", {"status": 400, "body": WRONG}, "never")
    .begin("endless", {"n": 3, "hang": 1})
    .until(type="message_update", assistantMessageEvent={"type": "text_delta"}).ask("abort")
    .sees("worked"),
    # With a token of a subscription.
    Script(files=FILES, companions=COMPANIONS, environment={"CUSTOM_ANTHROPIC_API_KEY": "sk-ant-oat-token"})
    .ask("set_model", provider="custom-anthropic", modelId="claude-opus-4-5")
    .prompt("hello", call("bash", command="echo worked"), "hello")
    .sees("You are Claude Code, Anthropic's official CLI for Claude."),
    # Without any key the model cannot be chosen.
    Script().ask("set_model", provider="custom-anthropic", modelId="claude-opus-4-5"),
]

# Its answers come from GitLab, over pi's own providers: only the refused login can be played.
GITLAB = (
    Script(files=FILES, companions=COMPANIONS, environment={"GITLAB_TOKEN": "wrong"})
    .ask("set_model", provider="gitlab-duo", modelId="claude-sonnet-4-6").prompt("hello", "never")
    .ask("set_model", provider="gitlab-duo", modelId="gpt-5.1-2025-11-13").prompt("hello", "never"))

EXAMPLES = [
    Example("custom-provider-anthropic", *ANTHROPIC),
    Example("custom-provider-gitlab-duo", GITLAB, limit="a service: only the refused login is played"),
]
