import { adopt, isFree } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import { sameJson } from "../runtime/values";
import { named, scopeOf } from "./job-api";
import type { JobArgs } from "./job-args";
import { isNamedLike, jobFound, type Job } from "./job";

/**
 * Which existing job a create takes over; undefined when it is to make a new one.
 *
 * @throws AdoptionError naming the ids.
 */
export async function chooseExisting(
  ctx: Context,
  args: JobArgs,
  jobs: readonly Job[],
  allFields: readonly string[] | undefined,
): Promise<Job | undefined> {
  const alike = jobs.filter((job) => isNamedLike(args, job) && isFree(ctx, job.id));
  const ids = alike.map(({ id }) => id).join(", ");
  const object = `log-push job ${JSON.stringify(args.name)} of dataset ${args.dataset} in ${named(scopeOf(args))}`;
  return await adopt({
    adopt: args.adopt,
    alike,
    equal: () => alike.filter((job) => differences(args, job, allFields).length === 0),
    refusals: {
      several: () =>
        `There are ${alike.length} jobs that could be taken over, each a ${object}: ${ids}. Delete all but one, or choose another name.`,
      never: () =>
        `There is a ${object} already (${ids}), and adopt: "never" forbids to take it over. Choose another name, or delete it. If the resource was only renamed or moved, add an alias.`,
      different: (job) =>
        `There is a ${object} already (${ids}), which differs in ${differences(args, job, allFields).join(", ")}. ` +
        'If an interrupted `pulumi up` of this resource created it (it has the same name), set adopt: "takeOver" to continue with it. Otherwise choose another name, or delete the job.',
    },
  });
}

/** Arguments in which the job is not as declared, as far as the service shows them. */
function differences(args: JobArgs, job: Job, allFields: readonly string[] | undefined): string[] {
  const found = jobFound(args, job, { allFields, strict: true });
  const keys = new Set([...Object.keys(args), ...Object.keys(found)]) as Set<keyof JobArgs>;
  return [...keys].filter((key) => !sameJson(found[key], args[key]));
}
