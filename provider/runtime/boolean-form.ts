import { ApiError } from "../api/errors";
import type { Context } from "./lifecycle";

/** How a yes or no is written in a request: `"true"` or `true`. Cloudflare's documents name both for some members. */
export type BooleanForm = "string" | "boolean";

export interface BooleanMember {
  /** Whose member it is, such as `enabled of zone 0d…`: what is learned of one is not held of another. */
  readonly key: string;
  /** JSON pointer into the request body, or the beginning of one that has several spellings. */
  readonly pointer: string;
  /** Whether it is also to be doubted by a 400 that points at nothing, or at what holds it. */
  readonly doubtful: boolean;
}

/** What this operation knows of a member. A form that was accepted outweighs one that was only shown. */
interface Known {
  form: BooleanForm;
  accepted: boolean;
}

/** Remembers the form that an answer shows. */
export function noteShownForm(ctx: Context, key: string, form: BooleanForm): void {
  const known = knownOf(ctx, key);
  if (!known.accepted) known.form = form;
}

/**
 * Sends a member in the form that was accepted or shown before, else as text; and once in the other form after a 400
 * that points at it, or may mean it.
 *
 * @throws what says more about the content, where both forms are refused.
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

/** What either refusal says of the content, each thing once; a complaint about the form alone tells the user nothing. */
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
