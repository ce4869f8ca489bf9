/** What a tree says about itself in os-release. */
export interface OsRelease {
  readonly id: string;
  readonly version: string;
}

const longest = 64 * 1024;

export function parseOsRelease(text: string): OsRelease {
  const values = new Map<string, string>();
  for (const line of text.slice(0, longest).split('\n')) {
    const found = /^([A-Z_]+)=(?:"([^"]*)"|'([^']*)'|(\S*))\s*$/.exec(line);
    if (found) values.set(found[1]!, found[2] ?? found[3] ?? found[4] ?? '');
  }
  return { id: (values.get('ID') ?? '').toLowerCase(), version: values.get('VERSION_ID') ?? '' };
}

/** As the reference system calls them. */
const names: Readonly<Record<string, string>> = {
  rhel: 'rhels',
  almalinux: 'alma',
  'opensuse-leap': 'leap',
};

/** `debian12`, `rocky9.4`; undefined if the tree does not say what it is. */
export function osversOf({ id, version }: OsRelease): string | undefined {
  const name = Object.hasOwn(names, id) ? names[id]! : id;
  // Only streams have no minor version.
  const known = id === 'centos' && /^[89]$|^[1-9]\d$/.test(version) ? 'centos-stream' : name;
  const osvers = `${known}${version}`;
  return id !== '' && /^[a-z][A-Za-z0-9._+-]*$/.test(osvers) ? osvers : undefined;
}
