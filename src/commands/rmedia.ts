import { statSync } from 'node:fs';
import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { NodeResult, NodeValue } from '../core/results.ts';
import { type DeviceTarget, type MediaDrive, type OwnMedium, refuseSharedBmc } from '../drivers/index.ts';
import { ownOf } from '../boot/index.ts';
import { checkMediaAddress, isAllowedByParameters, shownAddress } from '../nodes/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { type Arguments, nodeArguments, selectNodes } from './command.ts';
import { checkWord, deviceAddress, hardwareOnWorkers, perNode, type Plan, type Task } from './per-node.ts';

const actions = ['stat', 'insert', 'eject'] as const;

const args = Type.Object({
  ...nodeArguments,
  action: Type.String({ description: actions.join(', ') }),
  file: Type.Optional(Type.String({ description: 'a path on the management node, which serves it' })),
  url: Type.Optional(Type.String({ description: 'where the BMCs fetch the image' })),
  drive: Type.Optional(Type.String({ maxLength: 100, description: 'as the BMC calls it' })),
  force: Type.Optional(Type.Boolean({ description: 'also eject what muster has not inserted' })),
});

type MediaArgs = Arguments<typeof args>;
type Shared = Pick<MediaArgs, 'action' | 'drive'> & { readonly force: boolean; readonly what: string };
type Target = DeviceTarget & {
  readonly own?: OwnMedium | undefined;
  /** What was made ready to be inserted. */
  readonly medium?: { readonly id: string; readonly url: string } | undefined;
};

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

const whatOf = ({ file, url }: MediaArgs): string => (url === undefined ? (file ?? '') : shownAddress(url));

function lineOf(given: MediaArgs): readonly string[] {
  const { action, drive, force } = given;
  if (action === 'stat') return ['stat'];
  const words = [
    action,
    ...(action === 'insert' ? [whatOf(given)] : []),
    ...(drive === undefined ? [] : ['--drive', drive]),
    ...(force ? ['--force'] : []),
  ];
  return words.map((word) => withoutSecrets(word));
}

function check(given: MediaArgs): void {
  const { action, file, url, drive, force } = given;
  checkWord(action, actions, 'media action');
  const images = [file, url].filter((one) => one !== undefined).length;
  if (action === 'insert') {
    if (images !== 1)
      throw new Fault('missing-member', 'Give one image: a file of the management node, or an address.');
    if (url !== undefined) checkMediaAddress(url);
    return;
  }
  if (images > 0) throw new Fault('invalid', `"${action}" takes no image.`);
  if (action === 'stat' && (drive !== undefined || force)) throw new Fault('invalid', '"stat" shows all drives.');
}

/** Virtual media: what a BMC shows its machine as a CD. */
export const rmedia = perNode({
  name: 'rmedia',
  args,
  uses: ['hardware', 'boot', 'remote'],
  line: lineOf,
  outlivesClient: ({ action }) => action !== 'stat',
  select(snapshot, given, ranges) {
    check(given);
    return selectNodes(snapshot, given, ranges);
  },
  prepare(snapshot, given, { hardware, boot, remote, caller, selection, permits }): Plan<Shared, Target> {
    const { action, file, url, drive, force = false } = given;
    const path = file === undefined ? undefined : admitted(file);
    const targetOf = hardware.targets(snapshot, 'rmedia', 'media');
    return {
      shared: { action, drive, force, what: whatOf(given) },
      async target(node) {
        const target = await targetOf(node);
        if (action === 'stat') return { ...target, own: ownOf(await boot.media.of(node)) };
        refuseSharedBmc(snapshot, node, (other) => permits({ nodes: [other] }));
        const here = { ...target, staysHere: true } as const;
        const record = await boot.media.of(node);
        if (action === 'eject') return { ...here, own: ownOf(record), medium: record };
        const whom = { node, bmc: target.address, user: caller.user };
        const medium =
          path === undefined
            ? await boot.media.offerUrl(whom, url!, whatOf(given))
            : await boot.media.offerFile(whom, path, whatOf(given));
        return { ...here, own: medium.own, medium };
      },
    };

    function admitted(wanted: string): string {
      const asking = { ...caller, command: 'rmedia', nodes: selection.nodes ?? [] };
      const readable = caller.hasFullRights() ? remote.sources.everywhere : remote.sources;
      const lineWith = (other: string) => lineOf({ ...given, file: other }).join(' ');
      const allowed = (real: string) => isAllowedByParameters(snapshot, asking, lineWith(real), [lineWith(elsewhere)]);
      const real = readable.admit(wanted, allowed);
      if (!statSync(real).isFile())
        throw new Fault('invalid', `${wanted} is no file, so no BMC can have it as an image.`);
      return real;
    }
  },
  sentTo: deviceAddress,
  onWorkers: hardwareOnWorkers([]),
  async work(shared: Shared, target: Target, task: Task): Promise<NodeResult> {
    const { node } = task;
    if (shared.action === 'stat') {
      const drives = await task.devices.read(target, 'media', task, (media) => media.list(target.own, task.signal));
      return { node, value: { drives: drives.map(shownDrive) } };
    }
    return {
      node,
      value: await (shared.action === 'insert' ? insert(shared, target, task) : eject(shared, target, task)),
    };
  },
});

const shownDrive = ({ id, types, image, isInserted, isOwn }: MediaDrive): Readonly<Record<string, string>> => ({
  drive: id,
  types: types.join(', '),
  state: isInserted ? 'inserted' : 'empty',
  ...(isInserted ? { image: image ?? '', by: isOwn ? 'muster' : 'others' } : {}),
});

async function insert({ drive, force, what }: Shared, target: Target, task: Task): Promise<NodeValue> {
  const { id, url } = target.medium!;
  const keep = (at: string): Promise<void> => task.keep({ kind: 'media', medium: id, drive: at });
  const inserted = await task.devices.use(target, 'media', task, (media) =>
    media.insert({ url, own: target.own, drive, force, keep }, task.signal),
  );
  return { media: 'inserted', drive: inserted.id, image: what };
}

async function eject({ drive, force }: Shared, { own, medium, ...target }: Target, task: Task): Promise<NodeValue> {
  const ejected = await task.devices.use(target, 'media', task, (media) =>
    media.eject({ own, drive, force }, task.signal),
  );
  const isGone = own !== undefined && (drive === undefined || drive.toLowerCase() === own.drive.toLowerCase());
  if (medium && isGone) await task.keep({ kind: 'media', medium: medium.id });
  return { media: ejected.length > 0 ? 'ejected' : 'empty', drives: ejected.map(({ id }) => id) };
}
