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
   * @throws if both forms are rejected: the second error, unless it's only about the form again.
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
        throw isRefusal(second) && pointsAt(second, this) ? error : second;
      }
    }
  }
}

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400;
}

function pointsAt({ errors }: ApiError, member: BooleanMember): boolean {
  return errors.some(({ pointer }) => pointer?.startsWith(member.pointer) === true);
}

function mayMean(error: ApiError, member: BooleanMember): boolean {
  if (pointsAt(error, member)) return true;
  const pointers = error.errors.flatMap(({ pointer }) => pointer ?? []);
  const holds = (pointer: string): boolean =>
    `${member.pointer}/`.startsWith(`${pointer.replace(/\/$/, "")}/`);
  return member.doubtful && (pointers.length === 0 || pointers.some(holds));
}
