import * as pulumi from "@pulumi/pulumi";
import { filter } from "pulumi-edgeguard";

/**
 * What has to compile, and what may not: judged by the type check of the tests, in which an `@ts-expect-error` above a
 * line that compiles is an error.
 */

const { and, contains, eq, geq, isIn, lt, notIn, or, startsWith, where } = filter;

export const compiles = [
  where(and(eq("ClientRequestHost", "example.com"), or(geq("EdgeResponseStatus", 500)))),
  where(eq("BotScore", "30")),
  where(eq("BotScore", pulumi.output(30))),
  where(eq("WorkerSubrequest", true)),
  where(geq("EdgeStartTimestamp", "2025-01-31T00:00:00Z")),
  where(contains("SecurityActions", "block")),
  where(contains("BotDetectionIDs", 7)),
  where(filter.in("EdgeResponseStatus", [200, 201])),
  where(isIn("ClientCountry", ["de", pulumi.output("fr")])),
  // A name that no table has may be anything; so may one that is not known before the program runs.
  where(eq("FieldOfTomorrow", 5)),
  where(startsWith("FieldOfTomorrow", "x")),
];

// @ts-expect-error an operator of texts on a field of numbers
startsWith("EdgeResponseStatus", "5");
// @ts-expect-error an operator of numbers on a field of texts
lt("ClientRequestHost", 5);
// @ts-expect-error a number for a field of texts
eq("ClientRequestHost", 5);
// @ts-expect-error a text that is no number for a field of numbers
eq("EdgeResponseStatus", "5xx");
// @ts-expect-error neither true nor false
eq("WorkerSubrequest", "yes");
// @ts-expect-error texts in a list for a field of numbers
isIn("EdgeResponseStatus", ["200"]);
// @ts-expect-error numbers in a list for a field of texts
notIn("ClientCountry", [49]);
// @ts-expect-error a list has no equal
eq("SecurityActions", "block");
// @ts-expect-error an object cannot be filtered by
contains("Cookies", "x");
// @ts-expect-error a group without a condition
and();
