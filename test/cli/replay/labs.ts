import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestServer } from '../../harness/server.ts';
import type { Argv } from './cases.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';

/** Whether the command may change what the lab's record of changes does not have: the event log, settings of the network. */
const changesUnseen = ([command, ...words]: Argv): boolean =>
  (command === 'reventlog' && words.includes('clear')) ||
  (command === 'rspconfig' && words.some((word) => word.includes('=')));

/** The BMCs of n1 to n3. They are restarted for the next case where one has changed something. */
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

/** sshd on n1 and n2, which let the server in by its key. */
export class Sshds {
  #nodes: ChildProcess | undefined;

  async ready(server: TestServer): Promise<void> {
    for (const file of ['/tmp/hello.sh', '/tmp/hello.sh._n1', '/tmp/synced.sh']) rmSync(file, { force: true });
    if (this.#nodes) return;
    this.#nodes = fork(join(import.meta.dirname, 'nodes.ts'), {
      execPath: 'ip',
      execArgv: ['netns', 'exec', 'nodes', process.execPath],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(this.#nodes, 'message');
    const keys: string[] = await server.ok('GET', '/services/sshkey');
    this.#nodes.send(keys);
    await once(this.#nodes, 'message');
  }

  async stop(): Promise<void> {
    if (!this.#nodes) return;
    const ended = once(this.#nodes, 'exit');
    this.#nodes.disconnect();
    await ended;
  }
}
