import { ApiError } from "../api/errors";
import type { Context } from "./lifecycle";

/**
 * How a boolean is written in a request: as `"true"` or `true`. For some fields, Cloudflare's docs and OpenAPI schema
 * disagree.
 */
export type BooleanForm = "string" | "boolean";

export interface BooleanMember {
  /**
   * Identifies the field and its object, such as `enabled of zone 0d…`. The same field of another object may need the
   * other form.
   */
  readonly key: string;
  /** The field's JSON pointer in the request body, or only the pointer's prefix if the field has several spellings. */
  readonly pointer: string;
  /** Whether a 400 error without a pointer, or with a pointer to the field's parent, may also be about this field. */
  readonly doubtful: boolean;
}

/**
 * The form in which to send a field, as far as this operation knows. A form that Cloudflare accepted takes precedence
 * over a form seen in a response.
 */
interface Known {
  form: BooleanForm;
  accepted: boolean;
}

/** Records the form that a response uses for the field. */
export function noteShownForm(ctx: Context, key: string, form: BooleanForm): void {
  const known = knownOf(ctx, key);
  if (!known.accepted) known.form = form;
}

/**
 * Sends a field in the form that Cloudflare accepted or returned before; by default, as a string. Tries the other form
 * once after a 400 error that is or may be about the field.
 *
 * @throws the more informative error if both forms are rejected.
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
  return ctx.once(`form of ${key}`, (): Known => ({ form: "string", accepted: false }));
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

/** Merges both errors, without the parts about the field's form, which don't help the user. */
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
