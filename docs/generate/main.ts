import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startLocalApi } from "edgeguard-local";
import { commandPages } from "./command-pages";
import { dataPages } from "./data-pages";
import { LIFECYCLES } from "./lifecycles";
import { indexPage, llmsText } from "./index-page";
import { functionPage, grouped } from "./function-pages";
import { askedByLookups } from "./lookup-samples";
import { REPOSITORY } from "../../tests/support/repository";
import { COMMON, MISTAKES, playMistake, type ResourceName } from "../../tests/messages/mistakes";
import { textOf, type Page } from "./markdown";
import { readModel, type Item, type Model } from "./model";
import { messagesPage, type PlayedMistake } from "./messages-page";
import { pictureOf } from "./picture";
import { Links } from "./reference";
import { requestsOf } from "./requests";
import { pathOf, resourcePage } from "./resource-page";

/** Writes docs/reference. With --check it compares instead, and says what differs. */

const FOLDER = join(REPOSITORY, "docs/reference");
/** For language models (https://llmstxt.org), at the root of the site. */
const LLMS = "../public/llms.txt";
/** The image in the README. */
const PICTURE = "../public/report.svg";

const RESOURCES = Object.keys(LIFECYCLES) as ResourceName[]; // The keys of an object that is written out.

async function pages(): Promise<Page[]> {
  const model = await readModel();
  const links = new Links();
  const nested = new Map(RESOURCES.map((name) => [name, argumentTypes(model, `${name}Args`)]));
  for (const [name, types] of nested) {
    links.place(name, pathOf(name), name);
    links.place(`${name}Args`, pathOf(name), "Arguments");
    for (const each of types) links.place(each.name, pathOf(name));
  }
  const groups = grouped(model, links);
  const api = await startLocalApi();
  try {
    const asked = await askedByLookups(api);
    const functions = groups.map((group) => functionPage(group, links, model, asked));
    const all: Page[] = [];
    const messages: PlayedMistake[] = [];
    for (const each of COMMON) messages.push(["", each, await playMistake(api, "PageShieldSettings", each)]);
    for (const name of RESOURCES) {
      const requests = await requestsOf(api, name);
      const mistakes = [];
      for (const each of MISTAKES[name]) mistakes.push([each, await playMistake(api, name, each)] as const);
      messages.push(...mistakes.map(([mistake, played]) => [name, mistake, played] as const));
      const input = { name, lifecycle: LIFECYCLES[name], requests, mistakes };
      all.push(resourcePage(input, model, links, nested.get(name) ?? []));
    }
    all.push(messagesPage(messages));
    const pages = [...all, ...functions, ...commandPages(), ...dataPages()];
    return [indexPage(pages, model), ...pages];
  } finally {
    await api.close();
  }
}

/** Interfaces that the arguments of a resource are made of. */
function argumentTypes(model: Model, name: string): Item[] {
  const found = new Map<string, Item>();
  const visit = (item: Item): void => {
    for (const [word] of item.members.flatMap(({ type }) => [...type.matchAll(/\b[A-Z]\w+Args\b/g)])) {
      const used = model.items.find((each) => each.name === word);
      if (used === undefined || found.has(word)) continue;
      found.set(word, used);
      visit(used);
    }
  };
  visit(model.item(name));
  return [...found.values()];
}

async function main(): Promise<void> {
  const all = await pages();
  const wanted = new Map(all.map((page) => [page.path, textOf(page)]));
  wanted.set(LLMS, llmsText(all));
  wanted.set(PICTURE, pictureOf(join(REPOSITORY, "tests/report/fixtures/changed.md")));
  mkdirSync(FOLDER, { recursive: true });
  const present = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".md"),
  );
  present.push(...[LLMS, PICTURE].filter((path) => existsSync(join(FOLDER, path))));
  const stale = [...new Set([...wanted.keys(), ...present])].filter(
    (path) => !present.includes(path) || readFileSync(join(FOLDER, path), "utf8") !== wanted.get(path),
  );
  if (process.argv.includes("--check")) {
    if (stale.length === 0) return;
    process.stderr.write(
      `The generated files of docs/ are not up to date. Run "npm run docs" and commit:\n  ${stale.join("\n  ")}\n`,
    );
    process.exitCode = 1;
    return;
  }
  for (const path of stale) {
    const file = join(FOLDER, path);
    const text = wanted.get(path);
    mkdirSync(dirname(file), { recursive: true });
    if (text === undefined) rmSync(file);
    else writeFileSync(file, text);
  }
  process.stdout.write(`docs/reference: ${wanted.size} pages, ${stale.length} changed.\n`);
}

void main();
