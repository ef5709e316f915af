import { createServer, type Server } from "node:http";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { extname, join, normalize, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser";

/**
 * Looks at the built site in a real browser, at phone and desktop width: nothing is wider than the screen, nothing fails,
 * nothing is requested from elsewhere, and the search answers. Says so where no browser is to be had.
 */

const SITE = resolve(__dirname, "../.vitepress/dist");
const PICTURES = resolve(__dirname, "../.vitepress/cache/look");
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } } as const;
const PAGES = [
  "index.html",
  "guides/first-hour.html",
  "reference/resources/page-shield-policy.html",
  "reference/messages.html",
  "glossary.html",
];
/** What people ask, and the page that has to be among the answers. */
const QUESTIONS = {
  paranoiaLevel: "managed-ruleset-override",
  "is not a zone ID": "zone-id",
  onDestroy: "page-shield-settings",
};

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".woff2": "font/woff2",
};

async function main(): Promise<void> {
  const browser = await launch();
  if (browser === undefined) {
    console.log("The site was not looked at: no browser is installed, and the registry delivered none.");
    return;
  }
  const server = await serve();
  try {
    await visit(browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    await browser.close();
    server.close();
  }
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else
    console.log(
      `Looked at ${PAGES.length} pages at ${Object.keys(SIZES).join(" and ")} width, and asked the search ${Object.keys(QUESTIONS).length} questions. Pictures: ${PICTURES}`,
    );
}

const problems: string[] = [];

async function visit(browser: Browser, origin: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  for (const [size, viewport] of Object.entries(SIZES)) {
    const page = await browser.newPage({ viewport });
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${size}, ${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => problems.push(`${size}, ${page.url()}: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith("data:"))
        problems.push(`${size}, ${page.url()}: requests ${request.url()}`);
    });
    for (const name of PAGES) await lookAt(page, origin, size, name);
    if (size === "desktop")
      for (const [words, wanted] of Object.entries(QUESTIONS)) await ask(page, origin, words, wanted);
    await page.close();
  }
}

async function lookAt(page: Page, origin: string, size: string, name: string): Promise<void> {
  await page.goto(`${origin}/${name}`, { waitUntil: "networkidle" });
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wider > 0) problems.push(`${size}, ${name}: is ${wider} pixels wider than the screen`);
  if ((await page.locator(".VPNav, .VPSidebar, .VPHero").allInnerTexts()).some((text) => text.includes("{{")))
    problems.push(`${size}, ${name}: shows a template instead of its text`);
  if ((await page.locator("h1").count()) === 0) problems.push(`${size}, ${name}: has no heading`);
  await page.screenshot({ path: join(PICTURES, `${name.replace(/\W+/g, "-")}.${size}.png`) });
}

async function ask(page: Page, origin: string, words: string, wanted: string): Promise<void> {
  await page.goto(`${origin}/index.html`, { waitUntil: "networkidle" });
  // Otherwise the search starts with the answers to the question before.
  await page.evaluate(() => sessionStorage.clear());
  await page.keyboard.press("Control+k");
  const input = page.locator(".VPLocalSearchBox input");
  await input.fill(words);
  const hits = page.locator(".VPLocalSearchBox .results a.result");
  try {
    await hits.first().waitFor({ timeout: 10_000 });
  } catch {
    problems.push(`search: ${words} finds nothing`);
    return;
  }
  const found = await hits.evaluateAll((all) => all.slice(0, 5).map((hit) => hit.getAttribute("href") ?? ""));
  if (!found.some((href) => href.includes(wanted)))
    problems.push(`search: ${words} finds ${found.join(", ")}, not ${wanted}`);
}

async function serve(): Promise<Server> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(SITE, path.endsWith("/") ? `${path}index.html` : path);
    if (!file.startsWith(SITE) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response
      .writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" })
      .end(readFileSync(file));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

void main();
