import { filter, KvEntries, KvNamespace, LogpushJob, PageShieldPolicy } from "pulumi-edgeguard";

// Names and values that look like markup, mentions, references and the end of what they stand in.
const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const { where, and, eq, contains } = filter;

new KvNamespace('a | b `c` </b></summary> @octocat #1 "**d**"', {
  title: "<img src=x onerror=alert(1)> | `code` | @octo/team | octo/repo#7 \u202e\u0007 $x$ :tada:",
});
new PageShieldPolicy("-->\n```mermaid", {
  zoneId,
  description: "line one\n\n</details>\n# heading\n- [x] item ![](https://x.example/p.png)",
  action: "log",
  expression: 'http.request.uri.path matches "^/(a\\|b|c)$" or http.user_agent contains "```"',
  value: "script-src 'self' https://a.example/~x_y_z*",
});
new KvEntries("entries", {
  namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601",
  entries: { "</code></summary>|`@octocat`": "canary", "[a](javascript:b)": "canary" },
});
new LogpushJob("job", {
  zoneId,
  name: "job ``` <script>alert(1)</script>",
  dataset: "http_requests",
  destinationConf: "https://logs.shop.example/edge?header_Authorization=canary-header",
  outputOptions: { batchPrefix: "```\n</details>", recordSuffix: "\r\n" },
  filter: where(
    and(eq("ClientRequestHost", "```\n</details>"), contains("ClientRequestPath", "@octocat ~~~ \u2028")),
  ),
});
