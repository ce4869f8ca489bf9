import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { exitOf } from '../../harness/server.ts';
import { dig, freePort, nsupdate, Site } from './site.ts';

let site: Site;
let port: number;
let keyFile: string;
let foreign: ChildProcess;

const secret = Buffer.from('a secret of thirty-two bytes ....').toString('base64');

/** A name server that muster does not know how to configure, with one zone for all of 10/8. */
async function startForeign(directory: string): Promise<void> {
  mkdirSync(directory);
  chmodSync(directory, 0o755);
  const zone = '$TTL 60\n@ IN SOA ns.corp.test. root.corp.test. ( 5 60 60 60 60 )\n@ IN NS ns.corp.test.\n';
  for (const name of ['cluster.test', '10.in-addr.arpa']) writeFileSync(join(directory, `db.${name}`), zone);
  const zones = ['cluster.test', '10.in-addr.arpa'].map(
    (name) => `zone "${name}" { type primary; file "db.${name}"; allow-update { key "corp_key"; }; };`,
  );
  keyFile = join(directory, 'key');
  writeFileSync(keyFile, `key "corp_key" { algorithm hmac-sha512; secret "${secret}"; };\n`);
  const conf = `include "${keyFile}"; controls { };
    options { directory "${directory}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
      pid-file none; session-keyfile none; recursion no; };
    ${zones.join('\n')}\n`;
  writeFileSync(join(directory, 'named.conf'), conf);
  await startAgain(directory);
}

/** With a changed configuration, if it is to be changed. */
async function startAgain(directory: string, change = (conf: string): string => conf): Promise<void> {
  const conf = join(directory, 'changed.conf');
  writeFileSync(conf, change(readFileSync(join(directory, 'named.conf'), 'utf8')));
  foreign = spawn('named', ['-g', '-c', conf], { stdio: 'ignore' });
  await vi.waitFor(() => expect(dig(port, 'version.bind', 'CH', 'TXT')).toHaveLength(1), { timeout: 15_000 });
}

async function kill(): Promise<void> {
  const ended = exitOf(foreign);
  foreign.kill('SIGKILL');
  await ended;
}

const ask = (...question: string[]): string[] => {
  try {
    return dig(port, ...question);
  } catch {
    return [];
  }
};

const post = (path: string) => site.server.call('POST', path);
const row = '/tables/passwd/rows/key=omapi,username=corp_key';

beforeAll(async () => {
  port = await freePort();
  site = await Site.start();
  await startForeign(join(site.data, 'foreign'));
  await site.nodes({ n1: { ip: '10.77.1.1', hostnames: 'login' }, n2: { ip: '10.77.1.2' } });
  await site.attribute('externaldns', '1');
  await site.attribute('nameservers', `127.0.0.1:${port}`);
});
afterAll(async () => {
  if (foreign.signalCode === null) foreign.kill('SIGKILL');
  await site.stop();
});

describe('a name server elsewhere', () => {
  it('needs its key, and the error says where it goes', async () => {
    const reply = await post('/nodes/n1/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining('key=omapi')]);
  });

  it.each([
    [{ password: 'not base64!', cryptmethod: 'hmac-sha512' }, /the password is not base64/],
    [{ password: secret, cryptmethod: 'rot13' }, /"rot13" is none of hmac-md5/],
  ])('refuses the key %j', async (values, message) => {
    await site.server.ok('PUT', row, values);
    const reply = await post('/nodes/n1/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringMatching(message)]);
  });

  it.each([
    [{ password: Buffer.from('wrong').toString('base64'), cryptmethod: 'hmac-sha512' }, /BADSIG/],
    [{ password: secret, cryptmethod: 'hmac-sha256' }, /BADKEY/],
  ])('that does not accept the key says so: %j', async (values, message) => {
    await site.server.ok('PUT', row, values);
    const reply = await post('/nodes/n1/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([503, expect.stringMatching(message)]);
    expect(ask('n1.cluster.test')).toEqual([]);
  });

  it('gets the records, in the zones it has', async () => {
    await site.server.ok('PUT', row, { password: secret, cryptmethod: 'hmac-sha512' });
    await site.server.ok('POST', '/nodes/n1/dns');
    expect(ask('n1.cluster.test')).toEqual(['10.77.1.1']);
    expect(ask('-x', '10.77.1.1')).toEqual(['n1.cluster.test.']);
    expect(ask('login.cluster.test', 'CNAME')).toEqual(['n1.cluster.test.']);
  });

  it('gets the whole hosts file with POST /services/dns, and no local server is started', async () => {
    await site.server.ok('POST', '/services/dns');
    expect(ask('n2.cluster.test')).toEqual(['10.77.1.2']);
    expect(() => site.dig('n1.cluster.test')).toThrow();
  });

  it('loses only what was ours', async () => {
    nsupdate(port, keyFile, 'update add n1.cluster.test 60 A 10.77.1.200');
    await site.server.ok('DELETE', '/nodes/n1,n2/dns');
    expect(ask('n1.cluster.test')).toEqual(['10.77.1.200']);
    expect([ask('login.cluster.test'), ask('n2.cluster.test'), ask('-x', '10.77.1.1')]).toEqual([[], [], []]);
  });

  it('loses what a node had in a domain that is no more the site’s', async () => {
    await site.server.ok('POST', '/nodes/n2/dns');
    await site.server.ok('PUT', '/networks/net77', { domain: 'x.cluster.test' });
    await site.server.ok('POST', '/nodes/n2/host');
    await site.server.ok('POST', '/nodes/n2/dns');
    expect([ask('n2.cluster.test'), ask('n2.x.cluster.test')]).toEqual([[], ['10.77.1.2']]);
    await site.server.ok('PUT', '/networks/net77', { domain: '' });
    await site.server.ok('DELETE', '/nodes/n2/dns');
    expect(ask('n2.x.cluster.test')).toEqual([]);
  });

  it('without the zone is an error; without a reverse zone records of addresses (PTR) are left out', async () => {
    await site.server.ok('POST', '/networks/lan', { net: '192.168.5.0', mask: '255.255.255.0' });
    await site.server.ok('POST', '/networks/other', {
      net: '192.168.6.0',
      mask: '255.255.255.0',
      domain: 'nowhere.test',
    });
    await site.server.ok('POST', '/networks/quarter', { net: '192.168.7.64', mask: '255.255.255.192' });
    await site.nodes({ l1: { ip: '192.168.5.1' }, o1: { ip: '192.168.6.1' }, q1: { ip: '192.168.7.65' } });
    const { debug } = (await site.server.call('POST', '/nodes/l1,q1/dns', { query: { debug: 1 } })).json as {
      debug: string[];
    };
    expect(debug.join('\n')).toContain(
      'has no zone 5.168.192.in-addr.arpa that we may change; records of addresses (PTR) are left out',
    );
    // Part of a zone there is no zone of its own.
    expect(debug.join('\n')).toContain('has no zone 7.168.192.in-addr.arpa that we may change');
    expect([ask('l1.cluster.test'), ask('q1.cluster.test')]).toEqual([['192.168.5.1'], ['192.168.7.65']]);
    const reply = await post('/nodes/o1/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([503, expect.stringContaining('no zone for nowhere.test')]);
  });

  it('that has not loaded a zone keeps our records, and so do our notes', async () => {
    const directory = join(site.data, 'foreign');
    await site.server.ok('POST', '/nodes/n2/dns');
    await kill();
    // muster would remember for a minute which zones the server has.
    await site.server.stop();
    await site.startMuster();
    await startAgain(directory, (conf) => conf.replaceAll('file "db.', 'file "lost.'));
    const reply = await site.server.call('DELETE', '/nodes/n2/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([503, expect.stringContaining('SERVFAIL')]);
    await kill();
    await startAgain(directory);
    expect(ask('n2.cluster.test')).toEqual(['10.77.1.2']);
    await site.server.ok('DELETE', '/nodes/n2/dns');
    expect([ask('n2.cluster.test'), ask('-x', '10.77.1.2')]).toEqual([[], []]);
  });

  it('may show its zones to the holder of the key only', async () => {
    const directory = join(site.data, 'foreign');
    await kill();
    await site.server.stop();
    await site.startMuster();
    const zones = /zone .*/s;
    await startAgain(directory, (conf) =>
      conf.replace(zones, (text) => `view "ours" { match-clients { key "corp_key"; }; ${text} }; view "all" { };`),
    );
    nsupdate(port, keyFile, 'zone cluster.test', 'update add n2.cluster.test 60 CNAME www.corp.test.');
    const reply = await post('/nodes/n2/dns');
    expect(reply.json.error[0]).toContain('(CNAME www.corp.test)');
    nsupdate(port, keyFile, 'zone cluster.test', 'update delete n2.cluster.test CNAME');
    await site.server.ok('POST', '/nodes/n2/dns');
    expect([ask('n2.cluster.test'), ask('-k', keyFile, 'n2.cluster.test')]).toEqual([[], ['10.77.1.2']]);
  });

  it('that is away is a clear error', async () => {
    await kill();
    const reply = await post('/nodes/n1/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([503, expect.stringMatching(/127\.0\.0\.1:\d+ cannot be/)]);
  });

  it('must be named by its address', async () => {
    await site.attribute('nameservers', 'dns.corp.test');
    const reply = await post('/nodes/n1/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining('site.nameservers')]);
  });
});
