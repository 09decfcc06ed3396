import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { agentsQuery, repositoriesQuery, serverQuery } from "~/api/queries";
import { AddAgentForm } from "~/features/agent/add-agent-form";
import { AddRepositoryForm } from "~/features/repository/add-repository-form";
import { chooseLanguage, currentLanguage, LANGUAGES, type Language } from "~/i18n";
import { ErrorNotice, Loading } from "~/ui/feedback";
import { Field, Select } from "~/ui/field";
import { Screen } from "~/ui/screen";
import { Segmented } from "~/ui/segmented";
import { chooseTheme, useThemeChoice } from "~/ui/theme";
import { WorkspacesSection } from "./workspaces-section";

export function SettingsScreen() {
  const { t } = useTranslation();
  return (
    <Screen title={t("settings:title")}>
      <Appearance />
      <WorkspacesSection />
      <Repositories />
      <Agents />
      <About />
    </Screen>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4">
      <h2 className="font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function Appearance() {
  const { t } = useTranslation();
  const theme = useThemeChoice();
  const [language, setLanguage] = useState<Language>(currentLanguage());
  const change = (next: Language) => {
    setLanguage(next);
    void chooseLanguage(next);
  };
  return (
    <Section title={t("settings:appearance")}>
      <div className="flex flex-wrap items-end gap-5">
        <div className="flex flex-col gap-1">
          <span className="font-medium">{t("settings:theme.label")}</span>
          <Segmented
            label={t("settings:theme.label")}
            value={theme}
            onChange={chooseTheme}
            options={[
              { value: "system", label: t("settings:theme.system") },
              { value: "light", label: t("settings:theme.light") },
              { value: "dark", label: t("settings:theme.dark") },
            ]}
          />
        </div>
        <div className="w-48">
          <Field label={t("settings:language.label")}>
            {(control) => (
              <Select
                {...control}
                value={language}
                onChange={(event) => change(event.target.value as Language)}
              >
                {LANGUAGES.map((one) => (
                  <option key={one} value={one}>
                    {t(`settings:language.${one}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        </div>
      </div>
    </Section>
  );
}

function Repositories() {
  const { t } = useTranslation();
  const repositories = useQuery(repositoriesQuery);
  return (
    <Section title={t("settings:repositories")}>
      {repositories.error && (
        <ErrorNotice error={repositories.error} onRetry={() => void repositories.refetch()} />
      )}
      {repositories.isPending && <Loading />}
      <Rows>
        {repositories.data?.map((repository) => (
          <Row
            key={repository.id}
            name={repository.name}
            note={t("settings:defaultBranch", { branch: repository.default_branch })}
            code={repository.local_path}
          />
        ))}
      </Rows>
      <AddRepositoryForm />
    </Section>
  );
}

function Agents() {
  const { t } = useTranslation();
  const agents = useQuery(agentsQuery);
  return (
    <Section title={t("settings:agents")}>
      {agents.error && <ErrorNotice error={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.isPending && <Loading />}
      <Rows>
        {agents.data?.map((agent) => (
          <Row
            key={agent.id}
            name={agent.name}
            note={agent.kind === "demo" ? t("settings:builtIn") : agent.env_names.join(", ")}
            code={[agent.command, ...agent.args].join(" ").trim()}
          />
        ))}
      </Rows>
      <AddAgentForm />
    </Section>
  );
}

function Rows({ children }: { children: ReactNode }) {
  return (
    <ul className="flex flex-col divide-y divide-line rounded-md border border-line empty:hidden">
      {children}
    </ul>
  );
}

function Row({ name, note, code }: { name: string; note: string; code: string }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 px-3 py-2">
      <span className="font-medium">{name}</span>
      <span className="text-muted">{note}</span>
      <code className="min-w-0 basis-full font-mono text-[0.92em] text-muted [overflow-wrap:anywhere] empty:hidden">
        {code}
      </code>
    </li>
  );
}

function About() {
  const { t } = useTranslation();
  const server = useQuery(serverQuery);
  if (server.error) return <ErrorNotice error={server.error} onRetry={() => void server.refetch()} />;
  if (!server.data) return <Loading />;
  const facts = [
    [t("settings:about.version"), server.data.version],
    [t("settings:about.database"), server.data.database],
    [t("settings:about.git"), server.data.git_version],
    [t("settings:about.home"), server.data.home],
    [t("settings:about.workspaces"), server.data.workspaces_root],
  ];
  return (
    <Section title={t("settings:about.title")}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="font-mono [overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
