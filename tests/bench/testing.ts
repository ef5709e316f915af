import { runtime } from "@pulumi/pulumi";
import { KvNamespace, PageShieldPolicy } from "pulumi-edgeguard";
import { runProgram, startLocalApi } from "pulumi-edgeguard/testing";
import { median, type Row } from "./table";

const BOUND_MS = 250;
const ACCOUNT_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

function declare(): void {
  new PageShieldPolicy("shop", {
    zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a505",
    description: "shop",
    action: "log",
    expression: "true",
    value: { scriptSrc: ["'self'"] },
  });
  new KvNamespace("flags", { accountId: ACCOUNT_ID, title: "flags" });
}

/** What a unit test of a program takes, once the packages are loaded. */
export async function testing(): Promise<Row[]> {
  const checked = (): Promise<unknown> => runProgram(declare);
  const mocked = async (): Promise<void> => {
    await runtime.setMocks({
      newResource: ({ name, inputs }) => ({ id: name, state: inputs as Record<string, unknown> }),
      call: ({ inputs }) => inputs as Record<string, unknown>,
    });
    declare();
    await runtime.disconnect();
  };
  const local = async (): Promise<void> => {
    const api = await startLocalApi();
    await runProgram(declare, { api });
    await api.close();
  };
  await mocked();
  await local();
  return [
    {
      what: "a unit test with the checks",
      ours: await median(20, checked),
      unit: "ms",
      against: "mocks alone",
      theirs: await median(20, mocked),
      atMost: 4,
    },
    {
      what: "a unit test with a local API",
      ours: await median(10, local),
      unit: "ms",
      against: "the bound",
      theirs: BOUND_MS,
      atMost: 1,
    },
  ];
}
