import type { StreamLine } from '../replies.ts';
import { path } from '../client.ts';
import { UsageError } from '../errors.ts';
import { errorLine, nodeErrorLine, noteLine } from '../lines.ts';
import { missingSource, serverFiles, serverPath, sharesFiles } from '../nodes/copies.ts';
import { compareFirmware, type NodeFirmware, readCatalog } from '../nodes/firmware-catalog.ts';
import { labelled, type NodeCall, nodeCommand, work } from '../nodes/node-command.ts';
import { failureText, namesIn, type NodeRequest, workOnNodes } from '../nodes/work.ts';
import { filled, flag, type OptionTable, refused } from '../options.ts';
import { type OwnFiles, ownFiles } from '../own-files.ts';
import { followProgress } from '../nodes/run-progress.ts';
import { textOfFile } from '../utf8.ts';

const ofPower = 'only machines of POWER with an HMC or FSP have it.';

const options: OptionTable = {
  'a|activate': filled('FILE', 'send this image and have it applied now; the same as FILE alone'),
  'u|upload': filled('FILE', 'send this image, which is applied when --start says so'),
  url: filled('URL', 'the BMCs fetch the image from there'),
  start: flag('have what was sent with -u applied'),
  component: filled('NAME', 'what the image is for, as -l shows it in parentheses'),
  apply: filled('TIME', 'now (the default), on-reset, at-maintenance or on-start'),
  'image-version': filled('VERSION', 'the version of the image: nodes that have it get nothing'),
  again: flag('send it though it was sent earlier and nothing is known of that update'),
  'at-once': filled('N', 'nodes at a time'),
  'stop-after': filled('N', 'begin no more after so many nodes have failed'),
  ...serverFiles,
  'l|list': flag('show what is installed'),
  'c|check': flag('the same'),
  versions: flag('with -l: show each version once, with the nodes that have it'),
  catalog: filled('FILE', 'with -l: compare with the versions of this file; status 1 if something is behind'),
  'verbose|V': flag('show what the BMCs say while they are at work'),
  'no-host-reboot': flag('do not restart the machines (always on; some BMCs do it themselves)'),
  d: refused('muster sends one image at a time: call rflash for each.', 'value'),
  delete: refused('muster deletes no images; BMCs replace them.', 'value'),
  retry: refused('muster sends an image once; call rflash again, which looks first.', 'value'),
  p: refused(ofPower, 'value'),
  commit: refused(ofPower),
  recover: refused(ofPower),
  bpa_acdl: refused(ofPower),
};

export const rflash = nodeCommand({
  usage: `Usage: rflash NODERANGE FILE [--component NAME] [--apply TIME] [--image-version VERSION]
       rflash NODERANGE --url URL [--component NAME] [--apply TIME] [--image-version VERSION]
       rflash NODERANGE -l [--versions | --catalog FILE]
       rflash NODERANGE --start

  Brings firmware to machines and their BMCs, follows the update, and reads the version in the end.`,
  options,
  words: 1,
  async run(call) {
    const { invocation, words } = call;
    const lists = call.flag('l') || call.flag('c');
    const files = [words[0], call.value('a'), call.value('u')].filter((file) => file !== undefined);
    const images = files.length + Number(call.has('url'));
    if (lists && words[0] !== undefined)
      throw new UsageError('-l and -c show what is installed; muster does not read the version in a file.');
    if (images + Number(lists) + Number(call.flag('start')) > 1)
      throw new UsageError('Give one of FILE, -a FILE, -u FILE, --url URL, --start and -l.');
    if (lists) return list(call);
    for (const name of ['versions', 'catalog']) if (call.has(name)) throw new UsageError(`--${name} goes with -l.`);
    if (images === 0 && !call.flag('start')) {
      await namesIn(invocation.client, call.range);
      invocation.stderr.line(errorLine('No option or hpm file is provided.', invocation.client.server));
      invocation.stderr.line(noteLine('Give an image or --url URL, or -l to see what is installed.'));
      return 1;
    }
    return update(call, files[0]);
  },
});

const forImages = ['component', 'apply', 'image-version', 'again', 'server-files'];

async function update(call: NodeCall, file: string | undefined): Promise<number> {
  const { invocation, range, common } = call;
  const starts = call.flag('start');
  for (const name of forImages)
    if (starts && call.has(name)) throw new UsageError(`--${name} goes with an image; --start takes what is there.`);
  if (call.flag('server-files') && file === undefined) throw new UsageError('--server-files goes with FILE.');
  if (call.has('u') && call.has('apply')) throw new UsageError('-u applies nothing; leave out --apply, or write FILE.');
  const apply = call.has('u') ? 'on-start' : call.value('apply');
  const settings = {
    component: call.value('component'),
    apply,
    version: call.value('image-version'),
    nodes: common.yes ? (await namesIn(invocation.client, range)).length : undefined,
    atOnce: countOf(call, 'at-once'),
    stopAfter: countOf(call, 'stop-after'),
  };
  const request = requestOf(call, file, settings);
  const followed = new AbortController();
  try {
    return await work(call, request, {
      lines: (value) => outcomeLines(value),
      question: starts ? 'Start the update of' : 'Update the firmware of',
      before: (run) => {
        if (call.flag('verbose')) followProgress(invocation, run, followed.signal);
      },
    });
  } finally {
    followed.abort();
  }
}

function requestOf(
  call: NodeCall,
  file: string | undefined,
  settings: Readonly<Record<string, string | number | undefined>>,
): NodeRequest {
  const { invocation, range } = call;
  const at = path('nodes', range, 'firmware');
  const again = call.flag('again');
  const body = { ...settings, ...(again ? { again } : {}) };
  if (call.flag('start')) return { method: 'POST', at, body: { ...body, action: 'start' } };
  if (file === undefined) return { method: 'POST', at, body: { ...body, url: call.value('url') } };
  if (call.flag('server-files') || sharesFiles(invocation))
    return { method: 'POST', at, body: { ...body, file: serverPath(invocation, file) } };
  const texts = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  const query = { ...Object.fromEntries(texts), ...(again ? { again: '1' } : {}) };
  return { method: 'PUT', at, query, files: imageFile(file) };
}

function imageFile(file: string): OwnFiles {
  try {
    return ownFiles([file]);
  } catch (error) {
    const missing = missingSource(error);
    throw missing ? new UsageError(`${missing.path}: ${missing.message}. Nothing was sent.`) : error;
  }
}

function countOf(call: NodeCall, name: string): number | undefined {
  const text = call.value(name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--${name} takes a number from 1 on, not "${text}".`);
  return Number(text);
}

/** What changed, and what there is to say. */
function outcomeLines(value: unknown): readonly string[] {
  const { firmware, changed, Message } = value as {
    readonly firmware: string;
    readonly changed: readonly string[];
    readonly Message: string | readonly string[];
  };
  const told = [Message].flat();
  return changed.length > 0 ? changed.map((line) => `${firmware} ${line}`) : told.map((line) => `${firmware}: ${line}`);
}

async function list(call: NodeCall): Promise<number> {
  const { invocation, range, common } = call;
  for (const name of [...forImages, 'at-once', 'stop-after', 'no-host-reboot'])
    if (call.has(name)) throw new UsageError(`--${name} is for updates; -l only shows what is installed.`);
  const request = { method: 'GET', at: path('nodes', range, 'firmware') } as const;
  const file = call.value('catalog');
  if (file === undefined && !call.flag('versions')) return work(call, request, { lines: labelled });
  if (common.format || common.fold || common.detach)
    throw new UsageError('--versions and --catalog fold by themselves; leave out --format, --fold and --detach.');
  const catalog = file === undefined ? undefined : await readCatalog(textOfFile(file), file);
  const found = new Map<string, NodeFirmware>();
  const { server } = invocation.client;
  const result = (line: StreamLine) => {
    if (line.error === undefined) found.set(line.node!, line.value as NodeFirmware);
    const failed = line.error === undefined ? [] : [nodeErrorLine(line.node!, failureText(line, invocation), server)];
    return { stdout: [], stderr: failed };
  };
  const { failed } = await workOnNodes(invocation, request, { lines: () => [], result }, common);
  if (common.dryRun || common.curl) return 0;
  const { lines, notes, isBehind } = compareFirmware(found, catalog);
  for (const line of lines) await invocation.stdout.line(line);
  for (const note of notes) await invocation.stderr.line(note);
  return isBehind || failed > 0 ? 1 : 0;
}
