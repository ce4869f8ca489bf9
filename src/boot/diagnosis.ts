import { failureOf } from './past-boots.ts';
import type { Boot, BootNote, BootStep, ForeignClient } from './reports.ts';
import { isLocalState } from './states.ts';

/** What is known of a node besides what it fetched and reported. */
export interface Circumstances {
  /** What it is to boot. */
  readonly state: string;
  /** Whether it can fetch anything. */
  readonly isServed: boolean;
  /** When DHCP has given it an address, the oldest first; undefined: that is not known. */
  readonly answered: readonly Date[] | undefined;
  /** Who has asked for its script from another address. */
  readonly foreign: ForeignClient | undefined;
  /** Since when its system runs; scripts that it fetched later have no token. */
  readonly closedSince: Date | undefined;
  readonly now: Date;
}

/** Where a node is in its boot and, as it does not go on, why that may be. */
export function diagnose(boot: Boot | undefined, circumstances: Circumstances): string {
  const { isServed } = circumstances;
  if (!isServed) return 'Nothing can be fetched here: the settings boot.listen and boot.tftpListen are off.';
  const last = boot?.notes.at(-1);
  const foreign = foreignSince(circumstances, last?.at);
  if (!boot || !last) return unseen(circumstances) + foreign;
  const asked = askedSince(circumstances, last.at);
  const state = sentence(boot, last, circumstances);
  // Also what runs on the node by now asks again when half of the time of its address is over.
  return (
    (asked === '' ? state : `${state} It has asked DHCP ${asked} since.`) + withoutToken(boot, circumstances) + foreign
  );
}

function foreignSince({ foreign, now }: Circumstances, from = new Date(0)): string {
  if (!foreign || foreign.at < from) return '';
  return ` Its boot script was asked for from ${foreign.address} ${ago(foreign.at, now)}, which is not an address of the node: does DHCP give it the one that is defined?`;
}

/** A node without a token cannot report how it gets on. */
function withoutToken({ notes }: Boot, { state, closedSince }: Circumstances): string {
  const script = notes.findLast(({ step }) => step === 'script');
  if (!script || !closedSince || script.at < closedSince || isLocalState(state)) return '';
  return ' It got no token with its boot script because nothing showed a new boot, so muster hears nothing from it: nodeset or rpower lets it get one when it boots next. If it often boots by itself, let muster serve DHCP in its network (makedhcp -n), or, where another DHCP server does, see boot.newBoots = "assumed".';
}

function sentence(boot: Boot, last: BootNote, { state, now }: Circumstances): string {
  if (last.step === 'failed') return `It failed ${ago(last.at, now)}${afterColon(failureOf(boot))}.`;
  const since = ago(last.at, now);
  if (last.source !== 'report' && last.complete === false)
    return `It began to fetch ${last.text ?? last.step} ${since} and did not get all of it: the network is slow or lossy, or the machine was reset.`;
  if (last.step === 'script' && last.leadsTo === 'failed') return `It asked ${since} and cannot boot: ${last.text}`;
  const count = boot.notes.filter(({ step }) => step === last.step).length;
  const times = count === 1 ? '' : ` ${count} times, last`;
  return sentences[last.step]({ last, when: `${times} ${since}`, since, state });
}

function unseen(circumstances: Circumstances): string {
  const { state, answered } = circumstances;
  if (state === 'offline') return 'Its state is offline, so it boots nothing from here, and it has not asked.';
  const asked = askedSince(circumstances, new Date(0));
  if (asked !== '')
    return `It asked DHCP ${asked}, and never fetched a loader or the boot script: is the server of boot files of its network (tftpserver) the right one, and does its firmware boot from the network?`;
  return answered === undefined
    ? 'Nothing was seen of it since muster was started: is it on, and does it boot from the network?'
    : 'It was given no address by DHCP and has asked for no file since muster was started: is it on, is its MAC address right, and does it boot from the network?';
}

/** `twice, last 5 seconds ago`; empty: it has not. */
function askedSince({ answered = [], now }: Circumstances, from: Date): string {
  // The times of DHCP are whole seconds.
  const times = answered.filter((at) => at > from);
  const last = times.at(-1);
  if (!last) return '';
  if (times.length === 1) return `once, ${ago(last, now)}`;
  return `${times.length === 2 ? 'twice' : `${times.length} times`}, last ${ago(last, now)}`;
}

const ago = (at: Date, now: Date): string =>
  `${Math.max(0, Math.round((now.getTime() - at.getTime()) / 1_000))} seconds ago`;

interface Seen {
  readonly last: BootNote;
  /** How often, and when. */
  readonly when: string;
  readonly since: string;
  readonly state: string;
}

type Sentence = (seen: Seen) => string;

const afterColon = (text: string | undefined): string => (text === undefined ? '' : `: ${text}`);

const reported: Sentence = ({ last, since }) =>
  `It reported ${since} that it is at "${last.step}"${afterColon(last.text)}. Nothing was heard since.`;

const sentences: Readonly<Record<Exclude<BootStep, 'failed'>, Sentence>> = {
  loader: ({ when, last }) =>
    last.source === 'media'
      ? `Its BMC was given its boot medium${when}. Nothing was heard since: does its firmware start from it (UEFI, not BIOS), can its BMC fetch it in time, and has its kernel a driver for the network card?`
      : `It fetched the loader ${last.text ?? ''}${when}, and never the boot script: the loader does not run on it, Secure Boot refuses it, or its network card gets no address then.`,
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
    `It fetched the list of its statelite files${when}. Nothing was heard since: do the servers of statemnt and litetree answer it?`,
  overlay: ({ when }) => `It fetched the files of its overlays${when}. Nothing was heard since.`,
  file: ({ last, when }) => `The installer fetched ${last.text ?? 'a file'}${when}. Nothing was heard since.`,
  initramfs: reported,
  fetching: reported,
  fetched: reported,
  writing: reported,
  written: reported,
  installing: reported,
  installed: reported,
  booting: reported,
  postscripts: reported,
  booted: ({ since }) => `It has booted, ${since}.`,
};
