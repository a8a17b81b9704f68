// Logins that a provider of an extension carries out itself, with dialogs of the client.

import { bridge } from "../bridge.mjs";

const ask = (method, params, signal) => bridge.request(method, params, { signal });

async function answered(method, params, signal) {
  const value = await ask(method, params, signal);
  if (value === null || value === undefined) throw new Error("Login cancelled");
  return value;
}

async function choose({ message, options }, signal) {
  const labels = options.map(({ label }) => label);
  const chosen = await ask("ui.select", { title: message, options: labels }, signal);
  return options.find(({ label }) => label === chosen)?.id;
}

function openPage({ url, instructions }) {
  bridge.notify("ui.openUrl", { url, instructions });
}

function showCode({ userCode, verificationUri }) {
  openPage({ url: verificationUri, instructions: `Enter the code ${userCode}` });
}

const show = (message) => bridge.notify("ui.notify", { message, type: "info" });

/** Returns the functions that a configuration's login calls. */
function callbacks(signal) {
  return {
    onAuth: openPage,
    onDeviceCode: showCode,
    onPrompt: ({ message, placeholder }) => answered("ui.input", { title: message, placeholder }, signal),
    onManualCodeInput: () => answered("ui.input", { title: "Paste the authorization code" }, signal),
    onProgress: show,
    onSelect: (prompt) => choose(prompt, signal),
    signal,
  };
}

/** Returns the functions that a whole provider's login calls. */
function interaction(signal) {
  return {
    signal,
    notify(event) {
      if (event.type === "auth_url") openPage(event);
      else if (event.type === "device_code") showCode(event);
      else show(event.message);
    },
    prompt(prompt) {
      if (prompt.type === "select") return choose(prompt, prompt.signal ?? signal);
      return answered("ui.input", { title: prompt.message, placeholder: prompt.placeholder }, prompt.signal ?? signal);
    },
  };
}

/** Logs the user in and returns the credential to store. */
export async function login({ name, native, config }, signal = new AbortController().signal) {
  const own = native?.auth?.oauth?.login ?? native?.auth?.apiKey?.login;
  if (own) return own.call(native.auth.oauth ?? native.auth.apiKey, interaction(signal));
  if (typeof config?.oauth?.login !== "function") throw new Error(`The provider ${name} has no login.`);
  return { ...(await config.oauth.login(callbacks(signal))), type: "oauth" };
}
