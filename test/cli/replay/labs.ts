import { rmSync } from 'node:fs';
import type { TestServer } from '../../harness/server.ts';
import type { Argv } from './cases.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';

/** Whether the command may change what the lab's record of changes does not have: the event log, settings of the network. */
const changesUnseen = ([command, ...words]: Argv): boolean =>
  (command === 'reventlog' && words.includes('clear')) ||
  (command === 'rspconfig' && words.some((word) => word.includes('=')));

/** The BMCs of n1 to n3. They are started anew for the next case where one has changed something. */
export class Bmcs {
  #lab: BmcLab | undefined;
  #touched = false;

  /** `argv`: commands that are about to be run. */
  async ready(argv: readonly Argv[]): Promise<void> {
    const fresh = this.#lab && !this.#touched && this.#isUntouched(this.#lab);
    if (!fresh) {
      await this.#lab?.stop();
      this.#lab = await startBmcs({ count: 3, prefix: '127.26' });
    }
    this.#touched = argv.some(changesUnseen);
  }

  #isUntouched(lab: BmcLab): boolean {
    return [0, 1, 2].every((index) => lab.state(index).changes.length === 0);
  }

  async stop(): Promise<void> {
    await this.#lab?.stop();
  }
}

const sshAddresses = ['10.0.0.11', '10.0.0.12'];

/** sshd on n1 and n2, which let the server in by its key. */
export class Sshds {
  #lab: SshLab | undefined;

  async ready(server: TestServer): Promise<void> {
    if (this.#lab) {
      for (const file of ['/tmp/hello.sh', '/tmp/synced.sh']) rmSync(file, { force: true });
      return;
    }
    const count = 12;
    const refusing = Array.from({ length: count - sshAddresses.length }, (_, index) => index);
    this.#lab = await startSsh({ count, prefix: '10.0', port: 22, perProcess: 1, refusing });
    const keys: string[] = await server.ok('GET', '/services/sshkey');
    for (const key of keys) this.#lab.authorize(key);
  }

  async stop(): Promise<void> {
    await this.#lab?.stop();
  }
}
