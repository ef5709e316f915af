import type * as pulumi from "@pulumi/pulumi";
import type { LiteralUnion } from "../runtime/fields";

/**
 * Builders for a Logpush job's destination, one for each kind of destination. With them, you don't assemble a string
 * that contains credentials. A `LogpushJob` takes the result as `destination`, which is secret in the state and in
 * messages. In a `path`, Cloudflare replaces `{DATE}` with the day, such as 20250131.
 *
 * @see https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/
 */

/** A bucket in Amazon S3 or in S3-compatible storage. */
export interface S3Destination {
  /** The bucket's name. Updates in place. */
  readonly bucket: pulumi.Input<string>;
  /**
   * The folder in the bucket. Updates in place.
   * @defaultValue the bucket's root
   */
  readonly path?: pulumi.Input<string>;
  /** The bucket's region, such as `us-east-1`. Logpush doesn't support AWS China regions. Updates in place. */
  readonly region: pulumi.Input<string>;
  /**
   * Server-side encryption, if the bucket's policy requires it. Updates in place.
   * @defaultValue none
   */
  readonly sse?: pulumi.Input<LiteralUnion<"AES256">>;
  /**
   * The host of S3-compatible storage, without the bucket: `sfo2.digitaloceanspaces.com`. Requires both keys. Updates
   * in place.
   * @defaultValue Amazon S3
   */
  readonly endpoint?: pulumi.Input<string>;
  /** The access key ID. With both keys, Cloudflare requires no ownership challenge. Updates in place. */
  readonly accessKeyId?: pulumi.Input<string>;
  /** The secret access key. Updates in place. */
  readonly secretAccessKey?: pulumi.Input<string>;
}

/** A bucket in Cloudflare R2. */
export interface R2Destination {
  /** The bucket's name. Updates in place. */
  readonly bucket: pulumi.Input<string>;
  /**
   * The folder in the bucket. Updates in place.
   * @defaultValue the bucket's root
   */
  readonly path?: pulumi.Input<string>;
  /** The ID of the account that owns the bucket (32 hex digits). Updates in place. */
  readonly accountId: pulumi.Input<string>;
  /** The access key ID of an R2 API token. Updates in place. */
  readonly accessKeyId: pulumi.Input<string>;
  /** The secret access key of an R2 API token. Updates in place. */
  readonly secretAccessKey: pulumi.Input<string>;
}

/** A bucket in Google Cloud Storage. Needs an ownership challenge. */
export interface GsDestination {
  /** The bucket's name. Updates in place. */
  readonly bucket: pulumi.Input<string>;
  /**
   * The folder in the bucket. Updates in place.
   * @defaultValue the bucket's root
   */
  readonly path?: pulumi.Input<string>;
}

/** A container in Azure Blob Storage. Needs an ownership challenge. */
export interface AzureDestination {
  /**
   * The container's URL with its shared access signature: `https://account.blob.core.windows.net/logs?sv=…&sig=…`. Updates in
   * place.
   */
  readonly sasUrl: pulumi.Input<string>;
  /**
   * The folder in the container. Updates in place.
   * @defaultValue the container's root
   */
  readonly path?: pulumi.Input<string>;
}

/** Any endpoint that accepts POST requests over HTTPS. */
export interface HttpsDestination {
  /** The URL, including its query if it has one. Updates in place. */
  readonly url: pulumi.Input<string>;
  /**
   * Headers to send with every push, such as `{ Authorization: "Bearer …" }`. Updates in place.
   * @defaultValue none
   */
  readonly headers?: pulumi.Input<Record<string, pulumi.Input<string>>>;
}

/** A Splunk HTTP Event Collector. */
export interface SplunkDestination {
  /** The host, port and path: `splunk.example.com:8088/services/collector/raw`. Updates in place. */
  readonly endpoint: pulumi.Input<string>;
  /** The Splunk channel: a GUID of your choice. Updates in place. */
  readonly channel: pulumi.Input<string>;
  /** The collector's token, without the word `Splunk`. Updates in place. */
  readonly token: pulumi.Input<string>;
  /**
   * The events' source type in Splunk. Updates in place.
   * @defaultValue the collector's
   */
  readonly sourcetype?: pulumi.Input<string>;
  /**
   * Whether to accept any TLS certificate, even an invalid one. Updates in place.
   * @defaultValue `false`
   */
  readonly insecureSkipVerify?: pulumi.Input<boolean>;
}

/** Datadog's log intake. */
export interface DatadogDestination {
  /** The host and path: `http-intake.logs.datadoghq.com/api/v2/logs`. Updates in place. */
  readonly endpoint: pulumi.Input<string>;
  /** The Datadog API key. Updates in place. */
  readonly apiKey: pulumi.Input<string>;
  /**
   * The `ddsource` of the lines. Datadog uses it to recognize their format. Updates in place.
   * @defaultValue `cloudflare`
   */
  readonly ddsource?: pulumi.Input<string>;
  /** The `service` of the lines in Datadog. Updates in place. */
  readonly service?: pulumi.Input<string>;
  /** The `host` of the lines in Datadog. Updates in place. */
  readonly host?: pulumi.Input<string>;
  /** The tags of the lines in Datadog. Updates in place. */
  readonly ddtags?: pulumi.Input<string>;
}

/** A Sumo Logic HTTP source. Needs an ownership challenge. */
export interface SumoDestination {
  /** The source's URL, as Sumo Logic shows it: `https://…/receiver/v1/http/…`. Updates in place. */
  readonly url: pulumi.Input<string>;
}

/** A destination, as a builder returns it. */
export type Destination =
  | ({ readonly scheme: "s3" } & S3Destination)
  | ({ readonly scheme: "r2" } & R2Destination)
  | ({ readonly scheme: "gs" } & GsDestination)
  | ({ readonly scheme: "azure" } & AzureDestination)
  | ({ readonly scheme: "https" } & HttpsDestination)
  | ({ readonly scheme: "splunk" } & SplunkDestination)
  | ({ readonly scheme: "datadog" } & DatadogDestination)
  | ({ readonly scheme: "sumo" } & SumoDestination);

/** Pushes to a bucket in Amazon S3 or, with `endpoint` and keys, in S3-compatible storage. */
export const s3 = (args: S3Destination): Destination => ({ scheme: "s3", ...args });

/** Pushes to a bucket in Cloudflare R2. */
export const r2 = (args: R2Destination): Destination => ({ scheme: "r2", ...args });

/** Pushes to a bucket in Google Cloud Storage. */
export const gs = (args: GsDestination): Destination => ({ scheme: "gs", ...args });

/** Pushes to a container in Azure Blob Storage. */
export const azure = (args: AzureDestination): Destination => ({ scheme: "azure", ...args });

/** Pushes to any endpoint that accepts POST requests over HTTPS, such as New Relic's. */
export const https = (args: HttpsDestination): Destination => ({ scheme: "https", ...args });

/** Pushes to a Splunk HTTP Event Collector. */
export const splunk = (args: SplunkDestination): Destination => ({ scheme: "splunk", ...args });

/** Pushes to Datadog's log intake. */
export const datadog = (args: DatadogDestination): Destination => ({ scheme: "datadog", ...args });

/** Pushes to a Sumo Logic HTTP source. */
export const sumo = (args: SumoDestination): Destination => ({ scheme: "sumo", ...args });
