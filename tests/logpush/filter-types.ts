import * as pulumi from "@pulumi/pulumi";
import { filter } from "pulumi-edgeguard";

/**
 * What compiles and what doesn't. The type check of the tests checks it: an `@ts-expect-error` above a line that compiles is
 * an error.
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
  // An unknown field may have any type, and so may one whose name is only known at run time.
  where(eq("FieldOfTomorrow", 5)),
  where(startsWith("FieldOfTomorrow", "x")),
];

// @ts-expect-error a string operator on a numeric field
startsWith("EdgeResponseStatus", "5");
// @ts-expect-error a numeric operator on a string field
lt("ClientRequestHost", 5);
// @ts-expect-error a number for a string field
eq("ClientRequestHost", 5);
// @ts-expect-error a string that isn't a number for a numeric field
eq("EdgeResponseStatus", "5xx");
// @ts-expect-error neither true nor false
eq("WorkerSubrequest", "yes");
// @ts-expect-error strings in a list for a numeric field
isIn("EdgeResponseStatus", ["200"]);
// @ts-expect-error numbers in a list for a string field
notIn("ClientCountry", [49]);
// @ts-expect-error eq on a list
eq("SecurityActions", "block");
// @ts-expect-error a field that holds an object
contains("Cookies", "x");
// @ts-expect-error a group without a condition
and();
