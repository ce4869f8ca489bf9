import { chmodSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type LabChild, startChild } from '../child.ts';
import type { Namespace } from '../netns.ts';

/** What it calls itself; its ports are called like their interfaces. */
export const switchName = hostname();

/** Tells whoever is behind these interfaces of a namespace by LLDP that they are ports of a switch. */
export function startSwitch(namespace: Namespace, interfaces: readonly string[], directory: string): LabChild {
  // lldpd goes there for safety and makes it only when it is installed.
  mkdirSync('/run/lldpd', { recursive: true });
  // It has a user of its own.
  chmodSync(directory, 0o755);
  const args = ['-d', '-I', interfaces.join(','), '-u', join(directory, 'lldpd.socket')];
  const [program, ...words] = namespace.command('lldpd', ...args);
  return startChild(program, words, { directory, logFile: join(directory, 'lldpd.log') });
}
