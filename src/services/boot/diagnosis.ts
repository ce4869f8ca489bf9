import type { Boot, BootNote, BootStep } from './reports.ts';
import { isLocalState } from './states.ts';

/** What is known of a node besides what it fetched and told. */
export interface Circumstances {
  /** What it is to boot. */
  readonly state: string;
  /** Whether machines can fetch anything here. */
  readonly isServed: boolean;
  /** Whether DHCP has given it an address; undefined: that cannot be told. */
  readonly hasLease: boolean | undefined;
  readonly now: Date;
}

/** Where a node is in its boot and, as it does not go on, why that may be. */
export function diagnose(boot: Boot | undefined, circumstances: Circumstances): string {
  const { state, isServed, now } = circumstances;
  if (!isServed) return 'Nothing can be fetched here: the settings boot.listen and boot.tftpListen are off.';
  const last = boot?.notes.at(-1);
  if (!boot || !last) return unseen(circumstances);
  const since = `${Math.max(0, Math.round((now.getTime() - last.at.getTime()) / 1_000))} seconds ago`;
  if (last.source !== 'report' && last.complete === false)
    return `It began to fetch ${last.text ?? last.step} ${since} and did not get all of it: the network is slow or lossy, or the machine was reset.`;
  if (last.step === 'script' && last.leadsTo === 'failed') return `It asked ${since} and cannot boot: ${last.text}`;
  const count = boot.notes.filter(({ step }) => step === last.step).length;
  const times = count === 1 ? '' : ` ${count} times, last`;
  return sentences[last.step]({ last, when: `${times} ${since}`, since, state });
}

function unseen({ state, hasLease }: Circumstances): string {
  if (state === 'offline') return 'It was told to boot nothing from here (its state is offline), and has not asked.';
  if (hasLease)
    return 'It has an address by DHCP and never fetched a loader or a boot script: is the server of boot files of its network (tftpserver) the right one, and does its firmware boot from the network?';
  return hasLease === undefined
    ? 'Nothing was seen of it since muster was started: is it on, and does it boot from the network?'
    : 'It has asked neither DHCP nor for a file since muster was started: is it on, is its MAC address right, and does it boot from the network?';
}

interface Seen {
  readonly last: BootNote;
  /** How often, and when. */
  readonly when: string;
  readonly since: string;
  readonly state: string;
}

type Sentence = (seen: Seen) => string;

const told: Sentence = ({ last, since }) =>
  `It told ${since} that it is at "${last.step}"${last.text === undefined ? '' : `: ${last.text}`}. Nothing was heard since.`;

const sentences: Readonly<Record<BootStep, Sentence>> = {
  dhcp: ({ when }) => `It asked DHCP${when}, and never fetched a loader or a boot script.`,
  loader: ({ when, last }) =>
    `It fetched the loader ${last.text ?? ''}${when}, and never the boot script: the loader does not run on it, Secure Boot refuses it, or its network card gets no address then.`,
  script: ({ when, state }) =>
    isLocalState(state)
      ? `It was sent to its disk${when}.`
      : `It fetched the boot script${when}, and never the kernel.`,
  kernel: ({ when }) => `It fetched the kernel${when}, and never the initial RAM disk.`,
  initrd: ({ when }) =>
    `It fetched kernel and initial RAM disk${when}. Nothing was heard since: the kernel does not start, or it has no driver for the network card.`,
  root: ({ when }) => `It fetched the root of its image${when}. Nothing was heard since.`,
  answer: ({ when }) => `The installer fetched its answers${when}. Nothing was heard since.`,
  bundle: ({ when }) => `It fetched its scripts${when}. Nothing was heard since.`,
  plan: ({ when }) =>
    `It was told of its statelite files${when}. Nothing was heard since: do the servers of statemnt and litetree answer it?`,
  file: ({ last, when }) => `The installer fetched ${last.text ?? 'a file'}${when}. Nothing was heard since.`,
  initramfs: told,
  fetching: told,
  fetched: told,
  writing: told,
  written: told,
  installing: told,
  installed: told,
  booting: told,
  postscripts: told,
  booted: ({ since }) => `It has booted, ${since}.`,
  failed: ({ last, since }) => `It failed ${since}${last.text === undefined ? '' : `: ${last.text}`}.`,
};
