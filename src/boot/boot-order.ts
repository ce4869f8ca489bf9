import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader, siteValue } from '../objects/effective.ts';
import { type BuiltMethod, type ImagePaths, isBuiltMethod } from '../images/index.ts';
import { imageOf, type NodeImage } from '../objects/node-image.ts';
import { addedArguments } from './added-arguments.ts';
import { changedSince, checkContents, endsOnDisk, usualLayout } from './decision.ts';
import { layoutOf } from './disk-layout.ts';
import type { NodeIndex } from './node-index.ts';
import type { Overlays } from './overlays/node-overlay.ts';
import { type BootPack, type BootPacks, partOf, partPath } from './packs.ts';
import { diskArguments, type Ramdisks } from './ramdisk.ts';
import { ramdiskHas } from './ramdisk-support.ts';
import type { BootStatus } from './reports.ts';
import type { BootClient, BootRoute } from './routes/route.ts';
import { encodedWord } from './scripts/words.ts';
import { statelitePlan } from './statelite.ts';
import { isImageState, isLocalState, shownBootState } from './states.ts';
import type { Strangers } from './strangers.ts';
import type { BootTokens } from './tokens.ts';

/** What a node is to do now, whichever loader asks. Paths are below the root of the listener, without a slash before. */
export type BootOrder =
  /** From its disk. */
  | { readonly kind: 'local'; readonly state: string }
  | {
      readonly kind: 'load';
      readonly state: string;
      readonly arch: string;
      readonly kernel: string;
      readonly initrd: string;
      readonly args: string;
      /** What node and image add. */
      readonly added: readonly string[];
      readonly leadsTo: BootStatus;
    };

/** The listener as the node reaches it. */
export interface Vantage {
  /** `HOST` or `HOST:PORT`, as a URL has it. */
  readonly authority: string;
  /** The address alone. */
  readonly server: string;
  /** The node's token; absent: it cannot show who it is, so it gets nothing that needs one. */
  readonly token: string | undefined;
}

/** What a node boots to be installed. Paths are below the root of the listener. */
export interface InstallBoot {
  readonly kernel: string;
  readonly initrd: string;
  /** Arguments of the installer's kernel. */
  readonly args: string;
}

interface OrderSources {
  readonly packs: BootPacks;
  readonly ramdisks: Ramdisks;
  readonly overlays: Overlays;
  readonly paths: ImagePaths;
  install(snapshot: Snapshot, node: string, image: NodeImage, vantage: Vantage): Promise<InstallBoot>;
}

const typeTable = tableNamed('nodetype');
const hardwareTable = tableNamed('nodehm');

/** A Fault says why the node cannot boot what its state wants. */
async function bootOrder(
  snapshot: Snapshot,
  node: string,
  sources: OrderSources,
  vantage: Vantage,
): Promise<BootOrder> {
  const reader = effectiveReader(snapshot);
  const state = shownBootState(reader, node);
  if (isLocalState(state)) return { kind: 'local', state };
  if (isImageState(state)) return imageOrder(reader, node, state, sources, vantage);
  return taskOrder(reader, node, state, sources, vantage);
}

/** The small ramdisk does what `destiny` says. */
function taskOrder(
  reader: EffectiveReader,
  node: string,
  state: string,
  { ramdisks }: OrderSources,
  vantage: Vantage,
): BootOrder {
  const arch = reader.row(typeTable, node)?.['arch'];
  if (!arch) throw new Fault('invalid', `The state ${state} needs the attribute arch of the node.`);
  const { kernel, initrd } = ramdisks.paths(arch);
  const args = [
    'quiet',
    `xcatd=${vantage.server}:3001`,
    `destiny=${encodedWord(state)}`,
    `muster.discovery=http://${vantage.authority}/boot/discovery`,
    `muster.hostname=${node}`,
    ...reportArguments(node, vantage),
    ...consoleArguments(reader, node),
  ];
  const added = addedArguments(reader, node);
  return { kind: 'load', state, arch, kernel, initrd, args: args.join(' '), added, leadsTo: 'booting' };
}

async function imageOrder(
  reader: EffectiveReader,
  node: string,
  state: string,
  sources: OrderSources,
  vantage: Vantage,
): Promise<BootOrder> {
  const image = imageOf(reader, node);
  if (image.name === '') throw new Fault('invalid', `The state is "${state}", but provmethod names no image.`);
  const changed = changedSince(reader, node, state, image);
  if (changed !== undefined) throw new Fault('invalid', changed);
  const added = addedArguments(reader, node, image);
  const { kernel, initrd, args } =
    image.method === 'install'
      ? await sources.install(reader.snapshot, node, image, vantage)
      : await disklessBoot(reader, node, state, image, sources, vantage);
  return {
    kind: 'load',
    state,
    arch: image.arch,
    kernel,
    initrd,
    args: [
      args,
      ...(image.method === 'sysclone' ? diskArguments(reader, node, added) : []),
      ...(image.method === 'install' ? [] : await overlayArguments(reader.snapshot, node, image, sources)),
      ...(image.method === 'statelite' ? stateliteArguments(reader, node, image, vantage) : []),
      ...reportArguments(node, vantage),
      ...consoleArguments(reader, node),
    ].join(' '),
    added,
    leadsTo: endsOnDisk(image.method) ? 'installing' : 'netbooting',
  };
}

async function disklessBoot(
  reader: EffectiveReader,
  node: string,
  state: string,
  image: NodeImage,
  { packs, paths }: OrderSources,
  { authority, server }: Vantage,
): Promise<InstallBoot> {
  const { name, method } = image;
  if (!isBuiltMethod(method))
    throw new Fault(
      'invalid',
      `The image ${name} has the provmethod "${method}"; only images with install, netboot, statelite or sysclone can boot.`,
    );
  // Boot loaders have no common way to write other names.
  if (!/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(name))
    throw new Fault('invalid', `The name of the image ${JSON.stringify(name)} cannot be part of a path.`);
  const pack = await packs.current(reader.snapshot, name);
  const layout = method === 'sysclone' ? await layoutOf(reader.snapshot, paths, image) : undefined;
  checkContents(reader, node, state, name, { pack: pack.pack.id, layout: layout ?? usualLayout });
  const path = `boot/images/${name}/${pack.pack.id}`;
  // Refused here, where the reason can be given, not when the loader asks for it.
  for (const kind of ['kernel', 'initrd'] as const) partOf(pack, kind, method);
  if (layout !== undefined) await needRamdiskPart('layout', pack, method);
  const args = [
    `imgurl=http://${authority}/${path}/root`,
    `imgsum=sha256:${partOf(pack, 'root').sha256}`,
    ...(layout === undefined ? [] : [layout]),
    `muster.hostname=${node}`,
    ...timeZoneArguments(reader.snapshot),
    `XCAT=${server}:3001`,
    `NODE=${node}`,
    'FC=0',
  ];
  return { kernel: `${path}/kernel`, initrd: `${path}/initrd`, args: args.join(' ') };
}

/** One that is no zone is left out: it is no reason not to boot. */
function timeZoneArguments(snapshot: Snapshot): string[] {
  const zone = siteValue(snapshot, 'timezone') ?? '';
  return /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(zone) ? [`muster.timezone=${zone}`] : [];
}

/** What is wrong in the tables is an error before the node boots; it fetches the plan itself, by its token. */
function stateliteArguments(reader: EffectiveReader, node: string, image: NodeImage, { server }: Vantage): string[] {
  statelitePlan(reader, node, image, server);
  return ['muster.statelite'];
}

/** What is wrong with them stops the boot here, where the reason can be given; the node fetches them itself, by its token. */
async function overlayArguments(
  snapshot: Snapshot,
  node: string,
  { name, method }: NodeImage,
  { overlays, packs }: OrderSources,
): Promise<string[]> {
  if (!overlays.has(snapshot, node) || !isBuiltMethod(method)) return [];
  await overlays.archive(snapshot, node);
  await needRamdiskPart('overlay', await packs.current(snapshot, name), method);
  return ['muster.overlay'];
}

const needs = {
  overlay: (image: string) => `The node has overlays, and the initial RAM disk of its image ${image} cannot place them`,
  layout: (image: string) => `The image ${image} has a partitionfile, and its initial RAM disk cannot read it`,
} as const;

async function needRamdiskPart(part: keyof typeof needs, pack: BootPack, method: BuiltMethod): Promise<void> {
  const initrd = partOf(pack, 'initrd', method);
  if (await ramdiskHas(part, partPath(pack, initrd), initrd.sha256)) return;
  const { image } = pack;
  throw new Fault(
    'invalid',
    `${needs[part](image)}: an older muster made it. Build and pack the image again: genimage ${image}, packimage ${image}.`,
  );
}

const reportArguments = (node: string, { authority, token }: Vantage): string[] =>
  token === undefined ? [] : [`muster.report=http://${authority}/boot/report/${node}/${token}`];

/** The screen, and the serial line that the node's definition names. */
function consoleArguments(reader: EffectiveReader, node: string): string[] {
  const { serialport, serialspeed, serialflow } = reader.row(hardwareTable, node) ?? {};
  if (serialport === undefined) return [];
  if (!serialspeed) throw new Fault('invalid', 'The attribute serialport is set, but not serialspeed.');
  if (!/^\d{1,3}$/.test(serialport) || !/^\d{1,7}$/.test(serialspeed))
    throw new Fault('invalid', 'The attributes serialport and serialspeed must be numbers.');
  const flow = serialflow && /hard|cts|ctsrts/.test(serialflow) ? 'n8r' : '';
  return ['console=tty0', `console=ttyS${serialport},${serialspeed}${flow}`];
}

export interface OrderServices {
  readonly index: NodeIndex;
  readonly tokens: BootTokens;
  readonly packs: BootPacks;
  readonly ramdisks: Ramdisks;
  readonly overlays: Overlays;
  readonly paths: ImagePaths;
  readonly routes: readonly BootRoute[];
  readonly log: Logger;
  readonly strangers: Strangers;
}

const warnedAgain = 3_600_000;

/** What becomes of a node without a token, and what to do. */
const withoutToken =
  'if a user of the node did that, all is well. If the node rebooted by itself, it does not run the scripts of its first boot and its SSH host key is not known: restart it with rpower or nodeset, let muster serve DHCP there (makedhcp -n), or see the setting boot.newBoots.';

/** What machines are to do that ask for a script. */
export class NodeOrders {
  readonly #services: OrderServices;
  /** When a warning of a node was last logged. */
  readonly #warned = new Map<string, number>();

  constructor(services: OrderServices) {
    this.#services = services;
  }

  /** A Fault says why the node cannot boot what its state wants. */
  async of(node: string, client: BootClient): Promise<BootOrder> {
    const { index, tokens, packs, ramdisks, overlays, paths } = this.#services;
    const { snapshot } = index;
    const state = shownBootState(effectiveReader(snapshot), node);
    const isItself = index.byAddress(client.address) === node;
    // Only the node itself learns its token. One that boots from its disk may still use that of the boot before.
    const isLocal = isLocalState(state);
    const token = isItself && !isLocal ? await tokens.issue(node, state, client.address) : undefined;
    if (isItself && isLocal) await tokens.leaveRamdisk(node);
    if (isItself && !isLocal && token === undefined) this.#warn(node);
    const install = this.#install.bind(this);
    return bootOrder(snapshot, node, { packs, ramdisks, overlays, paths, install }, { ...client, token });
  }

  /** Once a node and hour: whoever can fetch its script could fill the log. */
  #warn(node: string): void {
    const now = Date.now();
    if ((this.#warned.get(node) ?? -Infinity) + warnedAgain > now) return;
    this.#warned.set(node, now);
    this.#services.log.warn(
      `the boot script of ${node} was fetched from its address, though its system runs and nothing shows a new boot, so it got no token: ${withoutToken}`,
    );
  }

  /** For each architecture; none: there is nothing for machines that nobody knows. */
  async ofUnknown(mac: string, client: BootClient): Promise<readonly BootOrder[]> {
    this.#services.strangers.note(mac, client.address);
    const orders: BootOrder[] = [];
    for (const route of this.#services.routes)
      orders.push(...((await route.unknown?.(mac, client, { ...client, token: undefined })) ?? []));
    return orders;
  }

  async #install(snapshot: Snapshot, node: string, image: NodeImage, vantage: Vantage): Promise<InstallBoot> {
    for (const route of this.#services.routes) {
      const found = await route.install?.(snapshot, node, image, vantage);
      if (found) return found;
    }
    throw new Fault('invalid', `The image ${image.name} is installed, and nothing here serves an installer for it.`);
  }
}
