import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKeyPair } from '../../src/protocols/ssh/host-keys.ts';
import { written } from '../harness/output.ts';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { waitBound } from '../lab/bound.ts';
import { type LabChild, startChild } from '../lab/child.ts';

const address = '127.126.9.1';
const port = 2606;
const password = "pass 'word' $(id)";
const account = { name: 'keyholder', id: 4711 };
let server: TestServer;
let sshd: LabChild;
let directory: string;
let home: string;

/** A real sshd that takes passwords; the account is seen in its mount namespace only. */
beforeAll(async () => {
  directory = temporaryDirectory();
  chmodSync(directory, 0o755);
  home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  chownSync(home, account.id, account.id);
  sshd = startSshd();
  await waitBound('tcp', [address], port, [sshd]);
  server = await startServer({ config: `[remote]\nport = ${port}\n` });
  await server.ok('POST', '/nodes/k1', { groups: 'all', ip: address });
});
afterAll(async () => {
  await server?.stop();
  await sshd?.stop();
  rmSync(directory, { recursive: true });
});

function startSshd(): LabChild {
  const at = (name: string): string => join(directory, name);
  const hash = execFileSync('openssl', ['passwd', '-6', '-stdin'], { input: password }).toString().trim();
  const { name, id } = account;
  const passwd = `${readFileSync('/etc/passwd', 'utf8')}${name}:x:${id}:${id}::${home}:/bin/sh\n`;
  writeFileSync(at('passwd'), passwd, { mode: 0o644 });
  writeFileSync(at('shadow'), `${name}:${hash}:19000:0:99999:7:::\n`, { mode: 0o600 });
  writeFileSync(at('host.key'), newKeyPair('lab').privateKey, { mode: 0o600 });
  const configuration = [
    `ListenAddress ${address}:${port}`,
    `HostKey ${at('host.key')}`,
    'PasswordAuthentication yes',
    'KbdInteractiveAuthentication no',
    'UsePAM no',
    'PidFile none',
  ];
  writeFileSync(at('sshd.conf'), `${configuration.join('\n')}\n`);
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const script =
    'mount --bind passwd /etc/passwd && mount --bind shadow /etc/shadow && exec /usr/sbin/sshd -D -e -f "$1"';
  const words = ['-m', 'sh', '-c', script, 'sh', at('sshd.conf')];
  return startChild('unshare', words, { directory, logFile: at('sshd.log') });
}

const setUp = (given: string) =>
  server.call('POST', '/nodes/k1/nodeshell', {
    body: { raw: ['-K'], ENV: { DSH_REMOTE_PASSWORD: given, DSH_FROM_USERID: 'root', DSH_TO_USERID: account.name } },
  });
const whoAmI = () =>
  server.call('POST', '/nodes/k1/nodeshell', { body: { command: 'id -un', raw: ['-l', account.name] } });

describe("muster's key", () => {
  it('is told by the service and by the command line', async () => {
    const [key] = await server.ok('GET', '/services/sshkey');
    expect(key).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]+ muster$/);
    const { code, output } = await runMuster(['sshkey', '--data', server.data]);
    expect([code, output]).toEqual([0, `${key}\n`]);
    expect(statSync(join(server.data, 'ssh/id_ed25519')).mode & 0o777).toBe(0o600);
  });

  it('is made by the command line where there is none yet', async () => {
    const data = temporaryDirectory();
    const { code, output } = await runMuster(['--data', data, 'sshkey']);
    expect(code).toBe(0);
    expect(readFileSync(join(data, 'ssh/id_ed25519.pub'), 'utf8')).toBe(output);
    rmSync(data, { recursive: true });
  });

  it('is handed out to nodes with the password (-K), once, and the password is in no log', async () => {
    const [key] = await server.ok('GET', '/services/sshkey');
    mkdirSync(join(home, '.ssh'));
    writeFileSync(join(home, '.ssh/authorized_keys'), 'ssh-ed25519 AAAA somebody');
    for (const name of ['.ssh', '.ssh/authorized_keys']) chownSync(join(home, name), account.id, account.id);
    expect((await whoAmI()).json.error[0]).toContain(
      `does not accept user "${account.name}" with muster's key; the line of GET /services/sshkey must be in`,
    );
    for (let time = 0; time < 2; time++) {
      const { status, json } = await setUp(password);
      expect([status, json]).toEqual([201, { k1: [] }]);
    }
    expect(readFileSync(join(home, '.ssh/authorized_keys'), 'utf8')).toBe(`ssh-ed25519 AAAA somebody\n${key}\n`);
    expect((await whoAmI()).json).toEqual({ k1: [account.name] });
    expect(JSON.stringify(await server.ok('GET', '/tables/auditlog/rows'))).not.toContain('pass ');
    expect(await written(server)).not.toContain('pass ');
  });

  it('is handed out to who has no directory for keys yet, readable by its owner only', async () => {
    rmSync(join(home, '.ssh'), { recursive: true });
    expect((await setUp(password)).status).toBe(201);
    expect(statSync(join(home, '.ssh')).mode & 0o777).toBe(0o700);
    expect(statSync(join(home, '.ssh/authorized_keys')).mode & 0o777).toBe(0o600);
    expect((await whoAmI()).json).toEqual({ k1: [account.name] });
  });

  it('is not handed out to the management node', async () => {
    const here = hostname().split('.')[0]!;
    await server.ok('POST', `/nodes/${here}`, { groups: 'all' });
    const body = { raw: ['-K'], ENV: { DSH_REMOTE_PASSWORD: password } };
    const { status, json } = await server.call('POST', `/nodes/k1,${here}/nodeshell`, { body });
    expect([status, json.error[0]]).toEqual([403, expect.stringContaining(`${here} is the management node`)]);
  });

  it('is not handed out with a wrong password', async () => {
    expect((await setUp('wrong')).json.error[0]).toContain('does not accept user "keyholder" with the password given');
  });
});
