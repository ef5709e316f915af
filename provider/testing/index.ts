/** The entry point `pulumi-edgeguard/testing`: unit tests of programs, without the Pulumi CLI or an account. */

export { checkedMocks, type ApiAddress, type CheckedMocksOptions, type RegisteredResource } from "./mocks";
export { RefusedProgramError, runProgram, type ProgramRun, type RunProgramOptions } from "./program";
export { startLocalApi, type ReceivedRequest, type TestApi } from "./local-api";
