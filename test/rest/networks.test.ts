import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import {
  removeDirectory,
  rootPassword,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from '../process/process.ts';

/** Asks a server from inside the network namespace; prints status and body. */
const asking = `const [url, method, body] = process.argv.slice(1);
const init = body ? { method, body, headers: { 'Content-Type': 'application/json' } } : { method };
const reply = await fetch(url, init);
console.log(JSON.stringify([reply.status, await reply.text()]));`;

// Interfaces and namespaces are for root only.
describe.skipIf(process.getuid!() !== 0)('the networks of the machine', () => {
  const namespace = `muster-net-${process.pid}`;
  const data = temporaryDirectory();
  const inside = (...command: string[]): string[] => ['ip', 'netns', 'exec', namespace, ...command];
  const ip = (...args: string[]): Buffer => execFileSync('ip', ['-n', namespace, ...args]);
  let service: Service;

  // oxlint-disable-next-line no-explicit-any -- tests look into replies of every shape
  function ask(method: string, path: string, body?: unknown): { status: number; json: any } {
    const url = `https://127.0.0.1:${service.port}/muster${path}`;
    const credentials = `${path.includes('?') ? '&' : '?'}userName=root&userPW=${rootPassword}`;
    const [program, ...args] = inside(process.execPath, '--input-type=module', '-e', asking, url + credentials, method);
    const output = execFileSync(program!, body === undefined ? args : [...args, JSON.stringify(body)], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: `${data}/tls/ca.pem` },
      encoding: 'utf8',
    });
    const [status, text] = JSON.parse(output) as [number, string];
    return { status, json: text === '' ? undefined : JSON.parse(text) };
  }

  const environment = () => ({ HOME: data, MUSTER_SOCKET: `${data}/muster.sock` });
  const command = (...words: string[]) => ended(muster, words, environment());

  beforeAll(async () => {
    execFileSync('ip', ['netns', 'add', namespace]);
    ip('link', 'set', 'lo', 'up');
    ip('link', 'add', 'rack0', 'type', 'veth', 'peer', 'name', 'rack1');
    ip('addr', 'add', '10.50.1.1/24', 'dev', 'rack0');
    ip('addr', 'add', '10.50.1.2/32', 'dev', 'rack0');
    ip('addr', 'add', 'fd00:5::1/64', 'dev', 'rack0', 'nodad');
    ip('addr', 'add', '169.254.7.1/16', 'dev', 'rack0');
    ip('addr', 'add', '10.60.4.1/22', 'dev', 'rack1');
    ip('link', 'set', 'rack0', 'up', 'mtu', '1400');
    ip('link', 'set', 'rack1', 'up');
    ip('route', 'add', 'default', 'via', '10.50.1.254');
    ip('route', 'add', '10.70.0.0/16', 'via', '10.50.1.253');
    ip('route', 'add', 'unreachable', '10.71.0.0/16');
    ip('route', 'add', 'blackhole', '10.72.0.0/16');
    service = await startService(data, { under: inside() });
  });
  afterAll(async () => {
    await stopService(service);
    execFileSync('ip', ['netns', 'del', namespace]);
    removeDirectory(data);
  });

  it('are shown as adapters', () => {
    const mac = expect.stringMatching(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
    const { json } = ask('GET', '/localres/adapters');
    for (const [name, address] of [
      ['rack0', '10.50.1.1/24'],
      ['rack0', 'fd00:5::1/64'],
      ['rack1', '10.60.4.1/22'],
    ])
      expect(json).toContainEqual({ name, ip: address, mac });
    expect(json.map(({ name }: { name: string }) => name)).not.toContain('lo');
  });

  it('are told by a dry run, and nothing is written', () => {
    const { json } = ask('POST', '/networks?dryRun=1');
    expect(json.changes.map(({ after }: { after: { netname: string } }) => after.netname).sort()).toEqual([
      '10_50_1_0-255_255_255_0',
      '10_60_4_0-255_255_252_0',
      'fd00:5::',
    ]);
    expect(ask('GET', '/networks').json).toEqual([]);
  });

  it('refuse what they cannot be given', () => {
    expect(ask('POST', '/networks', { nosuch: 'x' }).status).toBe(403);
    expect(ask('POST', '/networks', { net: '10.0.0.0' }).json.error).toEqual([
      'The attribute net of these networks comes from the interfaces.',
    ]);
    expect(ask('POST', '/networks', { gateway: 'not an address' }).status).toBe(403);
    // It is in one of them only.
    expect(ask('POST', '/networks', { gateway: '10.50.1.253' }).json.error).toEqual([
      'Network 10_60_4_0-255_255_252_0, gateway: 10.50.1.253 is not inside 10.60.4.0/22; give an address of the network, or <xcatmaster>.',
    ]);
    expect(ask('GET', '/networks').json).toEqual([]);
  });

  it('are defined with what the body gives, but those that are there stay', () => {
    ask('POST', '/networks/mine', { net: '10.60.4.0', mask: '/22', mgtifname: 'x' });
    expect(ask('POST', '/networks', { domain: 'c.com' })).toEqual({ status: 201, json: undefined });
    const common = { domain: 'c.com', tftpserver: '<xcatmaster>' };
    expect(ask('GET', '/networks/ALLRESOURCES').json).toEqual({
      '10_50_1_0-255_255_255_0': {
        ...common,
        net: '10.50.1.0',
        mask: '255.255.255.0',
        mgtifname: 'rack0',
        mtu: '1400',
        gateway: '10.50.1.254',
      },
      'fd00:5::': {
        ...common,
        net: 'fd00:5::',
        mask: '/64',
        mgtifname: 'rack0',
        mtu: '1400',
        gateway: '<xcatmaster>',
      },
      mine: { net: '10.60.4.0', mask: '/22', mgtifname: 'x' },
    });
  });

  it('are left alone by a second time, and a name that is taken is told', () => {
    ask('DELETE', '/networks/mine');
    ask('POST', '/networks/10_60_4_0-255_255_252_0', { net: '10.99.0.0', mask: '255.255.0.0' });
    const before = ask('GET', '/networks/ALLRESOURCES').json;
    const { status, json } = ask('POST', '/networks?debug=1', { domain: 'other.org' });
    expect(status).toBe(201);
    expect(json.debug).toContain("Ignoring 10.60.4.0/22: another network has the name '10_60_4_0-255_255_252_0'.");
    for (const [name, value] of [
      ['gateway', 'not an address'],
      ['mtu', 'large'],
      ['domain', 'two\nlines'],
    ] as const)
      expect(ask('POST', '/networks', { [name]: value }).json.error[0]).toMatch(`networks.${name}: `);
    expect(ask('GET', '/networks/ALLRESOURCES').json).toEqual(before);
  });

  it('are shown by makenetworks -d, those that are defined too, as stanzas that chdef -z reads', async () => {
    const { code, stdout } = await command('makenetworks', '-d');
    expect([code, stdout.split('\n')[1]]).toEqual([0, expect.stringMatching(/^#From .+\.$/)]);
    const own = ['net=10.50.1.0', 'mask=255.255.255.0', 'gateway=10.50.1.254', 'mgtifname=rack0', 'mtu=1400'];
    const stanza = ['10_50_1_0-255_255_255_0:', 'objtype=network', ...own, 'tftpserver=<xcatmaster>'].join('\n    ');
    expect(stdout).toContain(`${stanza}\n# Note: An equivalent xCAT network definition already exists.\n\n`);
    expect(stdout).toContain('    tftpserver=<xcatmaster>\n\n');
    expect((await ended(muster, ['chdef', '-z'], environment(), stdout)).code).toBe(0);
  });

  it('behind routers get routes, which never replace those of others', async () => {
    const routes = () => ip('route', 'show').toString();
    for (const [name, net, gateway] of [
      ['storage', '10.80.0.0', '10.50.1.250'],
      ['taken', '10.70.0.0', '10.50.1.250'],
      ['connected', '10.60.0.0', '10.50.1.250'],
    ] as const)
      ask('PUT', `/tables/routes/rows/routename=${name}`, { net, mask: '255.255.0.0', gateway });
    const before = routes();
    const none = 'No routes defined in the site.mnroutenames for the management node.\n';
    expect(await command('makeroutes')).toEqual({ code: 0, stdout: none, stderr: '' });
    ask('PUT', '/globalconf/attrs/mnroutenames', { mnroutenames: 'storage' });
    expect(await command('makeroutes')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(routes()).toContain('10.80.0.0/16 via 10.50.1.250 dev rack0');
    expect((await command('makeroutes', '-r', 'storage')).stdout).toBe('Route storage is set already.\n');
    const taken = await command('makeroutes', '-r', 'taken');
    expect([taken.code, taken.stderr]).toEqual([
      1,
      expect.stringContaining('there is another route to 10.70.0.0/16 (via 10.50.1.253 dev rack0)'),
    ]);
    // One that is wrong keeps all others from being set.
    ask('PUT', '/tables/routes/rows/routename=wrong', { net: '10.81.0.0', mask: '255.255.0.0', gateway: 'nobody' });
    ask('PUT', '/tables/routes/rows/routename=other', {
      net: '10.82.0.0',
      mask: '255.255.0.0',
      gateway: '10.50.1.250',
    });
    expect((await command('makeroutes', '-r', 'other,wrong')).stderr).toContain(
      'its gateway "nobody" is not an IPv4 address',
    );
    expect(routes()).not.toContain('10.82.0.0');
    expect((await command('makeroutes', '-d', '-r', 'taken')).stdout).toBe('Route taken was not set.\n');
    expect(await command('makeroutes', '-d')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(routes()).toBe(before);
    ask('PUT', '/tables/routes/rows/routename=wrong', { net: '0.0.0.0', mask: '0.0.0.0', gateway: '10.50.1.250' });
    expect(ask('POST', '/services/routes', { routes: ['wrong'] }).json.error[0]).toContain('the default route');
    expect(ask('DELETE', '/services/routes', { routes: ['nosuch'] }).status).toBe(404);
  });
});
