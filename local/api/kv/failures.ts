import { refusal } from "../envelope";

/**
 * Workers KV's errors, with Cloudflare's codes. The statuses for 10009, 10012, 10013, 10014, 10019, 10029 and 10034 are
 * also Cloudflare's. All other statuses and all messages are made up, because public clients list only the codes.
 */
export const kvFailures = {
  keyNotFound: () => refusal(404, 10009, "get: 'key not found'"),
  namespaceNotFound: (operation: string) => refusal(404, 10013, `${operation}: 'namespace not found'`),
  titleTaken: (operation: string) =>
    refusal(400, 10014, `${operation}: 'A namespace with this account ID and title already exists'`),
  titleMissing: () => refusal(400, 10019, "title required"),
  tooManyNamespaces: (most: number) =>
    refusal(400, 10018, `too many namespaces in this account: the limit is ${most}`),

  pageInvalid: () => refusal(400, 10007, "malformed page argument"),
  perPageInvalid: (most: number) => refusal(400, 10008, `malformed per_page argument: must be 1 to ${most}`),
  orderInvalid: () => refusal(400, 10043, "invalid order: must be id or title"),
  limitInvalid: (least: number, most: number) =>
    refusal(400, 10028, `invalid limit argument: must be ${least} to ${most}`),
  cursorInvalid: () => refusal(400, 10041, "invalid 'list keys' cursor"),

  bodyInvalid: (why: string, pointer?: string) =>
    refusal(400, 10012, `invalid request body: ${why}`, pointer),
  tooFewKeys: () => refusal(400, 10029, "minimum keys required"),
  tooManyKeys: (sent: number, most: number) =>
    refusal(400, 10029, `invalid request: ${sent} keys, but the limit is ${most}`),
  notText: (key: string, type: string) =>
    refusal(400, 10029, `invalid request: the value of '${key}' is not ${type}`),

  keyIllegal: (pointer?: string) => refusal(400, 10042, "illegal key name", pointer),
  keyTooLong: (bytes: number, most: number, pointer?: string) =>
    refusal(414, 10030, `key too long: ${bytes} bytes, but the limit is ${most}`, pointer),
  valueTooLarge: (bytes: number, most: number, pointer?: string) =>
    refusal(413, 10024, `payload too large: the value has ${bytes} bytes, but the limit is ${most}`, pointer),
  metadataInvalid: (why: string, pointer?: string) =>
    refusal(400, 10047, `invalid metadata: ${why}`, pointer),
  expirationInvalid: (least: number, pointer?: string) =>
    refusal(400, 10033, `invalid expiration: must be at least ${least} seconds in the future`, pointer),
  expirationTtlInvalid: (least: number, pointer?: string) =>
    refusal(400, 10034, `invalid expiration_ttl: must be at least ${least}`, pointer),

  onlyDigest: () =>
    refusal(
      501,
      10501,
      "the local API stores only the values' digests, because its option kvStore is digests",
    ),
};
