import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import { errorText } from "~/i18n/error-text";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";
import { showToast } from "~/ui/toast";

export function AddRepositoryForm() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [path, setPath] = useState("");
  const add = useMutation({
    mutationFn: (where: string) => unwrap(api.POST("/api/v1/repositories", { body: { path: where } })),
    onSuccess: (added) => {
      setPath("");
      const { name } = added.repository;
      showToast(added.already_registered ? t("repository:known", { name }) : t("repository:added", { name }));
      if (added.note) showToast(added.note);
      return client.invalidateQueries({ queryKey: keys.repositories });
    },
  });
  const wrong = add.error ? errorText(t, add.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (path.trim()) add.mutate(path.trim());
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2">
      <Field
        label={t("repository:path.label")}
        hint={t("repository:path.hint")}
        error={wrong ? [wrong.message, wrong.hint].filter(Boolean).join(" ") : undefined}
      >
        {(control) => (
          <div className="flex gap-2 max-md:flex-col">
            <Input
              {...control}
              className="font-mono"
              placeholder="/home/me/project"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={path}
              onChange={(event) => {
                setPath(event.target.value);
                add.reset();
              }}
            />
            <Button type="submit" variant="primary" disabled={path.trim() === "" || add.isPending}>
              {add.isPending ? t("repository:adding") : t("repository:add")}
            </Button>
          </div>
        )}
      </Field>
    </form>
  );
}
