import { KeyRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { storeToken } from "~/api/token";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";

/** Takes what a person pasted: the token itself, or the whole address that holds it. */
export function tokenIn(text: string): string {
  const trimmed = text.trim();
  return /[#&]token=([^&\s]+)/.exec(trimmed)?.[1] ?? trimmed;
}

/** Asks for the access token when this browser has none or the server refused it. */
export function TokenScreen() {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (tokenIn(text)) storeToken(tokenIn(text));
  };
  return (
    <main className="grid h-full place-items-center overflow-y-auto p-4">
      <form
        onSubmit={submit}
        className="flex w-full max-w-md flex-col gap-4 rounded-lg border border-line bg-surface p-5"
      >
        <div className="flex items-center gap-2.5">
          <KeyRound size={18} className="text-accent" aria-hidden />
          <h1 className="text-[1.15em] font-semibold">{t("workspace:token.title")}</h1>
        </div>
        <p className="text-muted">{t("workspace:token.body")}</p>
        <code className="rounded-md bg-sunken px-3 py-2 font-mono">freehold</code>
        <Field label={t("workspace:token.label")}>
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="off"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <Button type="submit" variant="primary" disabled={tokenIn(text) === ""}>
          {t("workspace:token.submit")}
        </Button>
      </form>
    </main>
  );
}
