// What an error says to people: the words for its code in their language, or else the server's own sentence.
import i18next, { type TFunction } from "i18next";
import { ApiError } from "~/api/client";

interface ErrorText {
  message: string;
  hint: string;
}

export function errorText(t: TFunction, error: unknown): ErrorText {
  if (!(error instanceof ApiError)) {
    return { message: t("errors:code.internal"), hint: error instanceof Error ? error.message : "" };
  }
  const { code, message, hint = "", subject = "" } = error.body;
  const key = `code.${code}`;
  if (!i18next.exists(key, { ns: "errors" })) return { message, hint };
  const own = i18next.language === "en" && message !== "" && error.status > 0;
  // The English sentence of the server names what was concerned; a translation cannot always.
  return own ? { message, hint } : { message: t(`errors:code.${code}`, { subject }), hint: "" };
}

/** The same in one line, for a notice. */
export function errorLine(t: TFunction, error: unknown): string {
  const { message, hint } = errorText(t, error);
  return hint ? `${message} ${hint}` : message;
}
