import { execFile } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import type { DnsDuty } from '../../bus/index.ts';
import { Fault } from '../../core/errors.ts';
import { readOptional, syncDirectory, writeFileAtomically } from '../../core/files.ts';
import { formatListen } from '../../core/host-address.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault } from '../../protocols/dns/names.ts';
import { type Daemon, makeDaemon } from '../daemons/daemon.ts';
import { bindProgram } from '../daemons/programs.ts';
import { giveTo, type Layout, provideKey, readKey } from './layout.ts';
import { confMark, type NamedOptions, renderConf } from './named-conf.ts';
import { messagesUnderWay } from './sender.ts';
import { provideTransferKey, secondaryOf } from './secondary.ts';
import { isLater } from './zone-file.ts';

const timeout = 60_000;
const runTool = (name: string, args: readonly string[]): Promise<{ failed: boolean; output: string }> =>
  new Promise((resolve) => {
    const options = { timeout, maxBuffer: 16 * 1024 * 1024 };
    execFile(bindProgram(name), args, options, (error, stdout, stderr) => {
      resolve({ failed: error !== null, output: `${stdout}${stderr}`.trim() || (error?.message ?? '') });
    });
  });

/** Refuses what BIND's own checker refuses, with its words. */
async function check(what: string, name: string, args: readonly string[]): Promise<void> {
  const { failed, output } = await runTool(name, args);
  if (!failed) return;
  const said = output.split('\n').filter((line) => !/loaded serial \d+$/.test(line));
  throw new Fault('invalid', [
    `${name} does not accept ${what}; nothing was changed.`,
    said.slice(-3).join(' | ').slice(0, 600),
  ]);
}

/**
 * The files of all zones as they were made at one time, in a directory of their own. named writes into them and keeps its journals
 * beside them, so they are never changed from outside: a new generation takes over by one rename of the configuration.
 */
interface Generation {
  readonly directory: string;
  readonly serials: ReadonlyMap<string, number>;
}

const prefix = 'zones-';
const serialsFile = 'serials.json';

const numberOf = (name: string): number => Number(name.slice(prefix.length));

function generationNames({ directory }: Layout): string[] {
  return readdirSync(directory).filter((name) => /^zones-\d+$/.test(name));
}

/** Writes a generation; it is on disk and named may write there when it resolves. */
async function writeGeneration(
  layout: Layout,
  texts: ReadonlyMap<string, string>,
  serials: ReadonlyMap<string, number>,
): Promise<Generation> {
  const number = Math.max(0, ...generationNames(layout).map(numberOf)) + 1;
  const directory = join(layout.directory, prefix + number);
  mkdirSync(directory, { mode: 0o750 });
  try {
    giveTo(directory, layout.user);
    for (const [zone, text] of texts) {
      write(join(directory, `db.${zone}`), text, layout);
      await setImmediate();
    }
    write(join(directory, serialsFile), JSON.stringify(Object.fromEntries(serials)), layout);
    syncDirectory(directory);
    syncDirectory(layout.directory);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  return { directory, serials };
}

function write(file: string, text: string, { user }: Layout): void {
  const handle = openSync(file, 'wx', 0o640);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  giveTo(file, user);
}

/** The generation that a configuration names; undefined if it names none of ours. */
function generationOf(configuration: string, layout: Layout): Generation | undefined {
  const name = /zones-\d+(?=\/db\.)/.exec(configuration)?.[0];
  if (name === undefined) return undefined;
  const directory = join(layout.directory, name);
  try {
    const serials = JSON.parse(readFileSync(join(directory, serialsFile), 'utf8')) as Record<string, number>;
    return { directory, serials: new Map(Object.entries(serials)) };
  } catch {
    return undefined;
  }
}

function removeGenerations(layout: Layout, except: string | undefined): void {
  for (const name of generationNames(layout)) {
    const directory = join(layout.directory, name);
    if (directory !== except) rmSync(directory, { recursive: true, force: true });
  }
}

const servesWithin = 30_000;

export class Named {
  readonly layout: Layout;
  readonly #log: Logger;
  readonly #asker: DnsClient;
  #daemon: Daemon | undefined;
  #updating: readonly DnsClient[] = [];

  constructor(layout: Layout, log: Logger) {
    this.layout = layout;
    this.#log = log;
    this.#asker = new DnsClient(layout.server.host, layout.server.port, undefined);
  }

  /** Whether it was set up before. */
  get isSetUp(): boolean {
    return readKey(this.layout.keyFile) !== undefined;
  }

  /** For updates; they need the key, which the first set-up makes. */
  clients(): readonly DnsClient[] {
    const { host, port } = this.layout.server;
    if (this.#updating.length > 0) return this.#updating;
    const key = readKey(this.layout.keyFile);
    if (!key) throw new Fault('invalid', 'The DNS service is not set up yet: POST /services/dns does it.');
    return (this.#updating = Array.from({ length: messagesUnderWay }, () => new DnsClient(host, port, key)));
  }

  /** At the start of muster: named serves the configuration on disk, whatever happened while muster was away. */
  async resume(): Promise<void> {
    const text = this.#configuration();
    if (text === undefined || !text.startsWith(confMark)) return;
    const daemon = this.#keeper();
    await daemon.resume();
    if (this.layout.how === 'systemd') return;
    await daemon.reload();
    const generation = generationOf(text, this.layout);
    if (generation) await this.#untilServed(generation);
  }

  /** Whether it answers; undefined: its configuration is not ours. */
  isServing(): Promise<boolean | undefined> {
    if (!this.#configuration()?.startsWith(confMark)) return Promise.resolve(undefined);
    return this.#answers();
  }

  async close(): Promise<void> {
    this.#asker.close();
    for (const client of this.#updating) client.close();
    await this.#daemon?.close();
  }

  /** The serial number a zone has now: as named says, else as its file and journal say. */
  async serialOf(zone: string): Promise<number | undefined> {
    try {
      const soa = await this.#asker.soa(zone);
      if (soa?.zone === zone) return soa.serial;
    } catch {
      // It does not run; its files are all there is.
    }
    const generation = this.#generation();
    if (!generation?.serials.has(zone)) return undefined;
    const file = join(generation.directory, `db.${zone}`);
    const { output } = await runTool('named-checkzone', ['-j', '-i', 'none', '-k', 'ignore', zone, file]);
    const loaded = Number(/loaded serial (\d+)/.exec(output)?.[1]);
    return Number.isNaN(loaded) ? generation.serials.get(zone) : loaded;
  }

  zones(): Iterable<string> {
    return this.#generation()?.serials.keys() ?? [];
  }

  /** What a name server elsewhere needs to copy the zones; an objection says why it cannot. */
  secondary(snapshot: Snapshot, master: string | undefined): DnsDuty | { readonly objection: string } {
    const { layout } = this;
    const text = this.#configuration();
    const key = readKey(layout.keyFile);
    const generation = text === undefined ? undefined : generationOf(text, layout);
    if (!key || !generation || !text?.includes(layout.transferKeyFile))
      return {
        objection: 'It copies no zones, because this muster has not set up DNS on the server: POST /services/dns.',
      };
    return secondaryOf(snapshot, master, { layout, key, zones: generation.serials.keys() });
  }

  #generation(): Generation | undefined {
    const text = this.#configuration();
    return text === undefined ? undefined : generationOf(text, this.layout);
  }

  /** Makes the key and the directory; nothing that named uses now is touched. */
  prepare(): void {
    const { directory, keyFile, user, configuration } = this.layout;
    bindProgram('named');
    mkdirSync(directory, { recursive: true, mode: 0o750 });
    mkdirSync(dirname(configuration), { recursive: true, mode: 0o755 });
    giveTo(directory, user);
    provideTransferKey(this.layout, provideKey(keyFile, user));
  }

  /** Writes and checks all beside what is served. If named does not take it, it serves again what it served before. */
  async apply(
    options: NamedOptions,
    texts: ReadonlyMap<string, string>,
    serials: ReadonlyMap<string, number>,
  ): Promise<void> {
    const { layout } = this;
    const generation = await writeGeneration(layout, texts, serials);
    const conf = renderConf(layout, options, [...texts.keys()], generation.directory);
    const before = this.#configuration();
    try {
      await this.#checkFiles(conf, generation);
      this.#keepForeign(before);
      await this.#switchTo(conf, generation);
    } catch (error) {
      if (this.#configuration() === conf) await this.#switchBack(before);
      if (this.#configuration() !== conf) rmSync(generation.directory, { recursive: true, force: true });
      throw error;
    }
    removeGenerations(layout, generation.directory);
  }

  async #checkFiles(conf: string, { directory }: Generation): Promise<void> {
    const file = join(directory, 'named.conf');
    writeFileAtomically(file, conf, 0o640);
    try {
      await check('the configuration and zones', 'named-checkconf', ['-z', file]);
    } finally {
      rmSync(file, { force: true });
    }
  }

  async #switchTo(conf: string, generation: Generation): Promise<void> {
    writeFileAtomically(this.layout.configuration, conf, 0o644);
    const daemon = this.#keeper();
    if (await daemon.isRunning()) await daemon.reload();
    else await daemon.start();
    await this.#untilServed(generation);
  }

  async #switchBack(before: string | undefined): Promise<void> {
    const { configuration } = this.layout;
    const daemon = this.#keeper();
    try {
      if (before === undefined) {
        rmSync(configuration, { force: true });
        await daemon.stop();
        return;
      }
      writeFileAtomically(configuration, before, 0o644);
      await daemon.reload();
    } catch (error) {
      this.#log.error({ err: error }, 'named does not serve its former configuration either');
    }
  }

  /** A configuration that is not ours is kept beside, once. */
  #keepForeign(text: string | undefined): void {
    const { configuration } = this.layout;
    const copy = `${configuration}.before-muster`;
    if (text !== undefined && !text.startsWith(confMark) && !existsSync(copy)) copyFileSync(configuration, copy);
  }

  #configuration(): string | undefined {
    return readOptional(this.layout.configuration);
  }

  /** Until every zone shows the generation's serial number, or a later one. */
  async #untilServed({ serials }: Generation): Promise<void> {
    const open = new Map(serials);
    let reason = '';
    for (const deadline = Date.now() + servesWithin; Date.now() < deadline; await pause(20)) {
      try {
        for (const [zone, serial] of open) {
          const soa = await this.#asker.soa(zone);
          if (soa?.zone !== zone || isLater(serial, soa.serial)) {
            reason = `zone ${zone} is not served`;
            break;
          }
          open.delete(zone);
        }
      } catch (error) {
        reason = (error as Error).message;
      }
      if (open.size === 0) return;
    }
    throw new Fault(
      'unavailable',
      `named at ${formatListen(this.layout.server)} does not serve the new configuration: ${reason}. Its log says why.`,
    );
  }

  async #answers(): Promise<boolean> {
    try {
      await this.#asker.soa('.');
      return true;
    } catch (error) {
      // Whatever it answers.
      return error instanceof DnsFault && error.failure === 'refused';
    }
  }

  #keeper(): Daemon {
    const { how, configuration, directory, user, unit } = this.layout;
    this.#daemon ??= makeDaemon(
      {
        name: 'named',
        unit,
        command: [bindProgram('named'), '-g', '-c', configuration, ...(user ? ['-u', user.name] : [])],
        ready: () => this.#answers(),
      },
      { how, log: this.#log, directory },
    );
    return this.#daemon;
  }
}
