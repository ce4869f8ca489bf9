import { Store } from './store.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'muster-theme';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

/** What was chosen in this browser. */
export const theme = new Store<Theme>(themes.find((each) => each === localStorage.getItem(key)) ?? 'system');
export const isDark = new Store(false);

function apply(): void {
  const dark = theme.value === 'dark' || (theme.value === 'system' && systemIsDark.matches);
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  isDark.set(dark);
}

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(key, chosen);
  theme.set(chosen);
  apply();
}

systemIsDark.addEventListener('change', apply);
apply();
