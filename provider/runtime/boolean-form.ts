import { ApiError } from "../api/errors";
import type { Context } from "./lifecycle";

/** How a request writes a boolean: `"true"` or `true`. For some fields, Cloudflare's docs and OpenAPI schema disagree.
 */
export type BooleanForm = "string" | "boolean";

export interface BooleanMember {
  /** Identifies the field, such as `enabled of zone 0d…`, because the same field of another object may have the other
   * form.
   */
  readonly key: string;
  /** JSON pointer into the request body, or just its prefix if the field has several spellings. */
  readonly pointer: string;
  /** Whether a 400 may also be about this field if it has no pointer or points at the field's parent. */
  readonly doubtful: boolean;
}

/** What this operation knows about a field. An accepted form outweighs one that a response showed. */
interface Known {
  form: BooleanForm;
  accepted: boolean;
}

/** Remembers the form that a response shows. */
export function noteShownForm(ctx: Context, key: string, form: BooleanForm): void {
  const known = knownOf(ctx, key);
  if (!known.accepted) known.form = form;
}

/**
 * Sends a field in the form that was accepted or shown before, by default as a string. Tries the other form once after
 * a 400 that points at the field or may be about it.
 *
 * @throws the error that says more about the content, if both forms are refused.
 */
export async function inEitherForm<T>(
  ctx: Context,
  member: BooleanMember,
  send: (form: BooleanForm) => Promise<T>,
): Promise<T> {
  const known = knownOf(ctx, member.key);
  const sendIn = async (form: BooleanForm): Promise<T> => {
    const result = await send(form);
    Object.assign(known, { form, accepted: true });
    return result;
  };
  const { form } = known;
  try {
    return await sendIn(form);
  } catch (error) {
    if (!isRefusal(error) || !mayMean(error, member)) throw error;
    try {
      return await sendIn(form === "string" ? "boolean" : "string");
    } catch (second) {
      throw isRefusal(second) ? moreTelling(error, second, member) : second;
    }
  }
}

function knownOf(ctx: Context, key: string): Known {
  return ctx.shared(`form of ${key}`, (): Known => ({ form: "string", accepted: false }));
}

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400;
}

function mayMean({ errors }: ApiError, member: BooleanMember): boolean {
  const pointers = errors.flatMap(({ pointer }) => pointer ?? []);
  if (pointers.some((each) => each.startsWith(member.pointer))) return true;
  const holds = (pointer: string): boolean =>
    `${member.pointer}/`.startsWith(`${pointer.replace(/\/$/, "")}/`);
  return member.doubtful && (pointers.length === 0 || pointers.some(holds));
}

/** Merges what both errors say about the content. A complaint about the form alone doesn't help the user. */
function moreTelling(first: ApiError, second: ApiError, member: BooleanMember): ApiError {
  const ofContent = ({ errors }: ApiError): ApiError["errors"] =>
    errors.filter(({ pointer }) => pointer?.startsWith(member.pointer) !== true);
  const errors = new Map(
    [...ofContent(first), ...ofContent(second)].map((note) => [JSON.stringify(note), note]),
  );
  if (errors.size === 0) return first;
  const base = ofContent(first).length > 0 ? first : second;
  return new ApiError({ ...base.init, errors: [...errors.values()] });
}
