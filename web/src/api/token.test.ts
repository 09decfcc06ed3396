import { expect, test, vi } from "vitest";
import { tokenIn } from "~/features/workspace/token-screen";
import { adoptToken, currentToken, forgetToken, storeToken } from "./token";

function at(address: string): Location {
  return new URL(address) as unknown as Location;
}

test("the token of the address is kept and taken out of the address", () => {
  const history = { replaceState: vi.fn() } as unknown as History;
  adoptToken(at("http://127.0.0.1:7717/archived?x=1#token=secret"), history);
  expect(currentToken()).toBe("secret");
  expect(history.replaceState).toHaveBeenCalledWith(null, "", "/archived?x=1");
});

test("a later visit uses the token that was kept", () => {
  storeToken("secret");
  adoptToken(at("http://127.0.0.1:7717/"), history);
  expect(currentToken()).toBe("secret");
});

test("a refused token is forgotten", () => {
  storeToken("secret");
  forgetToken();
  adoptToken(at("http://127.0.0.1:7717/"), history);
  expect(currentToken()).toBe("");
});

test("a person may paste the token or the whole address", () => {
  expect(tokenIn(" secret ")).toBe("secret");
  expect(tokenIn("http://127.0.0.1:7717/#token=secret")).toBe("secret");
});
