// Looks at the example of a page in headless Chromium, uses it as a user would, and takes screenshots.
// CHROMIUM is the program; the folder PAGE_FOLDER has playwright-core and gets the pictures.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { Example } from "./example.mjs";
import { Workshop, until } from "./workshop.mjs";

const folder = path.resolve(process.env.PAGE_FOLDER);
const { chromium } = createRequire(path.join(folder, "x.js"))("playwright-core");
const pictures = path.join(folder, "pictures");
mkdirSync(pictures, { recursive: true });

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

test("the page shows text, tools and dialogs, steers and stops, and survives its server", async (test) => {
  const workshop = new Workshop(test);
  const model = workshop.script(
    { text: `I look at the tests first. ${HOSTILE}`, chunk: 6, toolCalls: [{ name: "bash", arguments: { command: "echo '2 passed'; echo '<b>bold</b>'" } }] },
    { text: "All tests pass. I change the title, as you said.", toolCalls: [{ name: "read", arguments: { path: "nowhere.txt" } }] },
    { text: "The file is not there, so there is nothing to change." },
    { text: "This takes a while, and you may steer me", chunk: 4, delayMs: 20, hang: true },
  );
  const server = new Example(test, workshop, "page/server.mjs", "--model", model);
  await until(() => server.output.includes("#"), "the address is printed");
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  test.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const page = await context.newPage();
  const trouble = [];
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  await page.goto(server.output.trim());
  await page.waitForSelector("#state.ready");

  await page.fill("#message", "Is the build green?");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  assert.match(await page.innerText("dialog"), /Allow bash\?[^]*2 passed/);
  await page.screenshot({ path: path.join(pictures, "dialog.png") });
  await page.click("dialog button:has-text('Yes')");
  await page.waitForSelector("article:has-text('nothing to change')");
  await page.waitForSelector("#state.ready");
  const text = await page.innerText("#log");
  assert.ok(text.includes(HOSTILE), "HTML of the model is text");
  assert.ok(text.includes("✓ bash") && text.includes("✗ read"));
  assert.equal(await page.title(), "bowline");
  await page.click("summary:has-text('bash')");
  assert.equal(await page.innerText("details[open] pre"), "2 passed\n<b>bold</b>\n");
  await page.screenshot({ path: path.join(pictures, "tools.png") });

  await page.fill("#message", "Do something long");
  await page.click("#send");
  await page.waitForSelector("#state.busy");
  await page.waitForSelector("article.writing");
  assert.equal(await page.innerText("#send"), "Steer");
  await page.fill("#message", "This way");
  await page.click("#send");
  await page.waitForFunction(() => document.getElementById("message").placeholder === "1 waiting");
  await page.screenshot({ path: path.join(pictures, "steer.png") });
  await page.click("#stop");
  await page.waitForSelector("article:has-text('Stopped.')");

  await page.reload();
  await page.waitForSelector("#state.ready");
  assert.equal(await page.locator("article.user").first().innerText(), "Is the build green?");
  assert.equal(await page.locator("details").count(), 2);
  await page.setViewportSize({ width: 390, height: 700 });
  const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(isTooWide, false, "nothing is wider than a phone");
  await page.screenshot({ path: path.join(pictures, "phone.png") });
  assert.deepEqual(trouble, []);

  const address = server.output.trim();
  server.child.kill("SIGTERM");
  await server.ended;
  await page.waitForSelector("#state.lost");
  const without = await context.newPage();
  await assert.rejects(without.goto(address.split("#")[0]));
});
