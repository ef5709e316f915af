import { buildSchema } from "graphql";

/** What a single event and a group of events tell alike. */
const MEMBERS = `
    action: string!
    clientCountryName: string!
    clientIP: string!
    clientRequestHTTPHost: string!
    clientRequestHTTPMethodName: string!
    clientRequestPath: string!
    ruleId: string!
    source: string!`;

/**
 * The part of Cloudflare's GraphQL schema that reads firewall events. Anything else is refused, as Cloudflare refuses an
 * unknown field.
 * https://developers.cloudflare.com/analytics/graphql-api/features/data-sets/
 */
export const schema = buildSchema(`
  scalar string
  scalar Time

  type Query { viewer: viewer }
  type viewer { zones(filter: ZoneFilter_InputObject!): [zone!]! }
  input ZoneFilter_InputObject { zoneTag: string, zoneTag_in: [string!] }

  type zone {
    zoneTag: string!
    settings: ZoneSettings
    firewallEventsAdaptive(filter: EventFilter_InputObject!, limit: Int!, orderBy: [EventOrderBy!]): [Event!]!
    firewallEventsAdaptiveGroups(filter: EventFilter_InputObject!, limit: Int!, orderBy: [EventGroupOrderBy!]): [EventGroup!]!
  }
  type ZoneSettings { firewallEventsAdaptive: DatasetSettings, firewallEventsAdaptiveGroups: DatasetSettings }
  type DatasetSettings { enabled: Boolean!, maxDuration: Int!, maxPageSize: Int!, notOlderThan: Int! }

  input EventFilter_InputObject { datetime_geq: Time, datetime_leq: Time, source: string }
  enum EventOrderBy { datetime_ASC, datetime_DESC }
  enum EventGroupOrderBy { count_DESC }

  type Event {
    ${MEMBERS}
    datetime: Time!
    sampleInterval: Int!
  }
  type EventGroup { count: Int!, avg: EventAverage!, dimensions: EventDimensions! }
  type EventAverage { sampleInterval: Float! }
  type EventDimensions {
    ${MEMBERS}
  }
`);
