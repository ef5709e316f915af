import { EDGE_REQUEST, type RequestLimit, type ZonePlan } from "../limits/edge-function";
import { CheckError, held, type LimitFinding, type Measure } from "./finding";

export interface RequestToCheck {
  /** Plan of the zone that is asked. */
  readonly plan: ZonePlan;
  readonly url?: string | URL;
  /** By name; a list for a header that is sent several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Of a POST, PUT or PATCH. */
  readonly bodyBytes?: number;
  /** Of an answer that is to be cached. */
  readonly cachedFileBytes?: number;
}

/**
 * Holds a request against what a zone takes (seed 002, "Request and response size"). A header is measured as it is
 * sent, `name: value` with its line end.
 *
 * @throws CheckError when the plan is none.
 */
export function checkRequest(given: RequestToCheck): readonly LimitFinding[] {
  const { plan, url, headers = {}, bodyBytes, cachedFileBytes } = given;
  const plans: readonly string[] = Object.keys(EDGE_REQUEST.body.limit);
  if (!plans.includes(plan))
    throw new CheckError(`plan is ${JSON.stringify(plan)}; write "free", "pro", "business" or "enterprise".`);
  const measure = (name: RequestLimit, subject?: string): Measure<ZonePlan> => ({
    name,
    limit: EDGE_REQUEST[name],
    column: plan,
    plan: `the ${plan} plan`,
    ...(subject === undefined ? {} : { subject }),
    ...(name === "body" ? { advice: "The service answers 413: send it in parts." } : {}),
  });
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    (typeof values === "string" ? [values] : values).map((value) => ({
      name,
      bytes: Buffer.byteLength(`${name}: ${value}\r\n`),
    })),
  );
  return [
    ...(url === undefined ? [] : held(measure("url"), Buffer.byteLength(String(url)))),
    ...held(
      measure("headers"),
      lines.reduce((sum, { bytes }) => sum + bytes, 0),
    ),
    ...lines.flatMap(({ name, bytes }) =>
      held(measure("header", `Request header ${JSON.stringify(name)}`), bytes),
    ),
    ...(bodyBytes === undefined ? [] : held(measure("body"), bodyBytes)),
    ...(cachedFileBytes === undefined ? [] : held(measure("cachedFile"), cachedFileBytes)),
  ];
}
