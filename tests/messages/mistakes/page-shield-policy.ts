import { rawSend } from "../../support/operation";
import type { Mistake } from "./play";

export const PAGE_SHIELD_POLICY: readonly Mistake[] = [
  {
    title: "A host without quotes in the expression",
    write: { expression: "http.host eq www.shop.example" },
    instead: { expression: 'http.host eq "www.shop.example"' },
  },
  {
    title: "A field that doesn't exist",
    write: { expression: 'http.hots eq "www.shop.example"' },
    instead: { expression: 'http.host eq "www.shop.example"' },
    warns: true,
  },
  {
    title: "An asterisk after eq",
    write: { expression: 'http.host eq "*.shop.example"' },
    instead: { expression: 'http.host wildcard "*.shop.example"' },
    warns: true,
  },
  {
    title: "An invalid regular expression",
    write: { expression: 'http.host matches "*.shop.example"' },
    instead: { expression: 'http.host matches "\\\\.shop\\\\.example$"' },
  },
  {
    title: "A misspelled keyword in the policy",
    write: { value: "script-src 'slef'" },
    instead: { value: "script-src 'self'" },
  },
  {
    title: "A keyword without quotes in the policy",
    write: { value: "script-src self" },
    instead: { value: "script-src 'self'" },
  },
  {
    title: "A misspelled directive",
    write: { value: { scriptsrc: ["'self'"] } },
    instead: { value: { scriptSrc: ["'self'"] } },
  },
  {
    title: "A directive given twice",
    write: { value: "script-src 'self'; script-src cdn.example.com" },
    instead: { value: "script-src 'self' cdn.example.com" },
  },
  {
    title: "An empty list of sources",
    write: { value: { scriptSrc: [] } },
    instead: { value: { scriptSrc: ["'none'"] } },
    warns: true,
  },
  {
    title: "A nonce",
    write: { value: { scriptSrc: ["'nonce-4AEemGb0xJptoIGFP3Nd'"] } },
    instead: { value: { scriptSrc: ["'self'", "cdn.example.com"] } },
    warns: true,
  },
  {
    title: "A source that lets any script run",
    write: { value: { scriptSrc: ["https:"] } },
    instead: { value: { scriptSrc: ["cdn.example.com"] } },
    warns: true,
  },
  {
    title: "An action that doesn't exist",
    write: { action: "block" },
    instead: { action: "allow" },
  },
  {
    title: "A misspelled argument",
    write: { expresion: "true" },
    instead: { expression: "true" },
  },
  {
    title: "No description",
    write: { description: "" },
    instead: { description: "checkout: own scripts and the payment provider" },
  },
  {
    title: "A second enforced policy for the same pages",
    before: (api) =>
      rawSend(api, "POST", `/zones/${api.zones.empty}/page_shield/policies`, {
        description: "made in the dashboard",
        action: "allow",
        expression: "true",
        enabled: "true",
        value: "script-src 'self'",
      }),
    write: { action: "allow" },
    fix: "Merge the sources of both policies into one, or let their expressions match different hosts.",
    warns: true,
  },
  {
    title: "The policy already exists, and adopting it is off",
    before: (api) =>
      rawSend(api, "POST", `/zones/${api.zones.empty}/page_shield/policies`, {
        description: "checkout",
        action: "log",
        expression: 'http.host eq "shop.example"',
        enabled: "true",
        value: "script-src 'self'",
      }),
    write: { adopt: "never" },
    instead: { adopt: "ifEqual" },
  },
];
