import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import { Button } from "~/ui/button";
import { ErrorNotice } from "~/ui/feedback";
import { Field, Input, Textarea } from "~/ui/field";
import { argumentsIn, environmentIn } from "./agent-input";

const EMPTY = { name: "", command: "", args: "", env: "" };

/** Adds a program that speaks ACP. Arguments and variables are one per line, so that none needs quoting. */
export function AddAgentForm() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [form, setForm] = useState(EMPTY);
  const add = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/agents", {
          body: {
            name: form.name.trim(),
            command: form.command.trim(),
            args: argumentsIn(form.args),
            env: environmentIn(form.env),
          },
        }),
      ),
    onSuccess: () => {
      setForm(EMPTY);
      setOpen(false);
      return client.invalidateQueries({ queryKey: keys.agents });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  if (!open) {
    return (
      <Button className="self-start" onClick={() => setOpen(true)}>
        {t("settings:agent.open")}
      </Button>
    );
  }
  const change = (part: Partial<typeof EMPTY>) => setForm((old) => ({ ...old, ...part }));
  return (
    <form onSubmit={submit} className="flex flex-col gap-3 rounded-md border border-line p-3">
      <div className="grid gap-3 md:grid-cols-2">
        <Field label={t("settings:agent.name")}>
          {(control) => (
            <Input
              {...control}
              required
              autoFocus
              value={form.name}
              onChange={(event) => change({ name: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("settings:agent.command")} hint={t("settings:agent.commandHint")}>
          {(control) => (
            <Input
              {...control}
              required
              className="font-mono"
              spellCheck={false}
              autoCapitalize="none"
              value={form.command}
              onChange={(event) => change({ command: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("settings:agent.args")} hint={t("settings:agent.argsHint")}>
          {(control) => (
            <Textarea
              {...control}
              rows={3}
              className="font-mono"
              spellCheck={false}
              value={form.args}
              onChange={(event) => change({ args: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("settings:agent.env")} hint={t("settings:agent.envHint")}>
          {(control) => (
            <Textarea
              {...control}
              rows={3}
              className="font-mono"
              spellCheck={false}
              value={form.env}
              onChange={(event) => change({ env: event.target.value })}
            />
          )}
        </Field>
      </div>
      {add.error && <ErrorNotice error={add.error} />}
      <div className="flex justify-end gap-2">
        <Button variant="ghost" onClick={() => setOpen(false)}>
          {t("common:cancel")}
        </Button>
        <Button type="submit" variant="primary" disabled={add.isPending}>
          {t("settings:agent.add")}
        </Button>
      </div>
    </form>
  );
}
