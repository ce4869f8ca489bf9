import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AddressGuard } from '../../core/address-guard.ts';
import { NamedPlaces } from '../../core/places.ts';
import { NamedTurns } from '../../core/turns.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { SshClient } from '../../protocols/ssh/client.ts';
import { SshProcesses } from '../../protocols/ssh/process.ts';
import type { Transport } from '../../protocols/ssh/transport.ts';
import type { Hosts } from '../hosts/hosts.ts';
import { SshHostKeys } from '../ssh-host-keys.ts';
import { openSshKeys, type SshKeys } from '../ssh-keys.ts';
import { KeptOutput } from './kept-output.ts';
import { RemoteNodes } from './remote-nodes.ts';
import type { RemoteSettings } from './settings.ts';
import { Sources } from './sources.ts';
import { Targets } from './targets.ts';

/** Bytes of output of one command that are kept for all nodes together, as long as each may keep a little. */
const allOutput = 32 * 1024 * 1024;
const leastOutput = 4 * 1024;
/** Nodes that are worked on for one user at once, by all that the user has asked for: each takes a connection. */
const nodesPerUser = 1_024;

/** Runs commands on nodes and sends files to them. */
export class Remote {
  /** The line for authorized_keys on the nodes. */
  readonly publicKey: string;
  /** Nodes that one command works on at once, unless it is told otherwise. */
  readonly fanOut: number;
  readonly sources: Sources;
  /** The directory of the scripts that nodes run. */
  readonly postscripts: string;
  /** Of nodes that are brought up to date: each by one at a time. */
  readonly updateTurns = new NamedTurns();
  /** By the user of the API. */
  readonly places = new NamedPlaces(nodesPerUser);
  readonly keptOutput = new KeptOutput();
  readonly #settings: RemoteSettings;
  readonly #hosts: Hosts;
  readonly #guard: AddressGuard;
  readonly #transport: Transport;

  constructor(settings: RemoteSettings, { data, store, hosts }: { data: string; store: Store; hosts: Hosts }) {
    const keys = openSshKeys(data);
    const files = join(data, 'files');
    if (settings.sources === undefined) mkdirSync(files, { recursive: true });
    this.publicKey = keys.publicKey;
    this.fanOut = settings.fanOut;
    this.sources = new Sources(settings.sources ?? [files, '/install'], data);
    this.postscripts = settings.postscripts ?? join(data, 'postscripts');
    this.#settings = settings;
    this.#hosts = hosts;
    this.#guard = new AddressGuard(settings.networks, 'node');
    this.#transport = openTransport(settings, keys, new SshHostKeys(store, settings.hostKeys));
  }

  /** Nodes as that user sees them. Where they are is looked up once, so it is for one command. */
  as(snapshot: Snapshot, user: string): RemoteNodes {
    const { port, connectSeconds, commandSeconds } = this.#settings;
    const resolve = this.#hosts.resolve();
    return new RemoteNodes({
      transport: this.#transport,
      targets: new Targets({ snapshot, resolve, guard: this.#guard, port, user }),
      connectDeadline: connectSeconds * 1_000,
      commandDeadline: commandSeconds * 1_000,
    });
  }

  /** Bytes that are kept of each node's output when so many are asked. */
  outputLimit(nodes: number): number {
    return Math.min(this.#settings.outputLimit, Math.max(leastOutput, Math.floor(allOutput / Math.max(1, nodes))));
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

function openTransport(settings: RemoteSettings, keys: SshKeys, hostKeys: SshHostKeys): Transport {
  const { transport, sshConfig, keepSeconds } = settings;
  if (transport === 'ssh2') return new SshClient({ privateKey: keys.privateKey, hostKeys, idle: keepSeconds * 1_000 });
  return new SshProcesses({ keyFile: keys.privateKeyFile, configuration: sshConfig, hostKeys });
}
