import type { WorkerServices } from '../commands/per-node.ts';
import { AddressGuard } from '../core/address-guard.ts';
import type { Effect } from '../core/effects.ts';
import type { ValuesOf } from '../core/settings.ts';
import { type Console, type Devices, type DeviceTarget, type hardwareSettings, openDevices } from '../drivers/index.ts';
import { NodeProbes, openRemoteNodes, type RemoteNodes, type remoteSettings } from '../nodes/index.ts';
import type { JobOrder } from '../bus/index.ts';
import { newKeyPair } from '../protocols/ssh/host-keys.ts';
import { MemoryTrust } from './memory-trust.ts';
import { broughtBy } from './targets.ts';

export interface ServiceSettings {
  readonly hardware: ValuesOf<typeof hardwareSettings>;
  readonly remote: ValuesOf<typeof remoteSettings>;
}

type Report = (effect: Effect) => void;

/** What a BMC has shown first while its console was opened. */
export interface Learned {
  readonly certificate?: string;
  readonly hostKey?: string;
}

/** What a worker works with. Governor, sessions and connections are its own; what it trusts, jobs bring along. */
export class OwnServices {
  readonly #settings: ServiceSettings;
  readonly #devices: Devices;
  readonly #probes: NodeProbes;
  /** By the key to log in with and what is said of unknown hosts: a server that gets another key sends it with its next job. */
  readonly #remotes = new Map<string, RemoteNodes>();
  readonly #certificates = new MemoryTrust((node, fingerprint) =>
    this.#tell(node, { kind: 'certificate', fingerprint }),
  );
  /** By node, what muster has given to its BMC, which may show it from now on. */
  readonly #nextCertificates = new Map<string, string>();
  readonly #hostKeys = new MemoryTrust((node, key) => this.#tell(node, { kind: 'host-key', key }));
  /** Of the SSH servers of BMCs, which have consoles. */
  readonly #processorKeys = new MemoryTrust((node, hostKey) => this.#openings.get(node)?.({ hostKey }));
  readonly #openings = new Map<string, (learned: Learned) => void>();
  /** For jobs that log in nowhere: one that no node knows. */
  readonly #noKey = { privateKey: newKeyPair('worker').privateKey, hostKeys: 'strict' } as const;
  /** Who works on a node, and has the server keep what is learned of it. */
  readonly #reports = new Map<string, Set<Report>>();

  constructor(settings: ServiceSettings, open = openDevices) {
    this.#settings = settings;
    const howToForget = (node: string): string => `DELETE /tables/spcert/rows/node=${node}`;
    this.#devices = open(
      settings.hardware,
      {
        known: (node) => this.#certificates.known(node),
        learn: (node, fingerprint) => this.#certificates.learn(node, fingerprint),
        succeeds: (node, fingerprint) => this.#succeeds(node, fingerprint),
        howToForget,
      },
      {
        policy: 'first-use',
        known: (node) => [this.#processorKeys.known(node)].filter((each) => each !== undefined),
        learn: (node, key) => this.#processorKeys.learn(node, key),
        howToForget,
        howToLearn: howToForget,
      },
    );
    this.#probes = new NodeProbes(new AddressGuard(settings.remote.networks, 'node'));
  }

  /** For a job. */
  for({ ssh }: Pick<JobOrder, 'ssh'>): WorkerServices {
    return { devices: this.#devices, probes: this.#probes, remote: this.#remote(ssh) };
  }

  /** The target as it is reached from here, with what is known of the node from now on. */
  bring(node: string, target: unknown): unknown {
    const brought = broughtBy(target);
    this.#certificates.bring(node, brought.certificate);
    if (brought.nextCertificate === undefined) this.#nextCertificates.delete(node);
    else this.#nextCertificates.set(node, brought.nextCertificate);
    this.#hostKeys.bring(node, brought.hostKey);
    this.#processorKeys.bring(node, brought.processorKey);
    return brought.target;
  }

  /** The server has it count from now on too. */
  async #succeeds(node: string, fingerprint: string): Promise<boolean> {
    if (this.#nextCertificates.get(node)?.toLowerCase() !== fingerprint.toLowerCase()) return false;
    this.#certificates.bring(node, fingerprint);
    this.#tell(node, { kind: 'certificate', fingerprint });
    return true;
  }

  /** Reports what is learned of a node as long as work on it goes on. */
  watch(node: string, report: Report): () => void {
    const reports = this.#reports.get(node) ?? new Set();
    this.#reports.set(node, reports.add(report));
    return () => {
      reports.delete(report);
      if (reports.size === 0) this.#reports.delete(node);
    };
  }

  /** The console of a node. What is learned of its BMC is reported until it is released. */
  console(
    node: string,
    target: DeviceTarget,
    report: (learned: Learned) => void,
  ): { readonly console: () => Console; release(): void } {
    const brought = this.bring(node, target) as DeviceTarget;
    const unwatch = this.watch(node, (effect) => {
      if (effect.kind === 'certificate') report({ certificate: effect.fingerprint });
    });
    this.#openings.set(node, report);
    return {
      console: () => this.#devices.held(brought, 'console', 'rcons'),
      release: () => {
        unwatch();
        if (this.#openings.get(node) === report) this.#openings.delete(node);
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#devices.close(), ...[...this.#remotes.values()].map((remote) => remote.close())]);
  }

  #remote({ privateKey, hostKeys }: NonNullable<JobOrder['ssh']> = this.#noKey): RemoteNodes {
    const { remote: settings } = this.#settings;
    const policy = settings.hostKeys === 'strict' ? 'strict' : hostKeys;
    const key = `${policy} ${privateKey}`;
    let remote = this.#remotes.get(key);
    if (!remote) {
      const known = (node: string): string[] => [this.#hostKeys.known(node)].filter((each) => each !== undefined);
      const keys = { privateKey, privateKeyFile: '', publicKey: '' };
      remote = openRemoteNodes(settings, keys, {
        policy,
        known,
        learn: (node, seen) => this.#hostKeys.learn(node, seen),
        howToForget: (node) => `DELETE /tables/sshhostkey/rows/node=${node}.`,
        howToLearn: (node) => `PUT /tables/sshhostkey/rows/node=${node} with {"hostkey":"ssh-ed25519 AAAA..."}.`,
      });
      this.#remotes.set(key, remote);
    }
    return remote;
  }

  #tell(node: string, effect: Effect): void {
    // The server keeps it once, whoever tells it.
    const [report] = this.#reports.get(node) ?? [];
    report?.(effect);
  }
}
