import { z } from "zod";
import { hexId } from "../runtime/fields";
import { json, record } from "../runtime/json";
import { identityOf, toWire, type MigrationRule } from "./rules";

/** The argument `configuration`: rules in the form of the output `proposedConfiguration`. */

const optional = {
  enabled: z.boolean().exactOptional(),
  action: z.string().min(1, "is empty").exactOptional(),
  sensitivityLevel: z.string().exactOptional(),
};

const parameters = z.looseObject({
  id: hexId("It is the id of a managed ruleset.").exactOptional(),
  version: z.string().min(1, 'has to be a version or "latest"; it is empty').exactOptional(),
  overrides: z
    .looseObject({
      ...optional,
      categories: z
        .array(z.looseObject({ category: z.string().min(1, "has to be a tag; it is empty"), ...optional }))
        .exactOptional(),
      rules: z
        .array(
          z.looseObject({
            id: hexId("It is the id of a rule of the managed ruleset."),
            scoreThreshold: z.int().exactOptional(),
            ...optional,
          }),
        )
        .exactOptional(),
    })
    .exactOptional(),
  ruleset: z.string().exactOptional(),
  rulesets: z.array(z.string()).exactOptional(),
  rules: record(z.array(z.string())).exactOptional(),
});

const rule = z
  .strictObject({
    action: z.string().min(1, 'has to be "execute" or "skip"; it is empty'),
    expression: z.string().trim().min(1, 'has to select requests, "true" for all of them; it is empty'),
    description: z.string().exactOptional(),
    enabled: z.boolean().exactOptional(),
    ref: z.string().min(1, "is empty: leave it out").exactOptional(),
    actionParameters: parameters.exactOptional(),
    logging: z.strictObject({ enabled: z.boolean() }).exactOptional(),
    extra: record(json).exactOptional(),
  })
  .superRefine(({ action, actionParameters }, ctx) => {
    const refuse = (message: string): void =>
      ctx.addIssue({ code: "custom", path: ["actionParameters"], message });
    if (action === "execute" && actionParameters?.id === undefined)
      refuse("needs id, the managed ruleset that an execute rule is for");
    if (action === "skip" && actionParameters === undefined)
      refuse('says what a skip rule leaves out, { ruleset: "current" } for every rule that follows');
  });

/** A complete list: an empty one would leave the zone without managed rules. */
export const configuration: z.ZodType<readonly MigrationRule[], readonly MigrationRule[]> = z
  .array(rule)
  .min(1, "has to hold at least one rule: an empty list would leave the zone without managed rules")
  .superRefine((rules, ctx) => {
    const seen = new Map<string, number>();
    rules.forEach((each, index) => {
      const key = identityOf(toWire(each));
      const first = seen.get(key);
      if (first === undefined) return void seen.set(key, index);
      ctx.addIssue({
        code: "custom",
        path: [index],
        message: `is the same rule as configuration[${first}], by action, expression and what it is for: keep one of them`,
      });
    });
  });
