import { Fault, Unreachable } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import type { SpReader } from './sp-attributes.ts';
import type { Target } from './target.ts';

/** Some hardware takes a moment before it shows what was set. */
const pauses: readonly number[] = [0, 200, 800];

/** Attributes whose values are not repeated. */
const hidden: readonly string[] = ['community'];

/** What a setting reads back as, unless as it was written; undefined if that cannot be known. */
const readsAs: Readonly<Record<string, (value: string) => string | undefined>> = {
  ip: (value) => (value === 'dhcp' ? undefined : value),
  vlan: (value) => (['off', '0'].includes(value) ? 'BMC VLAN disabled' : String(Number(value))),
  ntp: (value) => serverList(value),
  ntpservers: (value) => serverList(value),
};

const serverList = (value: string): string =>
  value
    .split(',')
    .map((server) => server.trim())
    .join(',');

/** Services may hide what is secret, and write names in their own case. */
const isSame = (shown: string, wanted: string): boolean =>
  shown.toLowerCase() === wanted.toLowerCase() || /^\*+$/.test(shown);

/** Hardware may accept a setting and not keep it: reads back what was set; a Fault names every setting that was not kept. */
export async function verifyKept(
  target: Target,
  readers: Readonly<Record<string, SpReader>>,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const problems: string[] = [];
  for (const [attribute, value] of Object.entries(settings)) {
    const read = readers[attribute];
    const wanted = readsAs[attribute] ? readsAs[attribute](value) : value;
    if (!read || wanted === undefined) continue;
    const shown = await differing(() => look(target, read, attribute, signal), wanted, signal);
    if (shown !== undefined) problems.push(notKept(attribute, wanted, shown));
  }
  if (problems.length > 0) throw new Fault('invalid', problems);
}

function notKept(attribute: string, wanted: string, shown: string): string {
  const accepted = `its service processor accepted ${attribute} but did not keep it`;
  return hidden.includes(attribute) ? `${accepted}.` : `${accepted}: wanted "${wanted}", found "${shown}".`;
}

/** What is shown instead, if anything. */
async function differing(
  read: () => Promise<string | undefined>,
  wanted: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let shown: string | undefined;
  for (const wait of pauses) {
    if (wait > 0) await pause(wait, signal);
    shown = await read();
    if (shown === undefined || isSame(shown, wanted)) return undefined;
  }
  return shown;
}

/** What it refuses to tell is believed. */
async function look(
  target: Target,
  read: SpReader,
  attribute: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return (await read(target, signal))[0]?.[1];
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error;
    const silent = error instanceof Unreachable || error.kind === 'deadline' || error.kind === 'unavailable';
    if (!silent) return undefined;
    const sentence = `its service processor accepted ${attribute} but has not answered since; whether it kept it is not known.`;
    throw new Fault('deadline', sentence, { cause: error });
  }
}
