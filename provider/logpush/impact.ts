/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = { existingJob: "existingJob", existingTransformer: "existingTransformer" } as const;
