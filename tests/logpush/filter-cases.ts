/** Filters that are accepted or rejected: the provider words why, and the local API, which has its own reader, has to agree. */

type Why = string | RegExp;

export const leaf = (key: string, operator: string, value: unknown) => ({
  where: { and: [{ key, operator, value }] },
});

/** In any dataset. */
export const REJECTED: readonly (readonly [filter: unknown, why: Why])[] = [
  ['{"where":', /^filter: is not valid JSON \(.*\)\. Write it like \{"where"/],
  ['"text"', /^filter: must be an object like .*, not "text"$/],
  [[], /^filter: must be an object like .*, not an empty list$/],
  [{}, 'filter: has no "where". Wrap its conditions in {"where": …}'],
  [{ and: [] }, 'filter: has no "where". Wrap its conditions in {"where": …}'],
  [{ ...leaf("RayID", "eq", "x"), limit: 3 }, 'filter: must have only "where", not "limit"'],
  [{ where: "A eq x" }, 'filter.where: must be a comparison or a group of comparisons, not "A eq x"'],
  [{ where: [leaf("RayID", "eq", "x").where] }, /^filter\.where: must be a comparison/],
  [{ where: { and: [1] } }, /^filter\.where\.and\[0\]: must be a comparison/],
  [{ where: {} }, /^filter\.where: must be a comparison, .*, or a group, .*\]\}$/],
  [{ where: { not: [] } }, /^filter\.where: must be a comparison, .*; it has "not"$/],
  [{ where: { and: {} } }, "filter.where.and: must be a list of conditions, not an object"],
  [{ where: { and: [] } }, "filter.where.and: is an empty group. Add at least one condition"],
  [{ where: { and: [{ or: [] }] } }, "filter.where.and[0].or: is an empty group. Add at least one condition"],
  [
    { where: { and: [leaf("RayID", "eq", "x").where], or: [leaf("RayID", "eq", "x").where] } },
    'filter.where: has both "and" and "or". Nest one in the other',
  ],
  [
    { where: { or: [{ key: "RayID", operator: "eq", value: "x", and: [] }] } },
    'filter.where.or[0]: is both a comparison and a group: it has "key", "operator", "value", "and". Move the comparison into the group',
  ],
  [
    { where: { and: [{ key: "RayID", operator: "eq", value: "x", note: 1 }] } },
    'filter.where.and[0]: must have only "key", "operator", "value", not "note"',
  ],
  [leaf("", "eq", "x"), 'filter.where.and[0].key: must be the name of a log field, not ""'],
  [
    { where: { and: [{ operator: "eq", value: "x" }] } },
    "filter.where.and[0].key: is required and must be the name of a log field",
  ],
  [leaf("RayID", "neq", "x"), 'filter.where.and[0].operator: "neq" is not an operator. Did you mean "!eq"?'],
  [leaf("RayID", ">=", "x"), 'filter.where.and[0].operator: ">=" is not an operator. Did you mean "geq"?'],
  [
    leaf("RayID", "startswith", "x"),
    'filter.where.and[0].operator: "startswith" is not an operator. Did you mean "startsWith"?',
  ],
  [
    leaf("RayID", "matches-regexp", "x"),
    'filter.where.and[0].operator: "matches-regexp" is not an operator. Use one of: eq, !eq, lt, leq, gt, geq, startsWith, endsWith, !startsWith, !endsWith, contains, !contains, in, !in',
  ],
  [leaf("RayID", "toString", "x"), /^filter\.where\.and\[0\]\.operator: "toString" is not an operator/],
  [leaf("RayID", 5 as never, "x"), /operator: must be one of eq, .*, not 5$/],
  [
    leaf("RayID", "eq", undefined),
    'filter.where.and[0].value: is required and must be a string, a number, true or false for operator "eq"',
  ],
  [leaf("RayID", "eq", null), /, not null$/],
  [leaf("RayID", "eq", Number.NaN), /, not NaN$/],
  [leaf("RayID", "eq", ["x"]), /, not a list with 1 item\. For a list, use "in" or "!in"$/],
  [
    leaf("RayID", "in", "200,201"),
    'filter.where.and[0].value: must be a list for operator "in", not the comma-separated string "200,201"',
  ],
  [leaf("RayID", "!in", 200), 'filter.where.and[0].value: must be a list for operator "!in", not 200'],
  [
    leaf("RayID", "in", []),
    "filter.where.and[0].value: is an empty list, which no line can match. Add at least one value",
  ],
  [leaf("RayID", "in", [1, true]), "filter.where.and[0].value[1]: must be a string or a number, not true"],
  [
    leaf("RayID", "in", ["200", 201]),
    'filter.where.and[0].value[1]: is 201 in a list that starts with "200". Use only strings or only numbers',
  ],
];

/** Of http_requests: field, operator and value. */
export const ACCEPTED_BY_FIELD: readonly (readonly [string, string, unknown])[] = [
  ["ClientRequestHost", "eq", "x"],
  ["ClientRequestHost", "!contains", "x"],
  ["ClientRequestHost", "in", ["a", "b"]],
  ["EdgeResponseStatus", "geq", "500"],
  ["EdgeResponseStatus", "!in", [200, 201]],
  ["EdgeResponseCompressionRatio", "lt", "1.5"],
  ["WorkerSubrequest", "!eq", "false"],
  ["EdgeStartTimestamp", "gt", "2025-01-31T00:00:00Z"],
  ["EdgeStartTimestamp", "leq", "1738281600"],
  ["SecurityActions", "contains", "block"],
  ["BotDetectionIDs", "!contains", "7"],
];

export const REJECTED_BY_FIELD: readonly (readonly [string, string, unknown, why: Why])[] = [
  [
    "EdgeResponseStatus",
    "startsWith",
    "5",
    "filter.where.and[0].operator: startsWith doesn't work with EdgeResponseStatus, a field of type int. Use one of: eq, !eq, lt, leq, gt, geq, in, !in",
  ],
  ["ClientRequestHost", "lt", "x", /lt doesn't work with ClientRequestHost, a field of type string/],
  ["WorkerSubrequest", "in", ["true"], /Use one of: eq, !eq$/],
  ["SecurityActions", "eq", "block", /a field of type array\[string\]\. Use one of: contains, !contains$/],
  ["EdgeStartTimestamp", "startsWith", "2025", /doesn't work with EdgeStartTimestamp/],
  [
    "Cookies",
    "contains",
    "x",
    "filter.where.and[0].key: Cookies has type object, which no filter can use. Choose a field with a single value",
  ],
  [
    "EdgeResponseStatus",
    "eq",
    "5xx",
    'filter.where.and[0].value: must be a whole number, not "5xx", since EdgeResponseStatus is a field of type int',
  ],
  ["EdgeResponseStatus", "eq", "1.5", /must be a whole number, not "1\.5"/],
  ["EdgeResponseCompressionRatio", "eq", "much", /must be a number, not "much"/],
  ["WorkerSubrequest", "eq", "yes", /must be true or false, not "yes"/],
  [
    "EdgeStartTimestamp",
    "gt",
    "yesterday",
    /must be a number or a time like 2025-01-31T00:00:00Z, not "yesterday"/,
  ],
  ["BotDetectionIDs", "contains", "seven", /must be a whole number, not "seven"/],
  [
    "EdgeResponseStatus",
    "in",
    ["200"],
    'filter.where.and[0].value[0]: must be a number without quotes, not "200", since EdgeResponseStatus is a field of type int',
  ],
  ["ClientCountry", "!in", [49], /must be a string, not 49, since ClientCountry is a field of type string$/],
];

/** Fields of firewall_events that no filter can use. */
export const UNFILTERABLE = [
  "Action",
  "Description",
  "Kind",
  "MatchIndex",
  "Metadata",
  "OriginatorRayID",
  "RuleID",
  "Source",
];
