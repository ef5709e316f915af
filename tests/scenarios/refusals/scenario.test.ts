import { playScenario } from "../../support/scenario";

const UP = {
  run: "up",
  changes: { create: 3 },
  writes: ["PUT /zones/{zone}/page_shield", "POST /zones/{zone}/page_shield/policies"],
} as const;

playScenario({
  title: "mistakes fail the preview with every reason, before anything is sent",
  folder: __dirname,
  zone: "empty",
  steps: [
    UP,
    {
      run: "preview",
      program: "typing-error",
      code: "failure",
      requests: 0,
      says: [
        /is not a zone ID \(32 hex digits\): it has 31 characters/,
        /unknown argument "expresion"\. Did you mean "expression"\?/,
        /must be "log", "allow" or "add_reporting_directives", not "block"/,
        /script-src has self without quotes, so browsers treat it as a hostname\. Write 'self', with single quotes/,
        /script-src is declared twice/,
        /"script-scr" is not a CSP directive\. Did you mean "script-src"\?/,
      ],
      in: { SDK: { says: ["Missing required property 'expression'"] } },
    },
    {
      run: "preview",
      program: "twice",
      code: "failure",
      requests: 1, // The live check of the first one.
      says: [/PageShieldSettings "(one|two)" and "(one|two)" both manage Page Shield in zone/],
    },
    {
      run: "preview",
      program: "twins",
      code: "failure",
      says: [/PageShieldPolicy "(one|two)" and "(one|two)" declare the same policy/],
    },
    { run: "up", program: "throws", code: "failure", says: ["the program's own mistake"], writes: [] },
    { look: "/zones/{zone}/page_shield/policies/{policy:checkout}", result: { description: "checkout" } },
  ],
});

playScenario({
  title: "an unknown setting fails the preview",
  folder: __dirname,
  zone: "empty",
  config: { "edgeguard:apiTokn": "x" },
  steps: [
    {
      run: "preview",
      code: "failure",
      requests: 0,
      says: [
        /"edgeguard:apiTokn" in the stack's configuration is not a setting\. Did you mean "edgeguard:apiToken"\?/,
      ],
    },
  ],
});

playScenario({
  title: "two kinds of credentials at once fail the preview",
  folder: __dirname,
  zone: "empty",
  config: {
    "edgeguard:apiToken": "canary-token-8642",
    "edgeguard:apiKey": "canary-key-8642",
    "edgeguard:apiEmail": "ops@example.com",
  },
  steps: [
    {
      run: "preview",
      code: "failure",
      requests: 0,
      says: [/keep one kind of credential/],
      hides: ["canary-token-8642", "canary-key-8642", "ops@example.com"],
    },
  ],
});

playScenario({
  title: "a base URL without a version fails the preview",
  folder: __dirname,
  zone: "empty",
  config: { "edgeguard:baseUrl": "https://api.example.com/client" },
  steps: [
    {
      run: "preview",
      code: "failure",
      requests: 0,
      says: [/edgeguard:baseUrl is "https:\/\/api\.example\.com\/client" but must end in an API version/],
    },
  ],
});

playScenario({
  title: "a token that Cloudflare refuses fails preview and update with the same message",
  folder: __dirname,
  zone: "empty",
  config: { "edgeguard:apiToken": "canary-token-9753" },
  steps: [
    {
      run: "preview",
      code: "failure",
      says: [/The token from edgeguard:apiToken lacks the Page Shield Read permission/, /request ID/],
      hides: ["canary-token-9753"],
    },
    {
      run: "up",
      code: "failure",
      says: [/The token from edgeguard:apiToken lacks the Page Shield Read permission/, /request ID/],
      hides: ["canary-token-9753"],
    },
  ],
});

playScenario({
  title: "a zone whose plan lacks a product fails with that reason",
  folder: __dirname,
  zone: "free",
  steps: [
    {
      run: "up",
      program: "policy-alone",
      code: "failure",
      says: [/the free plan of zone free\.example doesn't include Page Shield policies/],
      writes: [],
    },
    {
      run: "up",
      program: "settings-alone",
      code: "failure",
      says: [/not entitled/, /The plan doesn't include Page Shield/],
      writes: [],
    },
  ],
});
