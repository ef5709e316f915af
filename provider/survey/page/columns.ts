import type { Head, Zone } from "../model";
import { deploymentsIn, exceptionCount, isOn, isWhole, mostBehind, protectionOf } from "../protection";
import { NOT_READABLE, textOf, valueOf } from "../readable";
import { amount, capitalized, counted, spelled } from "./cells";
import { TASK_WORDS, type Tone } from "./charts";
import type { SortKey } from "./rows";

/** The columns of the table of zones: the content of their cells, and the key by which they're sorted. */
export interface Column {
  readonly id: string;
  readonly title: string;
  readonly text: (zone: Zone) => string;
  readonly tone?: (zone: Zone) => Tone;
  /** By default, the text. */
  readonly key?: (zone: Zone) => SortKey;
  /** Whether sorting starts with the highest values, such as the most scripts or failing jobs. */
  readonly highestFirst?: true;
}

/** Returns a zone's name, or its ID if the name couldn't be read. */
export function nameOf(zone: Zone): string {
  return valueOf(zone.name) ?? zone.id;
}

const COLUMNS: readonly Column[] = [
  { id: "name", title: "Zone", text: nameOf },
  {
    id: "plan",
    title: "Plan",
    text: ({ plan, status }) => {
      const state = valueOf(status) ?? "active";
      return `${textOf(plan, capitalized)}${state === "active" ? "" : `, ${state}`}`;
    },
  },
  {
    id: "tasks",
    title: "To do",
    text: (zone) => {
      const [first, ...others] = zone.tasks;
      return first === undefined
        ? isWhole(zone)
          ? "Nothing"
          : "Not known"
        : `${TASK_WORDS[first.kind][0]}${others.length === 0 ? "" : `, ${others.length} more`}`;
    },
    tone: (zone) => {
      const [first] = zone.tasks;
      return first === undefined ? (isWhole(zone) ? "good" : undefined) : TASK_WORDS[first.kind][1];
    },
    key: ({ tasks }) => tasks[0]?.rank,
  },
  {
    id: "pageShield",
    title: "Page Shield",
    text: ({ pageShield }) => textOf(pageShield, ({ enabled }) => (enabled ? "On" : "Off")),
    tone: ({ pageShield }) => (valueOf(pageShield)?.enabled === false ? "warn" : undefined),
  },
  {
    id: "policies",
    title: "Policies",
    text: ({ policies }) =>
      textOf(policies, (all) => {
        const effects = [...new Set(all.map(({ effect }) => effect))];
        return listed(effects.map((word) => `${all.filter(({ effect }) => effect === word).length} ${word}`));
      }),
    key: ({ policies }) => valueOf(policies)?.filter(({ effect }) => effect === "enforced").length,
    highestFirst: true,
  },
  {
    id: "scripts",
    title: "Scripts",
    text: ({ scripts }) =>
      textOf(scripts, ({ seen, malicious, suspicious, unapproved }) =>
        [
          ...(malicious > 0 ? [`${amount(malicious)} malicious`] : []),
          ...(suspicious > 0 ? [`${amount(suspicious)} suspicious`] : []),
          ...((unapproved ?? 0) > 0 ? [`${amount(unapproved ?? 0)} unapproved`] : []),
          `${amount(seen)} seen`,
        ].join(", "),
      ),
    tone: ({ scripts }) => ((valueOf(scripts)?.malicious ?? 0) > 0 ? "bad" : undefined),
    key: ({ scripts }) => {
      const value = valueOf(scripts);
      return value === undefined
        ? undefined
        : value.malicious * 1e12 + value.suspicious * 1e9 + (value.unapproved ?? 0) * 1e6 + value.seen;
    },
    highestFirst: true,
  },
  {
    id: "deployments",
    title: "Managed rulesets",
    text: (zone) =>
      textOf(deploymentsIn(zone), (all) => {
        const on = all.filter(isOn);
        const perhaps = all.filter(({ state }) => state === "perhaps").length;
        const [behind, exceptions] = [mostBehind(all), exceptionCount(all)];
        return listed([
          ...(on.length > 0 ? [`${on.length} deployed`] : []),
          ...(on.length > 0 && valueOf(protectionOf(zone)) === "none" ? ["not protected"] : []),
          ...(on.length > 0 && valueOf(protectionOf(zone)) === "perhaps" ? ["not for all requests"] : []),
          ...(perhaps > 0 ? [`${perhaps} for some requests`] : []),
          ...(behind > 0 ? [`${counted(behind, "version")} behind`] : []),
          ...(exceptions > 0 ? [counted(exceptions, "exception")] : []),
        ]);
      }),
    tone: (zone) => {
      const protection = valueOf(protectionOf(zone));
      return protection === "none" ? "bad" : protection === "perhaps" ? "warn" : undefined;
    },
    key: (zone) => valueOf(deploymentsIn(zone))?.filter(isOn).length,
  },
  {
    id: "owasp",
    title: "OWASP",
    text: ({ owasp }) =>
      textOf(owasp, ({ state, paranoiaLevel, scoreThreshold, action }) =>
        state === "off"
          ? "Off"
          : [
              state === "perhaps" ? "For some requests" : undefined,
              paranoiaLevel === undefined ? "On" : `PL${paranoiaLevel}`,
              scoreThreshold === undefined ? undefined : `score ${scoreThreshold}`,
              action,
            ]
              .filter((part) => part !== undefined)
              .join(", "),
      ),
    tone: ({ owasp }) => (["off", "perhaps"].includes(valueOf(owasp)?.state ?? "") ? "warn" : undefined),
  },
  {
    id: "migration",
    title: "WAF migration",
    text: ({ migration }) => textOf(migration, ({ readiness }) => spelled(readiness)),
    tone: ({ migration }) =>
      ["ready", "blocked"].includes(valueOf(migration)?.readiness ?? "") ? "warn" : undefined,
  },
  {
    id: "jobs",
    title: "Logpush",
    text: ({ jobs }) =>
      textOf(jobs, (all) => {
        const states = ["failing", "working", "new", "off"] as const;
        const counts = states.map(
          (word) => [all.filter(({ state }) => state === word).length, word] as const,
        );
        return listed(counts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : [])));
      }),
    tone: ({ jobs }) =>
      valueOf(jobs)?.some(({ state }) => state === "failing") === true ? "bad" : undefined,
    key: ({ jobs }) => {
      const all = valueOf(jobs);
      return all === undefined
        ? undefined
        : all.filter(({ state }) => state === "failing").length * 1e3 + all.length;
    },
    highestFirst: true,
  },
];

const MANAGED: Column = {
  id: "managed",
  title: "Not in a stack",
  text: ({ unmanaged }) => {
    if (unmanaged === undefined) return "";
    const { objects, unread } = unmanaged;
    if (objects.length === 0) return unread.length === 0 ? "None" : "Not known";
    return `${unread.length === 0 ? "" : "At least "}${counted(objects.length, "object")}`;
  },
  key: ({ unmanaged }) =>
    unmanaged?.objects.length === 0 && unmanaged.unread.length > 0 ? undefined : unmanaged?.objects.length,
  highestFirst: true,
};

/** Returns the columns for which this survey has data. */
export function columnsOf({ accounts, stacks }: Head): readonly Column[] {
  const names = new Map(accounts.map(({ id, name }) => [id, name ?? id]));
  const account: Column = {
    id: "account",
    title: "Account",
    text: ({ accountId }) => textOf(accountId, (id) => names.get(id) ?? id),
  };
  return [
    ...COLUMNS.slice(0, 1),
    ...(accounts.length > 1 ? [account] : []),
    ...COLUMNS.slice(1),
    ...(stacks.length > 0 ? [MANAGED] : []),
  ];
}

/** Formats a list. An empty one becomes `None`. */
function listed(parts: readonly string[]): string {
  return parts.length === 0 ? "None" : parts.join(", ");
}

/** Returns what a column sorts a zone by. What isn't readable is unknown. */
export function sortKeyOf({ key, text }: Column, zone: Zone): SortKey {
  if (key !== undefined) return key(zone);
  const shown = text(zone).toLowerCase();
  return shown.startsWith(NOT_READABLE) ? undefined : shown;
}
