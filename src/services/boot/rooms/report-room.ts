import { Fault } from '../../../core/errors.ts';
import type { Logger } from '../../../core/log.ts';
import { ownOrigin } from '../../../database/changeset.ts';
import { Draft } from '../../../database/draft.ts';
import type { Store } from '../../../database/store.ts';
import type { SshHostKeys } from '../../ssh-host-keys.ts';
import type { BootReports } from '../reports.ts';
import { isRamdiskState, isTaskState, stateAfterInstallation } from '../states.ts';
import { type BootTokens, noteInstalled } from '../tokens.ts';
import { reportLines } from './report-lines.ts';
import type { BootRoom } from './room.ts';
import { toldHostKeys } from './told-host-keys.ts';

export interface ReportServices {
  readonly store: Store;
  readonly tokens: BootTokens;
  readonly reports: BootReports;
  readonly hostKeys: Pick<SshHostKeys, 'told'>;
  readonly log: Logger;
}

/** Takes what nodes tell of their boot: `POST /boot/report/NODE/TOKEN`. */
export const reportRoom = ({ store, tokens, reports, hostKeys, log }: ReportServices): BootRoom => ({
  async take([first, second, node, token, ...more], body, asker) {
    if (first !== 'boot' || second !== 'report' || node === undefined || token === undefined || more.length > 0)
      return undefined;
    if (!tokens.check(node, token, asker.address))
      throw new Fault('denied', `This is not the token of the node that has the address ${asker.address}.`);
    await tokens.used(node, token);
    const { keys, rest } = toldHostKeys(body);
    // Before anything else: who hears that the node is up can log in to it.
    if (keys.length > 0 && !(await hostKeys.told(node, keys, runsInRamdisk(tokens.stateOf(node))))) {
      log.warn(
        `${node}, from ${asker.address}, tells other SSH host keys than before in the same boot; these are not believed: do users of the node pretend to be it?`,
      );
      throw new Fault('denied', 'The node has told its host keys in this boot already, and they were others.');
    }
    if (rest.trim() === '' && body.trim() !== '') return { text: '' };
    const notes = reportLines(rest, new Date());
    if (notes.some(({ step }) => step === 'installed' || step === 'written')) await bootFromDisk(store, node);
    for (const note of notes) reports.note(node, note);
    if (notes.some(({ step }) => step === 'booting')) await tokens.close(node);
    if (notes.some(({ step }) => step === 'booted')) await tokens.end(node);
    return { text: '' };
  },
});

const runsInRamdisk = (state: string): boolean => isRamdiskState(state) || isTaskState(state);

/** The node must not be installed again when it asks the next time; its token is still needed. */
async function bootFromDisk(store: Store, node: string): Promise<void> {
  await store.change(ownOrigin('boot-report'), (head) => {
    const draft = new Draft(head);
    if (noteInstalled(draft, node)) stateAfterInstallation(draft, node);
    return draft.changes();
  });
}
