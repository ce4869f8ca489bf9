import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DnsSettings, layoutOf } from '../../../src/names/dns/layout.ts';
import { temporaryDirectory } from '../../harness/server.ts';
import { Site } from './site.ts';

let site: Site;
let system: string;

const byHand = 'options { listen-on { none; }; listen-on-v6 { none; }; recursion no; };\n';

/** Keeps named as systemd would; the rest of systemd is not there. */
const systemctl = (directory: string): string => `#!/bin/sh
pid=${directory}/named.pid
alive() { [ -f "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null; }
begin() { setsid named -u bind -g -c ${directory}/named.conf >${directory}/log 2>&1 & echo $! >"$pid"; }
case "$1" in
  is-active) alive ;;
  is-failed) ! alive ;;
  start) alive || begin ;;
  kill) [ "$2" = --signal=HUP ] && kill -HUP "$(cat "$pid")" ;;
  --quiet|reset-failed) ;;
  *) echo "systemctl $*: what?" >&2; exit 1 ;;
esac
`;

const path = (): string => `${join(system, 'bin')}:${process.env['PATH']}`;

beforeAll(async () => {
  site = await Site.start();
  // named runs as another user, who must be able to get here.
  system = temporaryDirectory();
  chmodSync(system, 0o755);
  for (const name of ['bin', 'etc']) mkdirSync(join(system, name));
  writeFileSync(join(system, 'bin/systemctl'), systemctl(join(system, 'etc')));
  chmodSync(join(system, 'bin/systemctl'), 0o755);
  writeFileSync(join(system, 'etc/named.conf'), byHand);
  await site.server.stop();
  await site.startMuster({
    PATH: path(),
    MUSTER_DNS_DAEMON: 'systemd',
    MUSTER_DNS_DIRECTORY: join(system, 'zones'),
    MUSTER_DNS_CONFIGURATION: join(system, 'etc/named.conf'),
  });
});
afterAll(async () => {
  await site.stop();
  process.kill(Number(readFileSync(join(system, 'etc/named.pid'), 'utf8')), 'SIGKILL');
  rmSync(system, { recursive: true });
});

it('a named that systemd keeps is started, reloaded and left alone', async () => {
  await site.nodes({ n1: { ip: '10.77.1.1' }, n2: { ip: '10.77.1.2' } });
  await site.server.ok('POST', '/services/dns');
  await site.server.ok('DELETE', '/nodes/n2/dns');
  await site.server.ok('POST', '/services/dns');
  expect(site.dig('n2.cluster.test')).toEqual(['10.77.1.2']);
  expect(readFileSync(join(system, 'etc/named.conf.before-muster'), 'utf8')).toBe(byHand);
  await site.server.stop();
  expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
  await site.startMuster({ MUSTER_DNS_DAEMON: 'none' });
});

const settings: DnsSettings = {
  daemon: 'systemd',
  directory: undefined,
  configuration: undefined,
  user: undefined,
  listen: undefined,
};

it('the files of a system’s named are where Debian has them', () => {
  const { directory, configuration, user, server } = layoutOf(settings, '/data')!;
  expect({ directory, configuration, user: user?.name, server }).toEqual({
    directory: '/var/lib/bind/muster',
    configuration: '/etc/bind/named.conf',
    user: 'bind',
    server: { host: '127.0.0.1', port: 53 },
  });
});

it.each([
  [{ daemon: 'process', user: 'bind' }, /needs dns\.directory too/],
  [{ daemon: 'process', user: 'nosuchuser' }, /dns\.user names "nosuchuser"/],
  [{ daemon: 'process', directory: '/a"b' }, /cannot be a path/],
  [{ daemon: 'process', directory: '/a\nb' }, /cannot be a path/],
] as const)('refuses %j', (values, message) => {
  expect(() => layoutOf({ ...settings, ...values }, '/data')).toThrow(message);
});

it('keeps none where the settings say so', () => {
  expect(layoutOf({ ...settings, daemon: 'none' }, '/data')).toBeUndefined();
});
