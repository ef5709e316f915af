import { Crypter } from "../../local/engine/secrets";

describe("the passphrase of a stack", () => {
  it("decrypts secrets that the Pulumi CLI encrypted", async () => {
    const salt = "v1:zODf3MaaWeg=:v1:aqisiN8TjMQlndGO:V6/F2Op3276nfr44Z+8HetvUNZl4mA==";
    const crypter = await Crypter.open("test", salt);
    expect(crypter.salt).toBe(salt);
    expect(crypter.decrypt(salt.split(":").slice(2).join(":"))).toBe("pulumi");
    await expect(Crypter.open("guess", salt)).rejects.toThrow("incorrect passphrase");
  });

  it("encrypts and decrypts secrets, with a new salt each time", async () => {
    const [first, second] = await Promise.all([Crypter.create("secret"), Crypter.create("secret")]);
    expect(first.salt).not.toBe(second.salt);
    const sealed = first.encrypt("grüße");
    expect(sealed).toMatch(/^v1:[\w+/=]{16}:[\w+/=]+$/);
    expect((await Crypter.open("secret", first.salt)).decrypt(sealed)).toBe("grüße");
    expect(() => second.decrypt(sealed)).toThrow("another passphrase");
  });
});
