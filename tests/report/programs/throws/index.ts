// Ends before anything is declared.
throw new Error("no zone is set\nset it with `pulumi config set zoneId`");
export {};
