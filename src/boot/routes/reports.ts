import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import { keyText } from '../../protocols/ssh/host-keys.ts';
import type { SshHostKeys } from '../../nodes/index.ts';
import { type BootNote, type BootReports, type ReportStep, reportSteps } from '../reports.ts';
import { isRamdiskState, isTaskState, stateAfterInstallation } from '../states.ts';
import { type BootTokens, noteInstalled } from '../tokens.ts';
import { type BootRoute, ownPath } from './route.ts';

export interface ReportServices {
  readonly store: Store;
  readonly tokens: BootTokens;
  readonly reports: BootReports;
  readonly hostKeys: Pick<SshHostKeys, 'report'>;
  readonly log: Logger;
}

/** Takes what nodes report of their boot: `POST /boot/report/NODE/TOKEN`. */
export const reportRoute = ({ store, tokens, reports, hostKeys, log }: ReportServices): BootRoute => ({
  async take(segments, body, client) {
    const own = ownPath('report', segments, client, tokens, 0);
    if (!own) return undefined;
    const { node, token } = own;
    await tokens.used(node, token);
    const { keys, rest } = hostKeysIn(body);
    // Before anything else: who hears that the node is up can log in to it.
    if (keys.length > 0 && !(await hostKeys.report(node, keys, runsInRamdisk(tokens.stateOf(node))))) {
      log.warn(
        `${node}, from ${client.address}, reports other SSH host keys than before in the same boot; these are not believed: do users of the node pretend to be it?`,
      );
      throw new Fault('denied', 'The node has already reported other host keys in this boot.');
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

const longestLine = 1_000;
const mostLines = 200;

/** Lines `STEP[ text]` that a node sends of its boot. */
function reportLines(body: string, at: Date): BootNote[] {
  const lines = body.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new Fault('malformed', 'The report is empty: send lines "STEP text".');
  if (lines.length > mostLines) throw new Fault('too-large', `A report has at most ${mostLines} lines.`);
  return lines.map((line) => {
    const [step = '', ...words] = line.trim().slice(0, longestLine).split(' ');
    if (!(reportSteps as readonly string[]).includes(step))
      throw new Fault('malformed', `A line begins with one of ${reportSteps.join(', ')}.`);
    const text = words
      .join(' ')
      .replaceAll(/[^ -~]/g, '?')
      .trim();
    return { step: step as ReportStep, text: text === '' ? undefined : text, at, source: 'report' };
  });
}

/** The best first. Others are left out: no connection would use them. */
const keyTypes = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa'];
const isKeyLine = /^hostkey(?: |$)/;
const longestKey = 2_000;

/** The lines `hostkey TYPE KEY` of what a node sends, as its SSH server shows the keys, and the other lines. */
function hostKeysIn(body: string): { readonly keys: readonly string[]; readonly rest: string } {
  const lines = body.split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => isKeyLine.test(line)).map((line) => line.replace(isKeyLine, ''));
  const rank = (key: string): number => keyTypes.indexOf(key.split(' ', 1)[0]!);
  return {
    keys: keys.filter((key) => rank(key) >= 0 && isKey(key)).sort((a, b) => rank(a) - rank(b)),
    rest: lines.filter((line) => !isKeyLine.test(line)).join('\n'),
  };
}

/** Whether the type before the key is the one in it, and nothing stands behind it. */
const isKey = (key: string): boolean =>
  key.length <= longestKey && keyText(Buffer.from(key.split(' ')[1] ?? '', 'base64')) === key;
