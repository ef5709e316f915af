export {
  checkAccount,
  checkFunction,
  RUN_TIME_LIMITS,
  type AccountToCheck,
  type FunctionPlan,
  type FunctionToCheck,
  type Route,
  type RunTimeLimit,
  type UsageModel,
} from "./check-function";
export { checkRequest, type RequestToCheck } from "./check-request";
export { CheckError, type LimitFinding } from "./finding";
