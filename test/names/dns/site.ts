import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startServer, temporaryDirectory, type TestServer } from '../../harness/server.ts';

/** A port that is free for both TCP and UDP. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port: chosen } = server.address() as { port: number };
        server.close(() => resolve(chosen));
      });
    });
    const isFree = await new Promise<boolean>((resolve) => {
      const socket = createSocket('udp4').once('error', () => resolve(false));
      socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** What dig prints with +short, its lines sorted; `port` on 127.0.0.1. */
export function dig(port: number, ...question: string[]): string[] {
  const args = ['@127.0.0.1', '-p', String(port), '+short', '+tries=3', '+time=2', ...question];
  return execFileSync('dig', args, { encoding: 'utf8' }).split('\n').filter(Boolean).sort();
}

/** All records of a zone but its start of authority, as "name type data", sorted. */
export function zoneRecords(port: number, keyFile: string, zone: string): string[] {
  const args = ['@127.0.0.1', '-p', String(port), '-k', keyFile, '+noall', '+answer', '+time=5', zone, 'AXFR'];
  const lines = execFileSync('dig', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).split('\n');
  const records = lines.flatMap((line) => {
    const [name, , , type, ...data] = line.split(/\s+/);
    return !name || type === undefined || ['SOA', 'TSIG', 'NS'].includes(type)
      ? []
      : `${name} ${type} ${data.join(' ')}`;
  });
  return records.sort();
}

/** Changes a zone as somebody else would. */
export function nsupdate(port: number, keyFile: string, ...lines: string[]): void {
  const input = [`server 127.0.0.1 ${port}`, ...lines, 'send', ''].join('\n');
  const { status, stderr } = spawnSync('nsupdate', ['-v', '-k', keyFile], { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

/** muster with a data directory that stays, a hosts file of its own, and named on a port of its own. */
export class Site {
  readonly data = temporaryDirectory();
  readonly hostsFile = join(this.data, 'hosts');
  readonly port: number;
  server!: TestServer;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<Site> {
    const site = new Site(await freePort());
    writeFileSync(site.hostsFile, '127.0.0.1 localhost\n');
    await site.startMuster();
    await site.attribute('domain', 'cluster.test');
    await site.attribute('master', '10.77.0.1');
    // Nothing is asked outside this machine.
    await site.attribute('forwarders', '127.0.0.1');
    await site.attribute('dnsforwardmode', 'only');
    await site.server.ok('POST', '/networks/net77', { net: '10.77.0.0', mask: '255.255.0.0' });
    return site;
  }

  get keyFile(): string {
    return join(this.data, 'dns/muster.key');
  }

  async startMuster(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    this.server = await startServer({
      data: this.data,
      environment: {
        MUSTER_DNS_DAEMON: 'process',
        MUSTER_DNS_LISTEN: `127.0.0.1:${this.port}`,
        MUSTER_HOSTS_FILE: this.hostsFile,
        ...environment,
      },
    });
  }

  attribute(name: string, value: string): Promise<unknown> {
    return this.server.ok('PUT', `/globalconf/attrs/${name}`, { [name]: value });
  }

  /** Defines nodes and writes them into the hosts file. */
  async nodes(definitions: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<void> {
    const all = Object.entries(definitions).map(([name, values]) => [name, { groups: 'all', ...values }]);
    await this.server.ok('PUT', '/nodes', Object.fromEntries(all));
    await this.server.ok('POST', `/nodes/${Object.keys(definitions).join(',')}/host`);
  }

  dig(...question: string[]): string[] {
    return dig(this.port, ...question);
  }

  zone(name: string): string[] {
    return zoneRecords(this.port, this.keyFile, name);
  }

  serial(zone: string): number {
    return Number(this.dig(zone, 'SOA')[0]?.split(' ')[2]);
  }

  namedPid(): number {
    return Number(readFileSync(join(this.data, 'dns/named.process'), 'utf8').split(' ')[0]);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.data, { recursive: true, force: true });
  }
}
