// What all kinds of packages have in common.

export interface BuildOptions {
  readonly version: string;
  readonly directory: string;
  /** Builds in seconds instead of a minute, and makes larger files. */
  readonly fast: boolean;
}

export const filled = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/@([A-Z_]+)@/g, (whole, name: string) => values[name] ?? whole);

/** Where distributions differ. */
export interface Places {
  /** The directory of systemd's units. */
  readonly units: string;
  /** The directory of functions that zsh completes with. */
  readonly zsh: string;
  /** The file of PAM that muster asks by default, below `packaging`. Its rules are those of other services of the system. */
  readonly pam: string;
}

export const debianPlaces: Places = {
  units: '/lib/systemd/system',
  zsh: '/usr/share/zsh/vendor-completions',
  pam: 'debian/pam',
};
export const rpmPlaces: Places = {
  units: '/usr/lib/systemd/system',
  zsh: '/usr/share/zsh/site-functions',
  pam: 'rpm/pam',
};
