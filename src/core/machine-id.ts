import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * What tells this machine from others of the same name; undefined where there is nothing, as in some containers. It is a hash: the id
 * itself is not for others to read (machine-id(5)).
 */
export function machineId(): string | undefined {
  try {
    const id = readFileSync('/etc/machine-id', 'utf8').trim();
    return id === '' ? undefined : hash('sha256', `muster ${id}`, 'hex').slice(0, 32);
  } catch {
    return undefined;
  }
}
