// Languages: English is the source and always loaded; the others are fetched when they are chosen.
import i18next, { type Resource } from "i18next";
import { initReactI18next } from "react-i18next";

/** `pseudo` shows at a glance which text goes through no catalogue; it counts plurals like English. */
export const LANGUAGES = ["en", "pt-pt", "zh-cn", "pseudo"] as const;
export type Language = (typeof LANGUAGES)[number];

const KEY = "freehold.language";
const english = import.meta.glob<Record<string, string>>("./locales/en/*.json", {
  eager: true,
  import: "default",
});
const others = import.meta.glob<Record<string, string>>(["./locales/*/*.json", "!./locales/en/*.json"], {
  import: "default",
});

/** The language tag that a catalogue stands for. */
function tag(language: Language): string {
  return language === "pseudo" ? "en-pseudo" : language;
}

export function currentLanguage(): Language {
  const current = i18next.language;
  return LANGUAGES.find((language) => tag(language) === current) ?? "en";
}

export async function startI18n(): Promise<void> {
  const words = Object.entries(english).map(([path, own]) => [area(path), own]);
  const resources: Resource = { en: Object.fromEntries(words) };
  await i18next.use(initReactI18next).init({
    resources,
    lng: "en",
    fallbackLng: "en",
    load: "currentOnly",
    lowerCaseLng: true,
    ns: Object.keys(english).map(area),
    defaultNS: "common",
    interpolation: { escapeValue: false },
    returnNull: false,
    initAsync: false,
  });
  const wanted = preferred();
  if (wanted !== "en") await showLanguage(wanted);
}

/** Fetches the catalogue of a language and shows the page in it. */
export async function showLanguage(language: Language): Promise<void> {
  const own = Object.entries(others).filter(([path]) => path.includes(`/${language}/`));
  await Promise.all(
    own.map(async ([path, load]) =>
      i18next.addResourceBundle(tag(language), area(path), await load(), true, true),
    ),
  );
  await i18next.changeLanguage(tag(language));
  document.documentElement.lang = language === "pseudo" ? "en" : tag(language);
}

export async function chooseLanguage(language: Language): Promise<void> {
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // Storage is blocked: the choice holds until the page is closed.
  }
  await showLanguage(language);
}

function preferred(): Language {
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(KEY);
  } catch {
    stored = null;
  }
  const wanted = [stored, ...navigator.languages].filter((name) => name !== null);
  for (const name of wanted) {
    const match = LANGUAGES.find((language) => name.toLowerCase() === language);
    if (match) return match;
    const primary = name.toLowerCase().split("-")[0];
    if (primary === "en") return "en";
    if (primary === "pt") return "pt-pt";
    if (primary === "zh") return "zh-cn";
  }
  return "en";
}

function area(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, -".json".length);
}
