import { z } from "zod";
import { Ground } from "./support";

/** Members that the survey shows, or that decide what it shows. Any other text of a response stays out of its files. */
const SHOWN = new Set(
  `id name title status legacy_id description expression value action url host first_page_url first_seen_at
  last_seen_at ref version kind phase dataset last_complete last_error updated_at enabled state mode categories cursor
  added_at fetched_at ruleset last_updated phases migration_state malicious_domain_categories
  malicious_url_categories`.split(/\s+/),
);
const CANARY = "canary-5309";

/** Adds a canary to each text that isn't shown, and a member with one to each object. */
function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return SHOWN.has(key) ? value : `${value}${CANARY}`;
  if (Array.isArray(value)) return value.map((each) => poisoned(each, key));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, each]) => [name, poisoned(each, name)]);
  return { ...Object.fromEntries(members), unknown: CANARY, ownership_challenge: CANARY };
}

const keys = z.array(z.looseObject({ name: z.string() }));
const jobs = z.array(z.looseObject({}));

describe("the files of a survey", () => {
  it("contain nothing from response fields that the survey doesn't show", async () => {
    const ground = await Ground.with();
    let poisonedResponses = 0;
    const { code, stderr } = await ground.surveyChanged(
      (path, result) => {
        if (result === null || result === undefined) return undefined;
        poisonedResponses += 1;
        if (/\/keys(\?|$)/.test(path))
          return keys
            .parse(result)
            .map((each) => ({ name: `${each.name}${CANARY}`, metadata: { note: CANARY } }));
        if (/\/logpush\/jobs(\?|$)/.test(path))
          return jobs.parse(result).map((each) => ({
            ...each,
            destination_conf: `s3://bucket/logs?region=eu-west-1&access-key-id=${CANARY}&secret-access-key=${CANARY}`,
            last_error: "2026-09-01T00:00:00Z",
            error_message: `refused: secret-access-key=${CANARY}`,
            filter: CANARY,
            ownership_challenge: CANARY,
          }));
        return poisoned(result);
      },
      "--budget",
      "100",
      "--zones",
      "few.txt",
    );
    expect(code).toBe(0);
    expect(poisonedResponses).toBeGreaterThan(10);
    for (const file of ["survey.json", "survey.csv", "survey.html"])
      expect(ground.read(`survey/${file}`).match(/.{0,80}canary-5309/g) ?? []).toEqual([]);
    expect(stderr).not.toContain(CANARY);
    // The canary leaves every part readable, so that each was looked at.
    expect(ground.zone(ground.api.zones.shop)).toMatchObject({
      pageShield: { enabled: true },
      scripts: { seen: 23 },
      policies: [{ effect: "logging" }],
      deployments: [{ enabled: true }, { enabled: true }],
      jobs: [{ state: "failing", destination: "s3://bucket/logs?region=eu-west-1" }],
    });
  });
});
