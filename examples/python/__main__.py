import json

import pulumi
import pulumi_edgeguard as edgeguard

config = pulumi.Config()
zone_id = config.require("zoneId")

# Read, not managed: the zone's settings, and the rules that it deploys.
settings = edgeguard.PageShieldSettings.get("settings", zone_id)
rules = edgeguard.get_zone_managed_rules_output(zone_id=zone_id)

policy = edgeguard.PageShieldPolicy(
    "checkout",
    zone_id=zone_id,
    description="Checkout, our own scripts and the payment provider",
    action=edgeguard.PageShieldPolicyAction.LOG,
    expression='http.host eq "checkout.shop.example"',
    value={"scriptSrc": ["'self'", "js.payments.example"]},
)

# Server errors, to an endpoint whose address contains a token.
edgeguard.LogpushJob(
    "errors",
    zone_id=zone_id,
    dataset="http_requests",
    enabled=True,
    destination_conf=config.require_secret("destination"),
    filter=json.dumps({"where": {"key": "EdgeResponseStatus", "operator": "geq", "value": 500}}),
    output_options={
        "field_names": ["RayID", "ClientRequestHost", "EdgeResponseStatus"],
        "timestamp_format": edgeguard.OutputOptionsTimestampFormat.RFC3339,
    },
)

redirects = edgeguard.KvNamespace("redirects", title="redirects")
entries = edgeguard.KvEntries("entries", namespace_id=redirects.id, file="redirects.json")

pulumi.export("policyId", policy.id)
pulumi.export("entries", entries.keys)
pulumi.export("pageShield", settings.enabled)
pulumi.export("managedRules", rules.apply(lambda found: len(found.result.rules) if found.result else 0))
