/** Declares a test. If there's a reason to skip it, the test is skipped, and its title ends with the reason. */
export function testUnless(reason: string | undefined): (title: string, ...test: Test) => void {
  return (title, ...test) => {
    if (reason === undefined) it(title, ...test);
    else it.skip(`${title} (skipped: ${reason})`, ...test);
  };
}

type Test = readonly [run: jest.ProvidesCallback, timeout?: number];
