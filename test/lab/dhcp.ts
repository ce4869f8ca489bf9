import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectNamespaces, makeNamespace, type Namespace } from './netns.ts';

/** What a DHCP client was told, by the names udhcpc gives its script. */
export type Told = Readonly<Record<string, string>>;

export interface ClientOptions {
  /** Options to send, by number: bytes in hex. */
  readonly send?: Readonly<Record<number, string>>;
  /** How often it asks before it gives up; once where nobody is to answer. */
  readonly tries?: number;
  /** Whether it looks first if another machine has the address, and declines it then. */
  readonly looks?: boolean;
}

/** A wire with a namespace at either end: `srv0` of the server, and the client's interface, whose MAC address is any. */
export interface Wire {
  readonly server: Namespace;
  readonly client: Namespace;
  readonly serverNic: string;
  readonly clientNic: string;
  /** Tries to get an address; undefined if nobody gave one. */
  ask(mac: string, options?: ClientOptions): Promise<Told | undefined>;
  /** The same in DHCPv6. */
  ask6(mac: string): Promise<string | undefined>;
  /** The same for a machine that calls itself by a DUID, in hex; empty if it gets no address. */
  ask6As(mac: string, duid: string): Promise<string>;
  /** Asks the server as a machine that has the address whether it may keep it; empty if nobody answers. */
  renew(mac: string, address: string): Promise<string>;
  /** What a relay at the client's end is offered for a machine behind it; `link` is the relay's address there. */
  askAsRelay(from: string, server: string, link: string, mac: string): Promise<string>;
  remove(): void;
}

const [serverNic, clientNic] = ['srv0', 'cli0'];

export function makeWire(addresses: readonly string[]): Wire {
  const server = makeNamespace();
  const client = makeNamespace();
  const directory = mkdtempSync(join(tmpdir(), 'muster-wire-'));
  connectNamespaces(
    { namespace: server, interface: serverNic, addresses },
    { namespace: client, interface: clientNic },
  );
  const file = (name: string): string => join(directory, name);
  writeFileSync(file('script'), '#!/bin/sh\nenv\n');
  chmodSync(file('script'), 0o755);
  const useMac = (mac: string): void => {
    for (const change of [['down'], ['address', mac], ['up']]) client.run('ip', 'link', 'set', clientNic, ...change);
  };
  /** Clients want a link-local address that is beyond doubt. */
  const useMac6 = async (mac: string): Promise<void> => {
    useMac(mac);
    for (let tries = 0; tries < 200; tries++) {
      const shown = client.run('ip', '-6', 'address', 'show', 'dev', clientNic);
      if (shown.includes('fe80') && !shown.includes('tentative')) break;
      await pause(20);
    }
  };
  const runLab = async (program: string, ...words: string[]): Promise<string> =>
    (await run(client.command(process.execPath, join(import.meta.dirname, program), ...words))).trim();
  return {
    server,
    client,
    serverNic,
    clientNic,
    async ask(mac, { send = {}, tries = 4, looks = false } = {}) {
      useMac(mac);
      const sent = Object.entries(send).flatMap(([code, hex]) => ['-x', `0x${Number(code).toString(16)}:${hex}`]);
      const patience = ['-t', String(tries), '-T', '1', '-A', '1'];
      const words = [
        '-f',
        '-q',
        '-n',
        '-i',
        clientNic,
        '-s',
        file('script'),
        ...patience,
        ...sent,
        ...(looks ? ['-a'] : []),
      ];
      const output = await run(client.command('udhcpc', ...words));
      const lines = output.matchAll(/^([a-z]\w*)=(.*)$/gm);
      const told = Object.fromEntries([...lines].map(([, name, value]) => [name, value] as [string, string]));
      return told['ip'] === undefined ? undefined : told;
    },
    async renew(mac, address) {
      useMac(mac);
      client.run('ip', 'address', 'add', `${address}/16`, 'dev', clientNic);
      try {
        const serverAddress = addresses[0]!.split('/')[0]!;
        return await runLab('dhcp-renewal.ts', address, serverAddress, mac);
      } finally {
        client.run('ip', 'address', 'flush', 'dev', clientNic, 'scope', 'global');
      }
    },
    async ask6As(mac, duid) {
      await useMac6(mac);
      return runLab('dhcp6-client.ts', clientNic, duid);
    },
    async ask6(mac) {
      await useMac6(mac);
      rmSync(file('lease'), { force: true });
      const files = ['-sf', file('script'), '-lf', file('lease'), '-pf', file('pid'), '-cf', '/dev/null'];
      const output = await run(
        client.command('timeout', '15', 'dhclient', '-6', '-1', '-v', '-D', 'LL', ...files, clientNic),
      );
      if (existsSync(file('pid'))) await run(['kill', readFileSync(file('pid'), 'utf8').trim()]);
      return /^new_ip6_address=(.*)$/m.exec(output)?.[1];
    },
    askAsRelay: (...words) => runLab('dhcp-relay.ts', ...words),
    remove() {
      server.remove();
      client.remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const run = ([program = '', ...args]: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
    execFile(program, args, { env, timeout: 60_000 }, (_error, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
