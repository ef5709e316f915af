import { ApiError } from "../api/errors";
import type { Context } from "./lifecycle";

/**
 * How a boolean is written in a request: as `"true"` or `true`. For some fields, Cloudflare's docs and OpenAPI schema
 * disagree.
 */
export type BooleanForm = "string" | "boolean";

/**
 * The form in which to send a field, as far as this operation knows. A form that Cloudflare accepted takes precedence
 * over a form seen in a response.
 */
interface Known {
  form: BooleanForm;
  accepted: boolean;
}

/** A boolean field of a request, which is sent in the form that Cloudflare accepts. */
export class BooleanMember {
  readonly #known: Known;

  constructor(
    { once }: Pick<Context, "once">,
    /**
     * Identifies the field and its object, such as `enabled of zone 0d…`. The same field of another object may need the
     * other form.
     */
    key: string,
    /** The field's JSON pointer in the request body, or only the pointer's prefix if the field has several spellings. */
    readonly pointer: string,
    /** Whether a 400 error without a pointer, or with a pointer to the field's parent, may also be about this field. */
    readonly doubtful: boolean,
  ) {
    this.#known = once(`form of ${key}`, (): Known => ({ form: "string", accepted: false }));
  }

  /** Records the form that a response uses for the field. */
  noteShown(form: BooleanForm): void {
    if (!this.#known.accepted) this.#known.form = form;
  }

  /**
   * Sends the field in the form that Cloudflare accepted or returned before; by default, as a string. Tries the other
   * form once after a 400 error that is or may be about the field.
   *
   * @throws the more informative error if both forms are rejected.
   */
  async send<T>(request: (form: BooleanForm) => Promise<T>): Promise<T> {
    const sendIn = async (form: BooleanForm): Promise<T> => {
      const result = await request(form);
      Object.assign(this.#known, { form, accepted: true });
      return result;
    };
    const { form } = this.#known;
    try {
      return await sendIn(form);
    } catch (error) {
      if (!isRefusal(error) || !mayMean(error, this)) throw error;
      try {
        return await sendIn(form === "string" ? "boolean" : "string");
      } catch (second) {
        throw isRefusal(second) ? moreTelling(error, second, this) : second;
      }
    }
  }
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
