import { Fault } from '../../../core/errors.ts';
import { ownOrigin } from '../../../database/changeset.ts';
import { Draft } from '../../../database/draft.ts';
import type { Store } from '../../../database/store.ts';
import type { BootReports } from '../reports.ts';
import { stateAfterInstallation } from '../states.ts';
import type { BootTokens } from '../tokens.ts';
import { reportLines } from './report-lines.ts';
import type { BootRoom } from './room.ts';

/** Takes what nodes tell of their boot: `POST /boot/report/NODE/TOKEN`. */
export const reportRoom = (store: Store, tokens: BootTokens, reports: BootReports): BootRoom => ({
  async take([first, second, node, token, ...more], body, asker) {
    if (first !== 'boot' || second !== 'report' || node === undefined || token === undefined || more.length > 0)
      return undefined;
    if (!tokens.check(node, token, asker.address))
      throw new Fault('denied', `This is not the token of the node that has the address ${asker.address}.`);
    const notes = reportLines(body, new Date());
    if (notes.some(({ step }) => step === 'installed' || step === 'written')) await bootFromDisk(store, node);
    for (const note of notes) reports.note(node, note);
    if (notes.some(({ step }) => step === 'booted')) await tokens.end(node);
    return { text: '' };
  },
});

/** The node must not be installed again when it asks the next time; its token is still needed. */
async function bootFromDisk(store: Store, node: string): Promise<void> {
  await store.change(ownOrigin('boot-report'), (head) => {
    const draft = new Draft(head);
    stateAfterInstallation(draft, node);
    return draft.changes();
  });
}
