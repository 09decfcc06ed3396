import { SendHorizontal, Square } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Session } from "~/api/types";
import { Button } from "~/ui/button";
import { Textarea } from "~/ui/field";
import { usePhone } from "~/ui/media";
import { isBusy, useCancelTurn, useSendPrompt } from "./use-session";

/** What was typed but not sent, by session; a look at another tab does not lose it. */
const drafts = new Map<string, string>();

export function Composer({ session }: { session: Session }) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [text, setText] = useState(() => drafts.get(session.id) ?? "");
  const send = useSendPrompt(session.task_id, session.id);
  const cancel = useCancelTurn(session.task_id, session.id);
  const busy = isBusy(session);

  const hint =
    session.state === "WAITING_FOR_INPUT"
      ? t("session:composer.asks")
      : busy
        ? t("session:composer.busy")
        : t("session:composer.placeholder");

  const change = (next: string) => {
    drafts.set(session.id, next);
    setText(next);
  };
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const prompt = text.trim();
    if (!prompt || busy || send.isPending) return;
    change("");
    send.mutate(prompt, { onError: () => change(prompt) });
  };
  const submitByKey = (event: KeyboardEvent) => {
    // On the phone the return key makes a new line; so it does while an input method composes a word.
    if (event.key !== "Enter" || event.shiftKey || phone || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };

  return (
    <form onSubmit={submit} className="shrink-0 border-t border-line bg-surface p-2 md:p-2.5">
      <div className="mx-auto flex max-w-3xl items-end gap-2">
        <Textarea
          aria-label={t("session:composer.label")}
          placeholder={hint}
          rows={1}
          className="field-sizing-content max-h-48 min-h-9 max-md:min-h-11"
          value={text}
          onChange={(event) => change(event.target.value)}
          onKeyDown={submitByKey}
        />
        {busy ? (
          <Button
            icon={<Square size={13} aria-hidden />}
            className="md:h-9"
            disabled={cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            {t("session:composer.stop")}
          </Button>
        ) : (
          <Button
            type="submit"
            variant="primary"
            className="md:h-9"
            icon={<SendHorizontal size={15} aria-hidden />}
            disabled={text.trim() === "" || send.isPending}
          >
            {t("session:composer.send")}
          </Button>
        )}
      </div>
    </form>
  );
}
