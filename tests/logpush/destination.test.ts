import * as destination from "../../provider/logpush/destination";
import { Redactor } from "../../provider/api/redact";
import {
  destinationProblems,
  needsProof,
  agreesWith,
  sameDestination,
  samePlace,
  hideDestination,
  shownDestination,
} from "../../provider/logpush/destination-text";
import { typedDestination } from "../../provider/logpush/destination-schemes";

const ACCOUNT = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

describe("turns a builder's destination into the API's string", () => {
  test.each([
    [destination.s3({ bucket: "logs", region: "us-east-1" }), "s3://logs?region=us-east-1"],
    [
      destination.s3({ bucket: "logs", path: "/http/{DATE}/", region: "eu-west-1", sse: "AES256" }),
      "s3://logs/http/{DATE}?region=eu-west-1&sse=AES256",
    ],
    [
      destination.s3({
        bucket: "logs",
        path: "dt={DATE}/größe",
        region: "sfo2",
        endpoint: "sfo2.digitaloceanspaces.com",
        accessKeyId: "KEY",
        secretAccessKey: "a/b+c=",
      }),
      "s3://logs/dt={DATE}/gr%C3%B6%C3%9Fe?region=sfo2&endpoint=sfo2.digitaloceanspaces.com&access-key-id=KEY&secret-access-key=a%2Fb%2Bc%3D",
    ],
    [
      destination.r2({
        bucket: "logs",
        path: "{DATE}",
        accountId: ACCOUNT,
        accessKeyId: "KEY",
        secretAccessKey: "SECRET",
      }),
      `r2://logs/{DATE}?account-id=${ACCOUNT}&access-key-id=KEY&secret-access-key=SECRET`,
    ],
    [destination.gs({ bucket: "logs", path: "http" }), "gs://logs/http"],
    [
      destination.azure({
        sasUrl: "https://shop.blob.core.windows.net/logs?sv=2022-11-02&sp=w&sig=a%2Fb",
        path: "{DATE}",
      }),
      "azure://shop.blob.core.windows.net/logs/{DATE}?sv=2022-11-02&sp=w&sig=a%2Fb",
    ],
    [destination.https({ url: "https://logs.example.com/in" }), "https://logs.example.com/in"],
    [
      destination.https({
        url: "https://logs.example.com/in?tags=a",
        headers: { Authorization: "Basic dXNlcjpwdw==", "X-Shop": "1 2" },
      }),
      "https://logs.example.com/in?tags=a&header_Authorization=Basic%20dXNlcjpwdw%3D%3D&header_X-Shop=1%202",
    ],
    [
      destination.splunk({
        endpoint: "https://splunk.example.com:8088/services/collector/raw",
        channel: "0f8a",
        token: "e6d94e8c",
        sourcetype: "cloudflare:json",
      }),
      "splunk://splunk.example.com:8088/services/collector/raw?channel=0f8a&insecure-skip-verify=false&sourcetype=cloudflare%3Ajson&header_Authorization=Splunk%20e6d94e8c",
    ],
    [
      destination.datadog({
        endpoint: "http-intake.logs.datadoghq.com/api/v2/logs",
        apiKey: "20e6d94e",
        service: "shop",
      }),
      "datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=20e6d94e&ddsource=cloudflare&service=shop",
    ],
    [
      destination.sumo({ url: "https://collectors.sumologic.com/receiver/v1/http/ZaVnC4dhaV" }),
      "sumo://collectors.sumologic.com/receiver/v1/http/ZaVnC4dhaV",
    ],
  ])("%j", (typed, text) => {
    expect(typedDestination.parse(typed)).toBe(text);
    expect(destinationProblems(text)).toEqual([]);
  });
});

describe("reports what's wrong with a destination", () => {
  const LONG = `gs://${"b".repeat(4_096 - 5)}`;
  test.each([
    ["logs", [/^must be a URL such as s3:\/\/bucket\/path \(secret value not shown\)$/]],
    [
      "http://logs.example.com",
      [/^starts with http:\/\/, but Logpush only pushes to https:\/\/\. Use https:\/\/$/],
    ],
    ["gcs://logs", [/^has a scheme that Logpush doesn't support\. Did you mean gs:\/\/\?$/]],
    ["pipelines://stream", []],
    ["bq://projects/p/datasets/d?credentials=url:x", [/^must be bq:\/\/projects\/<project>\/datasets\//]],
    ["bq://projects/p/datasets/d/tables/t", [/^is missing a query parameter .*: "credentials"/]],
    [
      "bq://projects/p/datasets/d/tables/t?credentials=canary",
      [/^"credentials" must be a service account's key as base64:… or url:… \(secret value not shown\)$/],
    ],
    [LONG, []],
    [`${LONG}b`, [/^must be at most 4096 characters, not 4097$/]],
    ["s3://logs", [/^is missing a query parameter that s3:\/\/ requires: "region"\. Add region=…$/]],
    ["s3://?region=us-east-1", [/^has no bucket name after s3:\/\/$/]],
    ["s3://my bucket?region=us-east-1", [/^the bucket name has invalid characters\. Use letters/]],
    ["s3://my%20bucket?region=us-east-1", [/^the bucket name has invalid characters\. Use letters/]],
    ["kinesis://my+stream?region=us-east-1", [/^the stream name has invalid characters/]],
    ["https://my+host/in", [/^has an invalid host\. Use host or host:port/]],
    [
      "s3://logs?region=cn-north-1",
      [/^"region" is "cn-north-1", an AWS China region, which Logpush doesn't support\. Use another region$/],
    ],
    ["s3://logs?region=us-east-1&region=us-east-2", [/^has the parameter "region" twice\. Remove one$/]],
    [
      "s3://logs?region=sfo2&endpoint=sfo2.example.com",
      [/^is missing query parameters that s3:\/\/ requires: "access-key-id", "secret-access-key"/],
    ],
    [
      "s3://logs?region=sfo2&access-key-id=KEY",
      [/^is missing a query parameter that s3:\/\/ requires: "secret-access-key"/],
    ],
    [
      "r2://logs",
      [
        /^is missing query parameters that r2:\/\/ requires: "account-id", "access-key-id", "secret-access-key"\. Add account-id=…&access-key-id=…&secret-access-key=…$/,
      ],
    ],
    [
      "r2://logs?account-id=main&access-key-id=K&secret-access-key=S",
      [/^"account-id" is not an account ID \(32 hex digits\)\. Find it on the Overview page/],
    ],
    ["gs:///http", [/^has no bucket name after gs:\/\/$/]],
    [
      "azure://shop.blob.core.windows.net/logs",
      [/^is missing a query parameter that azure:\/\/ requires: "sig"/],
    ],
    [
      "splunk://s.example.com:8088/services/collector/raw?channel=c",
      [/^is missing a query parameter that splunk:\/\/ requires: "header_Authorization"/],
    ],
    [
      "datadog://http-intake.logs.datadoghq.com/api/v2/logs?ddsource=cloudflare",
      [/^is missing a query parameter that datadog:\/\/ requires: "header_DD-API-KEY"/],
    ],
    ["sumo://collectors.sumologic.com/http/abc", [/^must be the URL of an HTTP source/]],
    ["https://", [/^has no host after https:\/\/$/]],
    ["https://logs.example.com/a b", [/^contains whitespace\. Write it as %20$/]],
    ["s3://<BUCKET_PATH>?region=us-east-1", [/^contains a <…> placeholder from the docs/]],
    ["gs://logs/{DAY}", [/^has a placeholder in its path that Cloudflare doesn't replace\. Use \{DATE\}/]],
    ["gs://{DATE}/http", [/^has a placeholder outside its path/]],
    [
      "https://logs.example.com/{DATE}",
      [
        /^has \{DATE\} in its path, but Cloudflare replaces it only for s3, r2, gs and azure, not for https\. Remove it$/,
      ],
    ],
  ])("%s", (text, sentences) => {
    const reasons = destinationProblems(text).map(({ reason }) => reason);
    expect(reasons).toHaveLength(sentences.length);
    sentences.forEach((sentence, index) => expect(reasons[index]).toMatch(sentence));
  });
});

test.each([
  ["s3://logs?region=us-east-1", true],
  ["s3://logs?region=us-east-1&access-key-id=K&secret-access-key=S", false],
  ["gs://logs", true],
  ["azure://a.blob.core.windows.net/logs?sig=x", true],
  ["sumo://c.sumologic.com/receiver/v1/http/x", true],
  [`r2://logs?account-id=${ACCOUNT}&access-key-id=K&secret-access-key=S`, false],
  ["https://logs.example.com", false],
  ["splunk://s.example.com?channel=c&header_Authorization=x", false],
  ["datadog://d.example.com?header_DD-API-KEY=x", false],
])("%s requires an ownership challenge: %s", (text, needed) => {
  expect(needsProof(text)).toBe(needed);
});

test.each([
  [
    "s3://logs/http/{DATE}/?secret-access-key=S&sse=AES256&region=us-east-1&endpoint=S.Example.com:443&access-key-id=K",
    "s3://logs/http/{DATE}?endpoint=s.example.com&region=us-east-1&sse=AES256",
  ],
  [
    `r2://logs/a%20b?access-key-id=K&secret-access-key=S&account-id=${ACCOUNT}`,
    `r2://logs/a%20b?account-id=${ACCOUNT}`,
  ],
  ["gs://token@logs/http", "gs://logs/http"],
  [
    "azure://a.blob.core.windows.net/logs?sp=w&se=2030-01-01&skoid=1&sig=x&comp=y",
    "azure://a.blob.core.windows.net/logs?[secret]",
  ],
  [
    "https://user:pw@Logs.example.com:8443/services/T0/B0aBcD3fG/token?zone=x&tags=env:a%2Cteam:b&Api-Key=x&header_X=y",
    "https://logs.example.com:8443/services/T0/[secret]/token?tags=env:a,team:b&[secret]&[secret]&[secret]&[secret]",
  ],
  [
    "splunk://s.example.com:8088/services/collector/raw?channel=c&insecure-skip-verify=true&header_Authorization=Splunk%20x",
    "splunk://s.example.com:8088/services/collector/raw?channel=c&insecure-skip-verify=true&[secret]",
  ],
  [
    "datadog://d.example.com/api/v2/logs?header_DD-API-KEY=x&ddsource=cloudflare&service=shop",
    "datadog://d.example.com/api/v2/logs?ddsource=cloudflare&service=shop&[secret]",
  ],
  ["sumo://c.sumologic.com/receiver/v1/http/token", "sumo://c.sumologic.com/receiver/v1/http/[secret]"],
  ["s3://logs?region=r&secret-access-key=the&rest-of-it", "s3://logs?region=r&[secret]"],
  ["nonsense with a token", "a hidden destination"],
])("messages show the destination %s as %s", (text, shown) => {
  expect(shownDestination(text)).toBe(shown);
});

describe("compares two destinations", () => {
  test.each([
    ["s3://logs/a?region=r&sse=AES256", "s3://logs/a?sse=AES256&region=r", true, true],
    ["s3://logs/a?region=r", "s3://logs/a/?region=r", true, true],
    ["https://l.example.com?header_A=b%20c", "https://l.example.com?header_A=b%20c&x=1", false, false],
    ["https://l.example.com?table=a", "https://l.example.com?table=b", false, false],
    ["https://l.example.com?unknown=a", "https://l.example.com?unknown=b", false, false],
    ["https://l.example.com?header_X-Tenant=a", "https://l.example.com?header_X-Tenant=b", false, false],
    [
      "https://l.example.com?header_Authorization=a",
      "https://l.example.com?header_Authorization=b",
      false,
      false,
    ],
    ["datadog://d.com/v2?header_DD-API-KEY=a", "datadog://d.com/v2?header_DD-API-KEY=b", false, false],
    ["splunk://s.com?header_Authorization=a", "splunk://s.com?header_Authorization=****", false, false],
    ["https://l.example.com?Api-Key=a&format=f", "https://l.example.com?Api-Key=b&format=f", false, false],
    ["https://u:a@l.example.com", "https://u:b@l.example.com", false, false],
    ["https://l.example.com/in", "https://l.example.com/in/", false, false],
    ["https://l.example.com", "https://l.example.com/", true, true],
    ["s3://logs/a?region=r", "s3://logs/a/?region=r", true, true],
    ["s3://logs/a?region=r", "s3://logs/a?region=q", false, false],
    ["s3://logs/a?region=r", "s3://logs/a?region=r&sse=AES256", false, false],
    ["s3://logs/a?region=r&endpoint=S.com", "s3://logs/a?region=r&endpoint=s.com:443", true, true],
    ["s3://logs/a?region=r&endpoint=s.com", "s3://logs/a?region=r&endpoint=t.com", false, false],
    ["s3://logs/a?region=r", "s3://logs/a?region=r&access-key-id=1&secret-access-key=2", false, true],
    ["r2://logs?account-id=1", "r2://logs?account-id=2", false, false],
    ["splunk://s.com?channel=c", "splunk://s.com?channel=c&insecure-skip-verify=true", false, false],
    ["splunk://s.com?channel=c", "splunk://s.com?channel=c&insecure-skip-verify=false", false, true],
    ["azure://a.com/logs?se=1&sp=w&sig=1", "azure://a.com/logs?sp=cw&se=2&sig=2", false, true],
    ["s3://logs/a?region=****", "s3://logs/a?region=r", false, true],
    ["https://l.example.com?k=a%2Fb", "https://l.example.com?k=a%2fb", true, true],
    ["s3://logs/a?region=r", "s3://logs/b?region=r", false, false],
    ["s3://logs/a?region=r", "s3://else/a?region=r", false, false],
    ["s3://logs/a?region=r", "gs://logs/a", false, false],
    ["s3://logs/a?region=r&secret-access-key=1", "s3://logs/a?region=r&secret-access-key=2", false, true],
    ["sumo://c.example.com/receiver/v1/http/abc", "sumo://c.example.com/receiver/v1/http/****", false, true],
    ["nonsense", "nonsense", true, true],
    ["nonsense", "other", false, false],
  ])("%s and %s: equal %s, same location %s", (a, b, same, place) => {
    expect(sameDestination(a, b)).toBe(same);
    expect(sameDestination(b, a)).toBe(same);
    expect(samePlace(a, b)).toBe(place);
  });
});

describe("comparing the declared destination with the one that Cloudflare returns", () => {
  const own = "s3://logs/http?region=us-east-1&access-key-id=KEYKEY&secret-access-key=a%2Fb";
  test.each([
    [own],
    ["s3://logs/http?secret-access-key=a/b&access-key-id=KEYKEY&region=us-east-1"],
    ["s3://logs/http?region=us-east-1&access-key-id=****&secret-access-key=****"],
    ["s3://logs/http?region=us-east-1&access-key-id=REDACTED&secret-access-key=%2A%2A%2A%2A"],
    ["s3://logs/http?region=us-east-1&access-key-id=<redacted>&secret-access-key=xxxxx"],
    ["s3://logs/http?region=us-east-1"],
    ["s3://logs/http"],
    ["s3://logs/http/"],
    ["s3://logs/****"],
    ["s3://logs/http?region=us-east-1&access-key-id=&secret-access-key="],
    ["********"],
    [""],
    [null],
    [undefined],
  ])("%s matches the declared destination", (shown) => {
    expect(agreesWith(own, shown)).toBe(true);
  });

  test.each([
    ["s3://other/http?region=us-east-1"],
    ["s3://other/http?region=us-east-1&access-key-id=****&secret-access-key=****"],
    ["s3://logs/other"],
    ["s3://logs/http/more"],
    ["gs://logs/http"],
    ["s3://logs/http?region=us-west-2"],
    ["s3://logs/http?region=us-east-1&sse=AES256"],
    ["s3://logs/http?secret-access-key=another"],
    ["something else"],
    ["s3://logs/http?region=us-east-1&sse="],
    ["s3://logs/http?access-key-id=****&secret-access-key=****"],
  ])("%s doesn't match the declared destination", (shown) => {
    expect(agreesWith(own, shown)).toBe(false);
  });

  test("a destination matches even if Cloudflare masks a path segment or the part before the host", () => {
    const sumo = "sumo://c.sumologic.com/receiver/v1/http/ZaVnC4";
    expect(agreesWith(sumo, "sumo://c.sumologic.com/receiver/v1/http/****")).toBe(true);
    expect(agreesWith(sumo, "sumo://c.sumologic.com/receiver/v1/http/other")).toBe(false);
    const user = "https://shop:pw@logs.example.com/in";
    expect(agreesWith(user, "https://****@logs.example.com/in")).toBe(true);
    expect(agreesWith(user, "https://logs.example.com/in")).toBe(true);
    expect(agreesWith(user, "https://till:pw@logs.example.com/in")).toBe(false);
  });
});

describe("hides a destination's credential in every encoding that a message may contain", () => {
  const hidden = (text: string, message: string) => {
    const redactor = new Redactor();
    hideDestination(redactor, text);
    return redactor.redact(message);
  };
  const KEY = "c4nary/key+with=signs";
  const forms = [
    KEY,
    "c4nary%2Fkey%2Bwith%3Dsigns",
    "c4nary%2fkey%2bwith%3dsigns",
    JSON.stringify(KEY).slice(1, -1),
  ];

  test.each([
    [`s3://logs?region=us-east-1&access-key-id=AKIAX&secret-access-key=${encodeURIComponent(KEY)}`, forms],
    [`s3://logs?region=us-east-1&access-key-id=AKIAX&secret-access-key=${KEY}`, forms],
    [
      `r2://logs?account-id=${ACCOUNT}&access-key-id=AKIAX&secret-access-key=${encodeURIComponent(KEY)}`,
      ["AKIAX", ...forms],
    ],
    [`azure://a.blob.core.windows.net/logs?sv=2022&sp=w&sig=${encodeURIComponent(KEY)}`, forms],
    [
      `https://logs.example.com?header_Authorization=Bearer%20${encodeURIComponent(KEY)}`,
      [...forms, `Bearer ${KEY}`, `Bearer+${encodeURIComponent(KEY)}`],
    ],
    [`https://logs.example.com/services/T0/c4narytokeninapath99`, ["c4narytokeninapath99"]],
    [`https://logs.example.com?Api-Key=${encodeURIComponent(KEY)}&format=cloudflare`, forms],
    [`https://shop:${encodeURIComponent(KEY)}@logs.example.com/in`, forms],
    [
      `splunk://s.example.com?channel=c&insecure-skip-verify=true&header_Authorization=Splunk%20${encodeURIComponent(KEY)}`,
      forms,
    ],
    [`datadog://d.example.com?header_DD-API-KEY=${encodeURIComponent(KEY)}&ddsource=cloudflare`, forms],
    ["sumo://c.sumologic.com/receiver/v1/http/c4naryCode", ["c4naryCode"]],
  ])("%s", (text, secrets) => {
    for (const secret of secrets) {
      const message = `region us-east-1 of cloudflare is true at w: ${secret}, ${text}`;
      const shown = hidden(text, message);
      expect(shown).not.toContain("c4nary");
      expect(shown).not.toContain("AKIAX");
      expect(shown).toContain("region us-east-1 of cloudflare is true at w: ");
    }
  });
});
