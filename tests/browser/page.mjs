// Opens exported pages in a real browser, uses them as a reader would, and takes screenshots.
// Usage: node page.mjs FOLDER  (with rich.html, hostile.html and long.html; screenshots go to FOLDER/pictures)
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = path.resolve(process.argv[2]);
const pictures = path.join(folder, "pictures");
const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };

const results = { passed: 0, failed: 0 };
function check(what, isTrue, detail = "") {
  results[isTrue ? "passed" : "failed"] += 1;
  if (!isTrue) console.log(`FAILED: ${what} ${detail}`);
}

// Opens a page and records everything that must not happen: dialogs, errors, requests, windows.
async function open(context, name, hash = "") {
  const page = await context.newPage();
  const trouble = [];
  page.on("dialog", (dialog) => { trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) trouble.push(`console: ${message.text()}`);
  });
  page.on("popup", () => trouble.push("a window was opened"));
  const url = pathToFileURL(path.join(folder, `${name}.html`)).href;
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) trouble.push(`request: ${request.url()}`);
  });
  const started = Date.now();
  await page.goto(url + hash, { waitUntil: "load" });
  page.loadTime = Date.now() - started;
  page.trouble = trouble;
  return page;
}

async function settle(page) {
  await page.waitForTimeout(250);
}

async function isInSight(page, selector) {
  const test = (selector) => {
    const { top, bottom } = document.querySelector(selector)?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
    return bottom > 40 && top < innerHeight;
  };
  return page.waitForFunction(test, selector, { timeout: 5_000 }).then(() => true, () => false);
}

async function calm(page, name) {
  check(`${name}: no dialog, error, request or window`, page.trouble.length === 0, page.trouble.slice(0, 5).join("\n"));
  const foreign = await page.evaluate(() => [
    document.querySelectorAll("script").length - 1,
    document.querySelectorAll("style").length - 1,
    document.querySelectorAll("iframe, object, embed, svg, base, textarea, link:not([rel=icon]), [style], [srcdoc]").length,
    [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
    [...document.querySelectorAll("a")].filter((link) => !/^(#|https?:|mailto:)/i.test(link.getAttribute("href"))).length,
    [...document.querySelectorAll('a:not([href^="#"])')].filter((link) => link.rel !== "noopener noreferrer nofollow").length,
    [...document.querySelectorAll("img")].filter((image) => !image.src.startsWith("data:image/")).length,
  ]);
  check(`${name}: no foreign element`, foreign.every((count) => count === 0), foreign.join());
}

async function readsWell(context) {
  const page = await open(context, "rich");
  check("title is the session's name", (await page.title()) === "Make the word count fast");
  const isBarTitleSeen = () => page.locator("#bar-title").evaluate((title) => getComputedStyle(title).visibility === "visible");
  const timesNamed = () => page.locator("body").evaluate((body) => body.innerText.split("Make the word count fast").length - 1);
  check("the first screen has the title once", !(await isBarTitleSeen()) && (await timesNamed()) === 1);
  check("and the first message", await isInSight(page, "article.user"));
  await page.setViewportSize(narrow);
  check("on a phone too", await isInSight(page, "article.user"));
  await page.setViewportSize(wide);
  await page.evaluate(() => scrollTo(0, 1_000));
  await page.waitForFunction(() => !document.documentElement.classList.contains("at-top"));
  check("the bar has the title once it is out of sight", await isBarTitleSeen());
  await page.evaluate(() => scrollTo(0, 0));
  check("the text of other branches is not faded", await page.locator("#panel ol:not(.active)").first().evaluate((list) => getComputedStyle(list).opacity === "1"));
  check("the end of long command output is visible", (await page.locator(".tool .earlier + pre").count()) > 0);
  check("totals are shown", /\$/.test(await page.locator("#bar-totals").textContent()));
  check("code is highlighted", (await page.locator(".prose .hk").count()) > 10);
  check("tables are rendered", (await page.locator(".prose td").count()) === 9);
  check("the image is loaded", await page.locator("img").first().evaluate(async (image) => { image.loading = "eager"; await image.decode(); return image.naturalWidth === 320; }));
  check("the diff has both sides", (await page.locator(".diff .new").count()) > 0 && (await page.locator(".diff .old").count()) > 0);
  check("times are local", !(await page.locator("time").first().textContent()).includes("UTC"));

  const thinking = page.locator("details.thinking").first();
  check("thinking is folded", !(await thinking.evaluate((fold) => fold.open)));
  await thinking.locator("summary").click();
  check("a click unfolds it", await thinking.evaluate((fold) => fold.open));
  const more = page.locator("details.more").first();
  check("long output is folded", !(await more.evaluate((fold) => fold.open)));
  await more.locator("summary").click();
  check("and unfolds", await more.evaluate((fold) => fold.open));
  await page.keyboard.press("e");
  check("e opens all folds", (await page.locator("#conversation details:not([open])").count()) === 0);
  await page.keyboard.press("e");
  check("and closes them", (await page.locator("#conversation details[open]").count()) === 0);
  await calm(page, "rich");
  await page.close();
}

async function searches(context) {
  const page = await open(context, "rich");
  await page.keyboard.press("/");
  await page.keyboard.type("LINE 29");
  await settle(page);
  check("search counts", (await page.locator("#search-count").textContent()) === "1");
  await page.keyboard.press("Enter");
  await settle(page);
  check("search goes to the match", (await page.locator("#search-count").textContent()) === "1/1");
  check("and opens the fold it is in", await page.evaluate(() => {
    const [range] = CSS.highlights.get("current");
    const { top, bottom } = range.getBoundingClientRect();
    return range.toString() === "line 29" && top > 0 && bottom < innerHeight;
  }));
  await page.locator("#search-text").fill("fn count<'a>");
  await settle(page);
  const across = Number(await page.locator("#search-count").textContent());
  check("a match may span tokens", across >= 2, String(across));
  check("all matches are marked", await page.evaluate((count) => CSS.highlights.get("found").size === count, across));
  await page.locator("#search-next").click();
  await page.locator("#search-next").click();
  const place = await page.locator("#search-count").textContent();
  check("next goes on", place === `2/${across}`, place);
  await page.locator("#search-previous").click();
  check("previous goes back", (await page.locator("#search-count").textContent()) === `1/${across}`);
  await page.locator("#search-text").fill("kingfisher");
  await settle(page);
  check("matches on other branches are counted", (await page.locator("#search-elsewhere").textContent()) === "+1");
  await page.locator("#search-elsewhere").click();
  await settle(page);
  check("and can be visited", (await page.locator("#search-count").textContent()) === "1/1");
  await page.locator("#search-text").focus();
  await page.keyboard.press("Escape");
  await settle(page);
  check("Escape clears", (await page.locator("#search-count").textContent()) === "" && (await page.evaluate(() => (CSS.highlights.get("found")?.size ?? 0) === 0)));
  await calm(page, "search");
  await page.close();
}

async function branches(context) {
  const page = await open(context, "rich");
  const shows = (words) => page.locator("#conversation").evaluate((main, words) => main.textContent.includes(words), words);
  check("the current branch is shown", (await shows("Document the order instead")) && !(await shows("delete that test")));
  await page.locator("#panel a", { hasText: "Keep the benchmark" }).click();
  await settle(page);
  check("the panel shows another branch", (await shows("Keep the benchmark")) && !(await shows("Document the order instead")));
  check("with what both share", await shows("The word count takes"));
  check("and the selected message is visible", await isInSight(page, ".user:target"));
  await page.locator(".fork a").last().click();
  await settle(page);
  const here = page.url();
  await page.goBack();
  await settle(page);
  check("back leads back", (await shows("Keep the benchmark")) && page.url() !== here);
  await page.evaluate(() => scrollTo(0, 0));
  await page.keyboard.press("j");
  await settle(page);
  check("j goes to the next message", await page.evaluate(() => scrollY > 50));

  const id = await page.locator("article.user", { hasText: "And the benchmark too" }).count();
  check("a branch off this one is not visible", id === 0);
  const anchor = await page.locator("#panel a", { hasText: "And the benchmark too" }).getAttribute("href");
  await calm(page, "branches");
  await page.close();
  const linked = await open(context, "rich", anchor);
  await settle(linked);
  check("a link to a message on another branch opens it", await isInSight(linked, ":target") && (await linked.locator(":target").textContent()).includes("And the benchmark too"));
  const tool = await linked.locator(".tool[id]").nth(3).getAttribute("id");
  await linked.goto(linked.url().replace(/#.*/, "#" + tool));
  await settle(linked);
  check("a tool's result can be linked to", await isInSight(linked, ":target"));
  await calm(linked, "link");
  await linked.close();
}

async function themes(context) {
  const page = await open(context, "rich");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await page.locator("#theme").click();
  const after = await background();
  check("the theme changes", before !== after);
  await settle(page);
  await page.reload();
  check("and is remembered", (await background()) === after);
  await page.keyboard.press("t");
  check("t changes it back", (await background()) === before);
  await page.evaluate(() => localStorage.clear());
  await page.emulateMedia({ colorScheme: "dark" });
  await page.reload();
  check("the system's choice is the default", (await background()) === (after));
  await page.keyboard.press("?");
  check("? shows the shortcuts", await page.locator("#help").isVisible());
  await page.keyboard.press("Escape");
  await page.keyboard.press("b");
  await page.waitForTimeout(300);
  check("b hides the panel", !(await page.locator("#panel").isVisible()));
  await calm(page, "themes");
  await page.close();
}

async function prints(context) {
  const page = await open(context, "rich");
  await page.emulateMedia({ media: "print" });
  check("nothing but the conversation is printed", !(await page.locator("#bar").isVisible()) && !(await page.locator("#panel").isVisible()));
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  check("folds are open on paper", (await page.locator("#middle details:not([open])").count()) === 0);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  check("and closed after it", (await page.locator("#middle details[open]").count()) === 0);
  await calm(page, "print");
  await page.setViewportSize({ width: 794, height: 1123 });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await settle(page);
  await page.screenshot({ path: path.join(pictures, "print.png"), fullPage: true });
  await page.pdf({ path: path.join(pictures, "rich.pdf"), format: "A4" });
  await page.close();
}

async function survives(context) {
  const page = await open(context, "hostile");
  await settle(page);
  await calm(page, "hostile");
  const body = await page.locator("body").textContent();
  check("hostile text is shown as text", body.includes("</script><script>alert(1)</script>") && body.includes("<img src=x onerror=alert(1)>"));
  check("bidi characters are visible", body.includes("U+202E") && !/[\u202a-\u202e\u2066-\u2069]/.test(body));
  check("the title is text", (await page.title()).startsWith("</title><script>"));
  check("bad lines are reported", /[0-9]+ lines of the session file/.test(await page.locator("#end").textContent()));
  check("long output is truncated", (await page.locator(".cut", { hasText: "200.0 KB of 4.8 MB" }).count()) === 2);
  check("no bad image is shown", (await page.locator("img").count()) === 0);
  check("nothing is wider than the page", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const link of await page.locator("#panel a").all()) await link.click();
  await settle(page);
  await page.keyboard.press("e");
  await page.keyboard.press("/");
  await page.keyboard.type("<script>");
  await settle(page);
  await page.keyboard.press("Enter");
  check("hostile text can be searched", /^1\/|^[0-9]+\/[0-9]+$/.test(await page.locator("#search-count").textContent()));
  await calm(page, "hostile, used");
  await page.setViewportSize(narrow);
  await settle(page);
  check("nor on a phone", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.close();
}

async function staysFast(context) {
  const page = await open(context, "long");
  console.log(`long session: loaded in ${page.loadTime} ms`);
  console.log(`long session: ${await page.evaluate(() => document.querySelectorAll("*").length)} elements`);
  check("a long session loads", page.loadTime < 30_000, `${page.loadTime} ms`);
  const time = async (what, action, limit) => {
    const started = Date.now();
    await action();
    const taken = Date.now() - started;
    console.log(`long session: ${what} in ${taken} ms`);
    check(`${what} is fast`, taken < limit, `${taken} ms`);
  };
  await time("first search", async () => {
    await page.locator("#search-text").fill("needle");
    await page.waitForFunction(() => document.getElementById("search-count").textContent !== "");
  }, 10_000);
  await time("next match", async () => {
    await page.keyboard.press("Enter");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }, 10_000);
  await time("end", async () => {
    await page.locator("#search-text").blur();
    await page.keyboard.press("G");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }, 10_000);
  await time("side branch", async () => {
    await page.locator("#panel a", { hasText: "Side branch" }).first().click();
    await page.locator(".user:target").waitFor();
  }, 10_000);
  await time("back to the start", async () => {
    await page.keyboard.press("g");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }, 10_000);
  await calm(page, "long");
  await page.close();
}

async function takePictures(context) {
  for (const [name, viewport] of [["wide", wide], ["narrow", narrow]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(context, "rich");
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const shoot = async (part) => {
        await settle(page);
        await page.screenshot({ path: path.join(pictures, `${name}-${colorScheme}-${part}.png`) });
      };
      check(`nothing is wider than the page, ${name}`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await shoot("1-top");
      for (const [part, selector] of [["2-prose", ".prose table"], ["3-edit", ".diff"], ["4-image", ".tool .picture"], ["5-summary", "article.summary"], ["6-shell", "article.shell"], ["7-end", ".answer:last-of-type pre"]]) {
        await page.locator(selector).first().evaluate((element) => element.scrollIntoView({ block: "center" }));
        await settle(page);
        await page.locator(selector).first().evaluate((element) => element.scrollIntoView({ block: "center" }));
        await shoot(part);
      }
      await page.locator("#search-text").fill("count");
      await page.locator("#search-text").press("Enter");
      await shoot("8-search");
      if (viewport === narrow) {
        await page.locator("#show-panel").click();
        await page.waitForTimeout(250);
        await shoot("9-panel");
      } else {
        await page.locator("#search-text").press("Escape");
        await page.keyboard.press("?");
        await shoot("9-help");
      }
      await page.close();
    }
  }
  const page = await open(context, "hostile");
  for (const [name, viewport] of [["wide", wide], ["narrow", narrow]]) {
    await page.setViewportSize(viewport);
    await settle(page);
    await page.screenshot({ path: path.join(pictures, `hostile-${name}.png`) });
  }
  await page.close();
}

await mkdir(pictures, { recursive: true });
const profile = await mkdtemp(path.join(tmpdir(), "bowline-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  viewport: wide,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});
try {
  for (const part of [readsWell, searches, branches, themes, prints, survives, staysFast, takePictures]) {
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
console.log(`${results.passed} passed, ${results.failed} failed`);
process.exitCode = results.failed ? 1 : 0;
