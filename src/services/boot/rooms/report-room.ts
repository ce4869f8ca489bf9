import { Fault } from '../../../core/errors.ts';
import { ownOrigin } from '../../../database/changeset.ts';
import { Draft } from '../../../database/draft.ts';
import type { Store } from '../../../database/store.ts';
import type { SshHostKeys } from '../../ssh-host-keys.ts';
import type { BootReports } from '../reports.ts';
import { isRamdiskState, isTaskState, stateAfterInstallation } from '../states.ts';
import type { BootTokens } from '../tokens.ts';
import { reportLines } from './report-lines.ts';
import type { BootRoom } from './room.ts';
import { toldHostKeys } from './told-host-keys.ts';

export interface ReportServices {
  readonly store: Store;
  readonly tokens: BootTokens;
  readonly reports: BootReports;
  readonly hostKeys: Pick<SshHostKeys, 'told'>;
}

/** Takes what nodes tell of their boot: `POST /boot/report/NODE/TOKEN`. */
export const reportRoom = ({ store, tokens, reports, hostKeys }: ReportServices): BootRoom => ({
  async take([first, second, node, token, ...more], body, asker) {
    if (first !== 'boot' || second !== 'report' || node === undefined || token === undefined || more.length > 0)
      return undefined;
    if (!tokens.check(node, token, asker.address))
      throw new Fault('denied', `This is not the token of the node that has the address ${asker.address}.`);
    const { keys, rest } = toldHostKeys(body);
    // Before anything else: who hears that the node is up can log in to it.
    if (keys.length > 0) await hostKeys.told(node, keys, runsInRamdisk(tokens.stateOf(node)));
    if (rest.trim() === '' && body.trim() !== '') return { text: '' };
    const notes = reportLines(rest, new Date());
    if (notes.some(({ step }) => step === 'installed' || step === 'written')) await bootFromDisk(store, node);
    for (const note of notes) reports.note(node, note);
    if (notes.some(({ step }) => step === 'booted')) await tokens.end(node);
    return { text: '' };
  },
});

const runsInRamdisk = (state: string): boolean => isRamdiskState(state) || isTaskState(state);

/** The node must not be installed again when it asks the next time; its token is still needed. */
async function bootFromDisk(store: Store, node: string): Promise<void> {
  await store.change(ownOrigin('boot-report'), (head) => {
    const draft = new Draft(head);
    stateAfterInstallation(draft, node);
    return draft.changes();
  });
}
