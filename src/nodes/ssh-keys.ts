import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import { writeFileAtomically } from '../core/files.ts';
import { type Origin, originOfWork, ownOrigin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { type HostKeys, newKeyPair, publicKeyOf } from '../protocols/ssh/host-keys.ts';

export interface SshKeys {
  readonly privateKeyFile: string;
  readonly privateKey: string;
  /** The line for authorized_keys on the nodes. */
  readonly publicKey: string;
}

/** The key pair muster logs in to nodes with, below the data directory; made when there is none. */
export async function openSshKeys(data: string): Promise<SshKeys> {
  const directory = join(data, 'ssh');
  const privateKeyFile = join(directory, 'id_ed25519');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (!existsSync(privateKeyFile)) writeFileAtomically(privateKeyFile, newKeyPair('muster').privateKey, 0o600);
  const privateKey = readFileSync(privateKeyFile, 'utf8');
  const publicKey = await publicKeyOf(privateKey);
  if (publicKey === undefined) {
    throw new Fault(
      'unavailable',
      `${privateKeyFile} is not a private key without a passphrase. Put the right one back from a backup, or remove the file: ` +
        'the next start then makes a new one, whose public part must be handed out to the nodes.',
    );
  }
  writePublicKey(`${privateKeyFile}.pub`, `${publicKey}\n`);
  return { privateKeyFile, privateKey, publicKey };
}

/** Beside the private key, as everybody expects it. */
function writePublicKey(file: string, text: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileAtomically(file, text, 0o644);
}

const table = 'sshhostkey';
/** What a node runs until its next boot from the network has a key of its own, which is kept with that boot. */
const bootTable = 'boottoken';

/** What people write into the row may have a comment at its end. */
export const knownHostKey = (snapshot: Snapshot, node: string): string | undefined =>
  snapshot.get(table, node)?.['hostkey']?.trim().split(/\s+/, 2).join(' ');

/** The host keys of nodes, kept per node in table `sshhostkey`; deleting the row accepts a new one. */
export class SshHostKeys implements HostKeys {
  readonly #store: Store;
  readonly policy: HostKeys['policy'];

  constructor(store: Store, policy: HostKeys['policy']) {
    this.#store = store;
    this.policy = policy;
  }

  known(node: string): readonly string[] {
    const { current } = this.#store;
    return [knownHostKey(current, node), current.get(bootTable, node)?.['hostkey']].filter((key) => key !== undefined);
  }

  howToForget(node: string): string {
    const next = this.policy === 'strict' ? this.howToLearn(node) : 'The next connection then accepts the new one.';
    return `DELETE /tables/${table}/rows/node=${node}. ${next}`;
  }

  howToLearn(node: string): string {
    return `PUT /tables/${table}/rows/node=${node} with {"hostkey":"ssh-ed25519 AAAA..."}.`;
  }

  async learn(node: string, hostkey: string, origin: Origin = originOfWork('trust-host-key')): Promise<void> {
    await this.#store.change(origin, (head) => {
      const draft = new Draft(head);
      if (!head.get(table, node)?.['hostkey']) draft.merge(table, node, { node, hostkey });
      return draft.changes();
    });
  }

  /**
   * Keeps what a node reports of itself in a boot that muster has ordered, the best key first. A system that is new has new keys;
   * `isPassing`: it is there for this boot only, and the node's own comes back. Where only keys are accepted that people have put here,
   * it is not believed. Once a boot: to report the same again changes nothing, and others are refused (false).
   */
  async report(node: string, keys: readonly string[], isPassing: boolean): Promise<boolean> {
    const [hostkey] = keys;
    if (hostkey === undefined || this.policy === 'strict') return true;
    const reported = hash('sha256', keys.join('\n'));
    let isBelieved = true;
    await this.#store.change(ownOrigin('boot-report'), (head) => {
      const draft = new Draft(head);
      if (!head.get('nodelist', node)) return draft.changes();
      const before = head.get(bootTable, node)?.['told'];
      isBelieved = before === undefined || before === reported;
      if (before !== undefined) return draft.changes();
      draft.merge(bootTable, node, { node, told: reported });
      if (isPassing) draft.merge(bootTable, node, { node, hostkey });
      else if (!keys.includes(knownHostKey(head, node) ?? '')) draft.merge(table, node, { node, hostkey });
      return draft.changes();
    });
    return isBelieved;
  }
}
