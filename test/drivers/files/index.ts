import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../src/core/errors.ts';
import type { Driver } from '../../../src/drivers/driver.ts';

interface FileAccess {
  readonly directory: string;
  readonly file: string;
}

/** Nodes that are files in a directory, as virtual machines are on a hypervisor: a node whose file exists is on. */
export function filesDriver(): Driver<FileAccess> & { readonly most: number } {
  let busy = 0;
  let most = 0;
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    most = Math.max(most, ++busy);
    return work.finally(() => busy--);
  };
  return {
    get most() {
      return most;
    },
    name: 'files',
    offers: ['power'],
    attributes: ['vmhost', 'vmstorage'],
    target({ name, attributes: { vmhost, vmstorage } }) {
      if (vmstorage === undefined) throw new Fault('invalid', 'its attribute vmstorage, its directory, is not set.');
      return {
        device: `files ${vmhost}`,
        address: String(vmhost),
        width: 4,
        access: { directory: vmstorage, file: name },
      };
    },
    connect({ directory, file }) {
      const path = join(directory, file);
      const state = (): string => (existsSync(path) ? 'on' : 'off');
      return {
        power: {
          state: async () => state(),
          async set(action) {
            await counted(action === 'on' ? writeFile(path, '') : rm(path, { force: true }));
            return state();
          },
        },
      };
    },
    close: async () => {},
  };
}
