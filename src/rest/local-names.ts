import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';

/** Every name and address by which this machine may be called, found without asking the network. */
export function localNames(): string[] {
  const name = hostname().toLowerCase();
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  const names = ['localhost', name, ...namesInHostsFile(readHostsFile(), name)].filter(isDnsName);
  return [...new Set([...names, '127.0.0.1', '::1', ...addresses])];
}

/** The other names on the lines of a hosts file that name this machine, its full name among them. */
export function namesInHostsFile(text: string, name: string): string[] {
  return text.split('\n').flatMap((line) => {
    const names = line.replace(/#.*/, '').toLowerCase().trim().split(/\s+/).slice(1);
    return names.some((each) => each === name || each.startsWith(`${name}.`)) ? names : [];
  });
}

const isDnsName = (name: string) => /^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9])?$/.test(name);

function readHostsFile(): string {
  try {
    return readFileSync('/etc/hosts', 'utf8');
  } catch {
    return '';
  }
}
