import { path } from '../client.ts';
import { UsageError } from '../errors.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { serverFiles, serverPath, sharesFiles } from '../nodes/copies.ts';
import { codeOf } from '../nodes/node-command.ts';
import { type NodeReport, type NodeRequest, workOnNodes } from '../nodes/work.ts';
import { filled, flag } from '../options.ts';

const wrongCall = 'Write NODERANGE, NODERANGE insert FILE-or-URL, or NODERANGE eject; muster media -h explains them.';

export const media = musterCommand({
  usage: `Usage: muster media NODERANGE
       muster media NODERANGE insert FILE | URL [--drive DRIVE] [--force]
       muster media NODERANGE eject [--drive DRIVE] [--force]

Shows, inserts and ejects virtual media: images that a BMC shows its machine as a CD. FILE is on the management node, from which the BMCs
fetch it. What somebody else has inserted stays, unless --force says otherwise. rsetboot NODERANGE cd makes nodes boot from it next.`,
  options: {
    drive: filled('DRIVE', 'this drive, as muster media NODERANGE shows it'),
    'force|f': flag('also eject what muster has not inserted'),
    ...serverFiles,
  },
  operands: [1, 3, wrongCall],
  common: onNodes,
  run(invocation, call) {
    const [range = '', action = 'stat', image, ...more] = call.operands;
    const isKnown = ['stat', 'insert', 'eject'].includes(action);
    if (!isKnown || more.length > 0 || range === '' || image === '' || (action === 'insert') !== (image !== undefined))
      throw new UsageError(wrongCall);
    const at = path('nodes', range, 'media');
    if (action === 'stat') {
      const stranger = ['drive', 'force', 'server-files'].find((name) => call.has(name));
      if (stranger !== undefined) throw new UsageError(`--${stranger} is for insert and eject.`);
      return work(invocation, call, { method: 'GET', at }, { range, lines: driveLines });
    }
    const drive = call.value('drive');
    const force = call.flag('force');
    if (action === 'eject') {
      if (call.has('server-files')) throw new UsageError('--server-files is for insert.');
      const query = { ...(drive === undefined ? {} : { drive }), ...(force ? { force: '1' } : {}) };
      return work(invocation, call, { method: 'DELETE', at, query }, { range, lines: ejectedLines });
    }
    const body = { ...imageIn(invocation, call, image!), drive, ...(force ? { force } : {}) };
    return work(invocation, call, { method: 'PUT', at, body }, { range, lines: insertedLines });
  },
});

const work = async (invocation: Invocation, call: Call, request: NodeRequest, report: NodeReport): Promise<number> =>
  codeOf(await workOnNodes(invocation, request, report, call.common));

function imageIn(
  invocation: Invocation,
  call: Call,
  image: string,
): { readonly url: string } | { readonly file: string } {
  const isFile = !/^[a-z][a-z0-9+.-]*:\/\//i.test(image);
  if (!isFile) {
    if (call.has('server-files')) throw new UsageError('--server-files goes with FILE, not with an address.');
    return { url: image };
  }
  if (!call.flag('server-files') && !sharesFiles(invocation))
    throw new UsageError(
      'BMCs fetch FILE from the management node: copy it there, and give its path there with --server-files.',
    );
  return { file: serverPath(invocation, image) };
}

interface Drive {
  readonly drive: string;
  readonly types: string;
  readonly state: string;
  readonly image?: string;
  readonly by?: string;
}

function driveLines(value: unknown): readonly string[] {
  const { drives } = value as { readonly drives: readonly Drive[] };
  return drives.map(({ drive, state, types, image, by }) => {
    const name = types === '' ? drive : `${drive} (${types})`;
    if (state !== 'inserted') return `${name}: empty`;
    return `${name}: ${image || 'an image'}, inserted by ${by}`;
  });
}

function insertedLines(value: unknown): readonly string[] {
  const { drive, image } = value as { readonly drive: string; readonly image: string };
  return [`inserted ${image} into ${drive}`];
}

function ejectedLines(value: unknown): readonly string[] {
  const { drives } = value as { readonly drives: readonly string[] };
  return drives.length > 0 ? [`ejected ${drives.join(', ')}`] : ['nothing to eject'];
}
