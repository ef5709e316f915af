import { PaymentPages } from "../../provider/survey/payment-pages";
import { UsageError } from "../../provider/terminal/errors";

const script = (page: string, url = "https://js.example/a.js") => ({
  url,
  host: new URL(page).hostname,
  firstPageUrl: page,
});
const NOT_READABLE = { notReadable: "right", what: "Page Shield Read" } as const;

describe("--payment-pages", () => {
  it.each([
    ["checkout.*", "https://checkout.shop.example/pay", true],
    ["https://checkout.shop.example", "https://checkout.shop.example/pay", true],
    ["https://checkout.shop.example/*", "https://checkout.shop.example/pay", true],
    ["https://checkout.shop.example/*", "http://checkout.shop.example/pay", true],
    ["*://shop.example/pay*", "https://shop.example/pay?step=2", true],
    ["HTTPS://Shop.Example/PAY", "https://shop.example/pay", true],
    ["shop.example/pay", "https://shop.example/pay/2", false],
    ["https://shop.example/pay*", "https://www.shop.example/pay", false],
    ["shop.example", "https://notshop.example/", false],
  ])("decides whether the pattern %s matches the page %s: %s", (pattern, page, expected) => {
    const seen = script(page);
    expect(new PaymentPages([pattern]).among([seen])(seen)).toBe(expected);
  });

  it.each(["", "https://", "/payment*", "https:///payment"])(
    "rejects the pattern %j, which has no host",
    (pattern) => {
      expect(() => new PaymentPages(["checkout.*", pattern])).toThrow(UsageError);
    },
  );

  it("marks a zone if a pattern contains its host, even if no script was seen on the pattern's path", () => {
    const home = [script("https://shop.example/"), script("https://www.shop.example/")];
    for (const scripts of [home, home.slice(0, 1), [], NOT_READABLE])
      expect(new PaymentPages(["https://shop.example/payment*"]).inZone(scripts, ["shop.example"])).toBe(
        true,
      );
    expect(new PaymentPages(["www.shop.example/payment*"]).inZone(home, ["shop.example"])).toBe(true);
    expect(new PaymentPages(["*/payment*"]).inZone(home, ["shop.example"])).toBe(false);
    expect(home.map(new PaymentPages(["shop.example/payment*"]).among(home))).toEqual([false, false]);
  });

  it("reports payment pages as not readable, instead of none, if the zone's scripts can't be read", () => {
    expect(new PaymentPages(["pay.example/pay*"]).inZone(NOT_READABLE, ["shop.example"])).toBe(NOT_READABLE);
    expect(new PaymentPages([], () => true).inZone(NOT_READABLE, [])).toBe(NOT_READABLE);
    expect(new PaymentPages(["shop.*"]).inZone(NOT_READABLE, ["shop.example"])).toBe(true);
    expect(new PaymentPages([]).inZone(NOT_READABLE, ["shop.example"])).toBe(false);
  });

  it("defaults to the hosts that load a script in the inventory", () => {
    const pages = [
      script("https://checkout.shop.example/pay", "https://pay.example/v1.js"),
      script("https://checkout.shop.example/pay", "https://evil.example/x.js"),
      script("https://www.shop.example/", "https://cdn.example/a.js"),
    ];
    const isListed = (url: string): boolean => url.startsWith("https://pay.example/");
    const byInventory = new PaymentPages([], isListed);
    expect(pages.map(byInventory.among(pages))).toEqual([true, true, false]);
    expect(byInventory.inZone(pages, [])).toBe(true);
    expect(byInventory.inZone(pages.slice(2), [])).toBe(false);
    expect(pages.map(new PaymentPages(["www.*"], isListed).among(pages))).toEqual([false, false, true]);
  });
});
