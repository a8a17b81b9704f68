// Opens the pages of bowline inspect in a real browser, saved and live, uses them as a developer would, and takes
// screenshots. Usage: node inspect.mjs FOLDER  (with rich-, hostile- and long-exchange.html; screenshots go to
// FOLDER/pictures). BOWLINE names the binary.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = path.resolve(process.argv[2]);
const pictures = path.join(folder, "pictures");
const wide = { width: 1280, height: 800 };
const narrow = { width: 400, height: 844 };

const results = { passed: 0, failed: 0 };
function check(what, isTrue, detail = "") {
  results[isTrue ? "passed" : "failed"] += 1;
  if (!isTrue) console.log(`FAILED: ${what} ${detail}`);
}

// Opens a page and records everything that must not happen.
async function open(context, address) {
  const page = await context.newPage();
  page.trouble = [];
  page.on("dialog", (dialog) => { page.trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => page.trouble.push(`error: ${error.stack}`));
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.trouble.push(`console: ${message.text()}`); });
  page.on("popup", () => page.trouble.push("a window was opened"));
  page.on("request", (request) => { if (!request.url().startsWith(address) && !request.url().startsWith("data:")) page.trouble.push(`request: ${request.url()}`); });
  const started = Date.now();
  await page.goto(address, { waitUntil: "load" });
  await page.waitForFunction(() => document.querySelector("#list-rows .row"));
  page.loadTime = Date.now() - started;
  return page;
}

const saved = (context, name) => open(context, pathToFileURL(path.join(folder, `${name}-exchange.html`)).href);

async function calm(page, name) {
  check(`${name}: no dialog, error, request or window`, page.trouble.length === 0, page.trouble.slice(0, 5).join("\n"));
  const foreign = await page.evaluate(() => [
    document.querySelectorAll("script").length - (document.querySelector("script.rows") ? 3 : 2),
    document.querySelectorAll("style").length - 1,
    document.querySelectorAll("iframe, object, embed, base, img, a, [srcdoc]").length,
    [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
  ]);
  check(`${name}: nothing but what the page is made of`, foreign.every((count) => count === 0), JSON.stringify(foreign));
  const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(`${name}: nothing is wider than the page`, width <= 0, `${width} px`);
}

const text = (page, selector) => page.locator(selector).first().textContent();
const rows = (page) => page.locator("#list-rows .row");

async function reads(context) {
  const page = await saved(context, "rich");
  check("the bar says what was recorded", (await text(page, "#title")).startsWith("bowline --mode rpc") && /dialect pi/.test(await text(page, "#counts")));
  check("lanes", (await page.locator(".lane-name").allTextContents()).join() === "Commands,Model,Tools,Hooks,Waiting", (await page.locator(".lane-name").allTextContents()).join());
  check("bars of each kind", (await Promise.all(["commands", "model", "tools", "hooks", "waiting"].map((lane) => page.locator(`.bar.${lane}`).count()))).every((count) => count > 0));
  await page.locator(".bar.tools").last().click();
  check("a bar leads to its record", /tool_execution_start/.test(await text(page, "#record h2")));
  check("which is selected in the list", (await page.locator(".row[aria-selected=true] .type").textContent()) === "tool_execution_start");
  await page.click("[role=tab][data-view=usage]");
  check("curves", (await page.locator(".curve").count()) === 3 && (await page.locator(".curve .dot").count()) === 12);
  check("totals", /\$0\.\d+/.test(await text(page, ".totals")));
  await page.locator(".curve .dot").last().click();
  check("a point leads to its record", /message_end/.test(await text(page, "#record h2")));
  await page.click("[role=tab][data-view=conversation]");
  check("the conversation has the prompt and the answer", /word count is slow[^]*counted in place/.test(await text(page, "#conversation")));
  check("tools with their results", (await page.locator("#conversation .call").count()) === 5 && (await page.locator("#conversation .call.failed").count()) === 1);
  const call = page.locator("#conversation .call.failed");
  check("which are folded", !(await call.evaluate((fold) => fold.open)));
  await call.locator("summary").click();
  check("and unfold", await call.locator("pre.bad").isVisible());
  await calm(page, "rich");
  await page.close();
}

async function filters(context) {
  const page = await saved(context, "rich");
  const total = await rows(page).count();
  await page.keyboard.press("/");
  await page.keyboard.type("type:response -steer");
  await page.waitForFunction((total) => document.querySelectorAll("#list-rows .row").length < total, total);
  const types = await page.locator("#list-rows .type").allTextContents();
  check("words and types filter", types.length === 4 && types.every((type) => type.endsWith("response")), types.join());
  await page.keyboard.press("Escape");
  await page.waitForFunction((total) => document.querySelectorAll("#list-rows .row").length === total, total);
  await page.selectOption("#filter-from", "sent");
  check("directions filter", (await page.locator("#list-rows .row:not(.sent)").count()) === 0 && (await rows(page).count()) === 6, String(await rows(page).count()));
  await page.selectOption("#filter-from", "");
  check("problems are counted", (await text(page, "#problem-count")) === "3", await text(page, "#problem-count"));
  await page.click("#only-errors");
  check("and filtered", (await rows(page).count()) === 3);
  await rows(page).nth(0).click();
  check("a problem has its place and its reason", /\/message must be a string/.test(await text(page, ".problems")) && (await page.locator(".tree .wrong").count()) >= 1);
  await rows(page).nth(1).click();
  check("what is missing has its place too", /aborted.*missing/.test(await text(page, ".tree .wrong")));
  await page.click("#only-errors");
  await page.locator(".row .fold").first().click();
  check("deltas unfold", (await page.locator(".row.within").count()) > 3);
  await page.click("#folds");
  check("and fold", (await page.locator(".row.within").count()) === 0);
  await calm(page, "filters");
  await page.close();
}

async function keys(context) {
  const page = await saved(context, "rich");
  const selected = () => page.locator(".row[aria-selected=true] .type").textContent();
  await page.keyboard.press("g");
  check("g goes to the first record", (await selected()) === "get_session_stats");
  await page.keyboard.press("p");
  check("p goes to the response", (await selected()) === "response");
  await page.keyboard.press("j");
  check("j goes on", (await selected()) === "prompt");
  await page.keyboard.press("G");
  check("G goes to the last", (await selected()) === "ended");
  await page.keyboard.press("n");
  check("n goes to a problem", (await page.locator(".problems").count()) === 1);
  await page.keyboard.press("3");
  check("3 shows the conversation", await page.locator("#conversation").isVisible());
  await page.keyboard.press("+");
  check("+ zooms", await page.locator("#lane-canvas").evaluate((canvas) => canvas.clientWidth > innerWidth * 1.5));
  await page.keyboard.press("?");
  check("? shows the keys", await page.locator("#help").isVisible());
  await page.keyboard.press("Escape");
  const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.keyboard.press("t");
  check("t changes the theme", before !== (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)));
  await page.evaluate(() => localStorage.clear());
  await calm(page, "keys");
  await page.close();
}

async function survives(context) {
  const page = await saved(context, "hostile");
  await page.evaluate(() => { document.getElementById("folds").click(); });
  // Every record as a tree, every view.
  const count = await page.evaluate(() => document.getElementById("list-space").clientHeight / 26);
  await page.keyboard.press("g");
  for (let index = 0; index < count; index += 1) await page.keyboard.press("j");
  for (const view of ["record", "conversation", "usage"]) await page.click(`[role=tab][data-view=${view}]`);
  check("hostile: the title is ours", !/^hacked/.test(await page.title()));
  check("hostile: invisible characters are written out", /\[U\+202E\]/.test(await text(page, "#title")));
  check("hostile: what is shown is the text itself", (await page.locator("#conversation").evaluate((pane) => pane.textContent)).includes("<img src=x"));
  await calm(page, "hostile");
  for (const [name, viewport] of [["wide", wide], ["narrow", narrow]]) {
    await page.setViewportSize(viewport);
    await page.screenshot({ path: path.join(pictures, `inspect-hostile-${name}.png`) });
  }
  await page.close();
}

async function staysFast(context) {
  const page = await saved(context, "long");
  await page.waitForFunction(() => parseInt(document.getElementById("counts").textContent.replace(",", ""), 10) > 25_000);
  const read = await page.evaluate(() => Number(document.getElementById("counts").textContent.split(" ")[0].replace(",", "")));
  check("long: every record is read", read > 20_000, String(read));
  const loaded = await page.evaluate(() => performance.now());
  check("long: within seconds", loaded < 15_000, `${Math.round(loaded)} ms`);
  const time = async (what, work) => {
    const started = Date.now();
    await work();
    const took = Date.now() - started;
    check(`long: ${what} at once`, took < 2_000, `${took} ms`);
    return took;
  };
  const figures = {
    filter: await time("filter", async () => { await page.fill("#filter-text", "Question 300"); await page.waitForFunction(() => /Question 300/.test(document.querySelector("#list-rows").textContent) && document.querySelectorAll("#list-rows .row").length < 20); }),
    all: await time("clear the filter", async () => { await page.fill("#filter-text", ""); await page.waitForFunction(() => document.querySelectorAll("#list-rows .row").length > 20); }),
    unfold: await time("unfold all", () => page.click("#folds")),
    end: await time("go to the end", async () => { await page.keyboard.press("Escape"); await page.locator("#list").focus(); await page.keyboard.press("G"); await page.waitForFunction(() => document.querySelector(".row[aria-selected=true]")); }),
    conversation: await time("show the conversation", () => page.click("[role=tab][data-view=conversation]")),
    usage: await time("show the curves", () => page.click("[role=tab][data-view=usage]")),
    zoom: await time("zoom", () => page.click("#zoom-in")),
  };
  const elements = await page.evaluate(() => document.querySelectorAll("#list *, #timing *").length);
  check("long: only what is in sight is in the document", elements < 4_000, String(elements));
  const heap = await page.evaluate(() => Math.round((performance.memory?.usedJSHeapSize ?? 0) / 1e6));
  console.log(`long exchange: ${read} records, read after ${Math.round(loaded)} ms, ${heap} MB of heap, ${JSON.stringify(figures)} ms`);
  await calm(page, "long");
  await page.close();
}

// A live exchange: this process is the client, and the page sends commands too.
async function live(context) {
  const home = await mkdtemp(path.join(tmpdir(), "bowline-inspect-"));
  const child = spawn(process.env.BOWLINE, ["inspect", "--model", "scripted/demo", "--no-session"], { cwd: home, env: { PATH: process.env.PATH, HOME: home } });
  let output = "";
  child.stdout.on("data", (data) => { output += data; });
  const address = await new Promise((resolve) => {
    let errors = "";
    child.stderr.on("data", (data) => {
      errors += data;
      const found = errors.match(/http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{64}\//);
      if (found) resolve(found[0]);
    });
  });
  try {
    child.stdin.write('{"id":"early","type":"get_state"}\n');
    const page = await open(context, address);
    check("live: the page says so", await page.waitForFunction(() => document.getElementById("state").textContent === "live").then(() => true));
    check("live: commands from before are there", (await page.locator(".row.sent .type").first().textContent()) === "get_state");
    await page.click("#send-text");
    await page.keyboard.type("prom");
    await page.waitForFunction(() => document.querySelectorAll("#suggestions b").length > 0);
    check("live: commands are completed", (await text(page, "#suggestions b")) === "prompt");
    await page.screenshot({ path: path.join(pictures, "inspect-completion.png") });
    await page.keyboard.press("Tab");
    await page.keyboard.type("Hello from the page");
    check("live: with their fields", (await page.inputValue("#send-text")).includes('"type":"prompt","message":"Hello from the page"'), await page.inputValue("#send-text"));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => [...document.querySelectorAll(".row .type")].some((type) => type.textContent === "agent_settled"), null, { timeout: 30_000 });
    check("live: the client gets what the agent writes", output.includes('"type":"agent_settled"') && output.includes('"id":"inspect-1"'));
    await page.click("[role=tab][data-view=conversation]");
    check("live: the conversation", /Hello from the page[^]*greet\.sh/.test(await text(page, "#conversation")));
    await page.screenshot({ path: path.join(pictures, "inspect-live.png") });
    await page.click("#send-text");
    await page.keyboard.type("not JSON");
    await page.keyboard.press("Enter");
    check("live: what is not JSON is not sent by accident", /not JSON/.test(await text(page, "#send-note")));
    await page.fill("#send-text", "");
    await calm(page, "live");
    child.stdin.end();
    await page.waitForFunction(() => /ended, exit code 0/.test(document.getElementById("state").textContent));
    check("live: the end is shown", !(await page.locator("#send").isVisible()));
    await page.close();
  } finally {
    child.kill();
    await rm(home, { recursive: true, force: true });
  }
}

async function takePictures(context) {
  const page = await saved(context, "rich");
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const [name, viewport] of [["wide", wide], ["narrow", narrow]]) {
      await page.setViewportSize(viewport);
      for (const view of ["records", "record", "conversation", "usage"]) {
        if (view === "record") await page.locator("#list").evaluate(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true })));
        await page.locator(`[role=tab][data-view=${view}]`).evaluate((tab) => tab.click());
        await page.waitForTimeout(150);
        await page.screenshot({ path: path.join(pictures, `inspect-${view}-${name}-${scheme}.png`) });
        if (scheme === "light") await calm(page, `${view} ${name}`);
      }
    }
  }
  await page.close();
}

await mkdir(pictures, { recursive: true });
const profile = await mkdtemp(path.join(tmpdir(), "bowline-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  viewport: wide,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--enable-precise-memory-info"],
});
context.setDefaultTimeout(20_000);
try {
  for (const part of [reads, filters, keys, survives, staysFast, live, takePictures]) {
    try {
      await part(context);
    } catch (error) {
      check(part.name, false, error.stack);
    }
  }
} finally {
  await context.close();
  await rm(profile, { recursive: true, force: true });
}
console.log(`inspect: ${results.passed} passed, ${results.failed} failed`);
process.exitCode = results.failed ? 1 : 0;
