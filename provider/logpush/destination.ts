import type * as pulumi from "@pulumi/pulumi";
import type { LiteralUnion } from "../runtime/fields";

/**
 * Destinations of a log-push job by kind, each in place of a text with credentials inside (facts 7.4; the vendor's page
 * of each destination). A `LogpushJob` takes one as `destination`. It is secret there: in state, and in every message.
 * In a `path`, `{DATE}` becomes the day, as 20250131.
 */

/** A bucket of Amazon S3, or of storage that speaks its protocol. */
export interface S3Destination {
  readonly bucket: pulumi.Input<string>;
  /** Folder in the bucket. Default: none. */
  readonly path?: pulumi.Input<string>;
  /** Region of the bucket, such as `us-east-1`. Not in China. */
  readonly region: pulumi.Input<string>;
  /** Server-side encryption, where the bucket's policy demands it. Default: none. */
  readonly sse?: pulumi.Input<LiteralUnion<"AES256">>;
  /** Host of S3-compatible storage, without the bucket: `sfo2.digitaloceanspaces.com`. Needs the keys. Default: Amazon. */
  readonly endpoint?: pulumi.Input<string>;
  /** With the secret key: then the service wants no proof of ownership. */
  readonly accessKeyId?: pulumi.Input<string>;
  readonly secretAccessKey?: pulumi.Input<string>;
}

/** A bucket of the vendor's own object storage. */
export interface R2Destination {
  readonly bucket: pulumi.Input<string>;
  /** Folder in the bucket. Default: none. */
  readonly path?: pulumi.Input<string>;
  /** Account that has the bucket, 32 hexadecimal digits. */
  readonly accountId: pulumi.Input<string>;
  readonly accessKeyId: pulumi.Input<string>;
  readonly secretAccessKey: pulumi.Input<string>;
}

/** A bucket of Google Cloud Storage. Wants a proof of ownership. */
export interface GsDestination {
  readonly bucket: pulumi.Input<string>;
  /** Folder in the bucket. Default: none. */
  readonly path?: pulumi.Input<string>;
}

/** A container of Azure Blob Storage. Wants a proof of ownership. */
export interface AzureDestination {
  /** Address of the container with its shared access signature: `https://account.blob.core.windows.net/logs?sv=…&sig=…`. */
  readonly sasUrl: pulumi.Input<string>;
  /** Folder in the container. Default: none. */
  readonly path?: pulumi.Input<string>;
}

/** Any endpoint that takes POST requests over HTTPS. */
export interface HttpsDestination {
  /** Address, with its query if it has one. */
  readonly url: pulumi.Input<string>;
  /** Headers of every push, such as `{ Authorization: "Bearer …" }`. Default: none. */
  readonly headers?: pulumi.Input<Record<string, pulumi.Input<string>>>;
}

/** An HTTP event collector of Splunk. */
export interface SplunkDestination {
  /** Host, port and path: `splunk.example.com:8088/services/collector/raw`. */
  readonly endpoint: pulumi.Input<string>;
  /** A GUID of your own choice. */
  readonly channel: pulumi.Input<string>;
  /** The collector's token, without the word Splunk. */
  readonly token: pulumi.Input<string>;
  /** Default: the collector's. */
  readonly sourcetype?: pulumi.Input<string>;
  /** Accept any certificate. Default false. */
  readonly insecureSkipVerify?: pulumi.Input<boolean>;
}

/** The log intake of Datadog. */
export interface DatadogDestination {
  /** Host and path: `http-intake.logs.datadoghq.com/api/v2/logs`. */
  readonly endpoint: pulumi.Input<string>;
  readonly apiKey: pulumi.Input<string>;
  /** Default `cloudflare`, by which Datadog knows the form of the lines. */
  readonly ddsource?: pulumi.Input<string>;
  readonly service?: pulumi.Input<string>;
  readonly host?: pulumi.Input<string>;
  readonly ddtags?: pulumi.Input<string>;
}

/** An HTTP source of Sumo Logic. Wants a proof of ownership. */
export interface SumoDestination {
  /** Address of the source, as Sumo Logic shows it: `https://…/receiver/v1/http/…`. */
  readonly url: pulumi.Input<string>;
}

/** What a builder of this file made. */
export type Destination =
  | ({ readonly scheme: "s3" } & S3Destination)
  | ({ readonly scheme: "r2" } & R2Destination)
  | ({ readonly scheme: "gs" } & GsDestination)
  | ({ readonly scheme: "azure" } & AzureDestination)
  | ({ readonly scheme: "https" } & HttpsDestination)
  | ({ readonly scheme: "splunk" } & SplunkDestination)
  | ({ readonly scheme: "datadog" } & DatadogDestination)
  | ({ readonly scheme: "sumo" } & SumoDestination);

/** A bucket of Amazon S3, or with `endpoint` and keys of S3-compatible storage. */
export const s3 = (args: S3Destination): Destination => ({ scheme: "s3", ...args });

/** A bucket of the vendor's own object storage. */
export const r2 = (args: R2Destination): Destination => ({ scheme: "r2", ...args });

/** A bucket of Google Cloud Storage. */
export const gs = (args: GsDestination): Destination => ({ scheme: "gs", ...args });

/** A container of Azure Blob Storage. */
export const azure = (args: AzureDestination): Destination => ({ scheme: "azure", ...args });

/** Any endpoint that takes POST requests over HTTPS; New Relic and others document theirs. */
export const https = (args: HttpsDestination): Destination => ({ scheme: "https", ...args });

/** An HTTP event collector of Splunk. */
export const splunk = (args: SplunkDestination): Destination => ({ scheme: "splunk", ...args });

/** The log intake of Datadog. */
export const datadog = (args: DatadogDestination): Destination => ({ scheme: "datadog", ...args });

/** An HTTP source of Sumo Logic. */
export const sumo = (args: SumoDestination): Destination => ({ scheme: "sumo", ...args });
