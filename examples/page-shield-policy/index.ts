import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";

const config = new pulumi.Config();

// Start with "log". Later, `pulumi config set action allow` makes the preview show which scripts would be blocked.
const policy = new PageShieldPolicy("checkout", {
  zoneId: config.require("zoneId"),
  description: "checkout",
  action: config.get("action") === "allow" ? "allow" : "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: {
    scriptSrc: ["'self'", "js.payments.example"],
    objectSrc: ["'none'"],
    upgradeInsecureRequests: true,
  },
});

export const value = policy.value;
export const wouldBlock = policy.impact.apply((impact) => impact?.wouldBlock);
