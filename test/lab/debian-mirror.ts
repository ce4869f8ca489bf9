import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The mirror that this machine itself installs from. */
export function debianMirror(): string {
  const files = [
    '/etc/apt/sources.list',
    ...readdirSync('/etc/apt/sources.list.d').map((name) => `/etc/apt/sources.list.d/${name}`),
  ];
  const text = files
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) *(https?:\S+\/debian)\/?(?: |$)/m.exec(text)?.[1];
  if (found === undefined) throw new Error('No Debian mirror is named below /etc/apt.');
  return found;
}
