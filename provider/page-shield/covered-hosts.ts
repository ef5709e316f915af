import { isWiderOrEqual } from "../rules-language/equivalence";
import { parseExpression } from "../rules-language/parse";
import type { Condition, Value } from "../rules-language/tree";

type Hosts = ReadonlySet<string> | undefined;

/**
 * Returns the hosts that an expression covers, in lowercase. Undefined if it may cover any host. Ignores conditions
 * other than the host, so the expression may cover only some pages on these hosts.
 */
export function coveredHosts(expression: string): Hosts {
  if (isWiderOrEqual("false", expression)) return new Set();
  const parsed = parseExpression(expression);
  return "condition" in parsed ? hostsOf(parsed.condition) : undefined;
}

/** Whether two expressions may cover pages of the same host. */
export function mayShareHosts(one: string, other: string): boolean {
  const [hosts, others] = [coveredHosts(one), coveredHosts(other)];
  return hosts === undefined || others === undefined || [...hosts].some((host) => others.has(host));
}

function hostsOf(condition: Condition): Hosts {
  switch (condition.kind) {
    case "constant":
      return condition.value ? undefined : new Set();
    case "comparison": {
      const { value, operator, operand } = condition;
      if (!isHost(value)) return undefined;
      if (operator === "eq" && operand.kind === "literal") return new Set([operand.value.toLowerCase()]);
      if (operator !== "in" || operand.kind !== "set") return undefined;
      return new Set(
        operand.items.flatMap((item) => (item.kind === "literal" ? [item.value.toLowerCase()] : [])),
      );
    }
    // All hosts of the operands, provided that each operand names some.
    case "or":
      return condition.conditions
        .map(hostsOf)
        .reduce((all, more) =>
          all === undefined || more === undefined ? undefined : new Set([...all, ...more]),
        );
    // The hosts that all operands have in common. Operands without hosts are ignored.
    case "and":
      return condition.conditions.map(hostsOf).reduce((all, more) => {
        if (all === undefined || more === undefined) return all ?? more;
        return new Set([...all].filter((host) => more.has(host)));
      });
    default:
      return undefined;
  }
}

/** Whether the expression `wider` certainly covers all pages of a host that `narrower` covers. */
export function coversOnHost(wider: string, narrower: string, host: string): boolean {
  return isWiderOrEqual(wider, narrower, (comparison) => {
    const [, operator, value = ""] =
      /^(?:http\.host|lower\(http\.host\)) (eq|ne) "([^"\\]*)"$/.exec(comparison) ?? [];
    if (operator === undefined) return undefined;
    const isSame = value === host.toLowerCase();
    // Only the API knows whether a name with capital letters matches.
    return !isSame && value.toLowerCase() !== value ? undefined : isSame === (operator === "eq");
  });
}

/** Whether a value is `http.host` or `lower(http.host)`. */
function isHost(value: Value): boolean {
  if (value.kind === "field") return value.name === "http.host";
  const [only, ...more] = value.args;
  return value.name === "lower" && more.length === 0 && only?.kind === "field" && isHost(only);
}
