import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Sources } from '../../access/file-sources.ts';
import type { SecretBox } from '../../access/secrets.ts';
import { AddressGuard } from '../../core/address-guard.ts';
import type { FaultData } from '../../core/errors.ts';
import { shippedImageFiles } from '../../core/home.ts';
import { Count, Networks, oneOf, Path, Paths, setting, type ValuesOf } from '../../core/settings.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import type { Hosts } from '../../names/index.ts';
import { managementNode } from '../../objects/networks.ts';
import type { Room } from '../../protocols/ssh/collected.ts';
import type { HostKeys } from '../../protocols/ssh/host-keys.ts';
import type { SshKeys } from '../ssh-keys.ts';
import { openAccess, type RemoteAccess } from './access.ts';
import { ClientFileStore } from './client-files.ts';
import type { RemoteNodes } from './remote-nodes.ts';
import { type RemoteTarget, remoteTargets } from './targets.ts';

export const remoteSettings = Type.Object({
  transport: setting(
    oneOf('ssh2', 'process'),
    'how muster uses SSH: its own client, or the `ssh` command (`process`)',
    {
      default: 'ssh2',
    },
  ),
  sshConfig: setting(Path, 'configuration file for the `ssh` command', { defaultText: 'none' }),
  port: setting(Count, 'SSH port on nodes', { default: 22 }),
  hostKeys: setting(
    oneOf('first-use', 'strict'),
    'unknown SSH host keys: accept and remember them, or refuse them (`strict`)',
    {
      default: 'first-use',
    },
  ),
  fanOut: setting(Count, 'nodes that one command works on at the same time', { default: 256 }),
  connectSeconds: setting(Count, 'seconds to connect to a node and start a command there', {
    default: 10,
  }),
  commandSeconds: setting(Count, 'seconds a command may run on a node', { default: 600 }),
  keepSeconds: setting(Count, 'seconds an unused connection is kept', { default: 30 }),
  outputLimit: setting(Count, "bytes to keep of each node's output", { default: 1_048_576, defaultText: '1 MiB' }),
  sources: setting(
    Paths,
    'directories from which accounts without full rights may have files of the management node sent to nodes, and from which synclists may take theirs',
    {
      defaultText: '`DIR/files`, `/install`',
    },
  ),
  clientBytes: setting(Count, 'bytes of files that the clients of one account may send for nodes at a time', {
    default: 4_294_967_296,
    defaultText: '4 GiB',
  }),
  networks: setting(Networks, 'networks of the nodes; muster connects to nodes at no other address', {
    defaultText: 'any address; muster logs a warning at the start',
  }),
  postscripts: setting(Path, 'directory of the postscripts that nodes run', { defaultText: '`DIR/postscripts`' }),
});
export type RemoteSettings = ValuesOf<typeof remoteSettings>;

/** Bytes of output of one command that are kept for all nodes together, as long as each may keep a little. */
const allOutput = 32 * 1024 * 1024;
const leastOutput = 4 * 1024;

/** What commands by SSH are prepared with: where nodes are, what may be sent to them and how much is kept of what they say. */
export class Remote {
  /** The line for authorized_keys on the nodes. */
  readonly publicKey: string;
  /** Nodes that one command works on at once, unless it asks for another number. */
  readonly fanOut: number;
  readonly sources: Sources;
  readonly clientFiles: ClientFileStore;
  /** The directory of the scripts that nodes run. */
  readonly postscripts: string;
  readonly keptOutput = new KeptOutput();
  /** For processes that go to nodes themselves. */
  readonly access: RemoteAccess;
  /** For workers, which have no key of their own. */
  readonly forWorkers: { readonly privateKey: string; readonly hostKeys: RemoteSettings['hostKeys'] };
  readonly #settings: RemoteSettings;
  readonly #hosts: Hosts;
  readonly #guard: AddressGuard;

  readonly #box: SecretBox;

  constructor(
    settings: RemoteSettings,
    { data, hosts, keys, box }: { data: string; hosts: Hosts; keys: SshKeys; box: SecretBox },
  ) {
    const files = join(data, 'files');
    if (settings.sources === undefined) mkdirSync(files, { recursive: true, mode: 0o700 });
    this.publicKey = keys.publicKey;
    this.fanOut = settings.fanOut;
    this.sources = new Sources(settings.sources ?? [files, '/install'], data, [shippedImageFiles]);
    this.clientFiles = new ClientFileStore(join(data, 'client-files'), settings.clientBytes);
    this.postscripts = settings.postscripts ?? join(data, 'postscripts');
    this.access = accessOf(settings, keys);
    this.forWorkers = { privateKey: keys.privateKey, hostKeys: settings.hostKeys };
    this.#settings = settings;
    this.#hosts = hosts;
    this.#box = box;
    this.#guard = new AddressGuard(settings.networks, 'node');
  }

  /** Finds nodes for that user there. Where they are is looked up once, so it is for one command. */
  targets(snapshot: Snapshot, user: string): (node: string) => Promise<RemoteTarget | FaultData> {
    const { port } = this.#settings;
    return remoteTargets({ snapshot, resolve: this.#hosts.resolve(), guard: this.#guard, port, user });
  }

  /** Secrets for nodes that are meant to have them, as stored in the column. */
  opened(sealed: Readonly<Record<string, string>>, column: string): Record<string, string> {
    return Object.fromEntries(Object.entries(sealed).map(([name, text]) => [name, this.#box.open(text, column)]));
  }

  /** Bytes that are kept of each node's output when so many are asked. */
  outputLimit(nodes: number): number {
    return Math.min(this.#settings.outputLimit, Math.max(leastOutput, Math.floor(allOutput / Math.max(1, nodes))));
  }
}

/** The way to nodes, for the process that works on them. */
export const openRemoteNodes = (settings: RemoteSettings, keys: SshKeys, hostKeys: HostKeys): RemoteNodes =>
  openAccess(accessOf(settings, keys), hostKeys, keys.privateKey);

const accessOf = (settings: RemoteSettings, { privateKeyFile }: SshKeys): RemoteAccess => {
  const { transport, sshConfig, keepSeconds, connectSeconds, commandSeconds } = settings;
  return { transport, sshConfig, privateKeyFile, keepSeconds, connectSeconds, commandSeconds };
};

/** Machines that drivers go through to reach theirs; null is this one. */
export const remoteHosts = (
  store: Pick<Store, 'current'>,
  remote: Pick<Remote, 'targets'>,
  nodes: Pick<RemoteNodes, 'socket'>,
) => ({
  async find(host: string, user: string): Promise<RemoteTarget | FaultData | null> {
    if (managementNode(store.current).isMeantBy(host)) return null;
    return remote.targets(store.current, user)(host);
  },
  socket: (...asked: Parameters<RemoteNodes['socket']>) => nodes.socket(...asked),
});

const perUser = 128 * 1024 * 1024;

/** Bounds the bytes of output that are kept for one user at a time, by all commands whose replies are not sent yet. */
export class KeptOutput {
  readonly #limit: number;
  readonly #used = new Map<string, number>();

  constructor(limit = perUser) {
    this.#limit = limit;
  }

  /** Room for one command. `left` says when its reply is sent or its client has left; then it holds nothing any more. */
  until(left: AbortSignal, user: string): Room {
    let own = 0;
    left.addEventListener(
      'abort',
      () => {
        this.#add(user, -own);
        own = 0;
      },
      { once: true },
    );
    return {
      take: (bytes) => {
        const taken = left.aborted ? 0 : Math.min(bytes, this.#limit - (this.#used.get(user) ?? 0));
        own += taken;
        this.#add(user, taken);
        return taken;
      },
    };
  }

  #add(user: string, bytes: number): void {
    const used = (this.#used.get(user) ?? 0) + bytes;
    if (used > 0) this.#used.set(user, used);
    else this.#used.delete(user);
  }
}
