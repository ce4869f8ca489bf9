import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestServer } from '../../harness/server.ts';
import type { Argv } from './cases.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';

/** Whether the command may change what no reset brings back: the event log, settings of the network. */
const changesForGood = ([command, ...words]: Argv): boolean =>
  (command === 'reventlog' && words.includes('clear')) ||
  (command === 'rspconfig' && words.some((word) => word.includes('=')));

/** The BMCs of n1 to n3, which are as at the start for each case. A new process would not know the sessions that the server keeps. */
export class Bmcs {
  #lab: BmcLab | undefined;
  #isSpent = false;

  /** `argv`: commands that are about to be run. */
  async ready(argv: readonly Argv[]): Promise<void> {
    if (this.#lab && !this.#isSpent) {
      if (hasChanged(this.#lab)) await this.#lab.reset();
    } else {
      await this.#lab?.stop();
      this.#lab = await startBmcs({ count: 3, prefix: '127.26' });
    }
    this.#isSpent = argv.some(changesForGood);
  }

  async stop(): Promise<void> {
    await this.#lab?.stop();
  }
}

const hasChanged = (lab: BmcLab): boolean =>
  lab.addresses.some((_address, index) => lab.state(index).changes.length > 0);

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
