import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2, { type Server } from 'ssh2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

const address = '127.126.9.1';
const port = 2606;
const password = "pass 'word' $(id)";
let server: TestServer;
let node: Server;
let home: string;

/** An SSH server that takes a password; real ones would need a real account for that. */
beforeAll(async () => {
  home = temporaryDirectory();
  const hostKeys = [ssh2.utils.generateKeyPairSync('ed25519').private];
  node = new ssh2.Server({ hostKeys }, (connection) => {
    connection.on('error', () => undefined);
    connection.on('authentication', (context) => {
      if (context.method === 'password' && context.password === password) context.accept();
      else context.reject(['password']);
    });
    connection.on('session', (accept) => {
      accept().once('exec', (take, _refuse, { command }) => {
        const channel = take();
        const child: ChildProcess = spawn('sh', ['-c', command], { env: { ...process.env, HOME: home }, cwd: '/' });
        child.stdout!.pipe(channel, { end: false });
        child.stderr!.pipe(channel.stderr, { end: false });
        child.once('close', (code) => {
          channel.exit(code ?? 255);
          channel.end();
        });
      });
    });
  });
  await new Promise<void>((resolve) => node.listen(port, address, resolve));
  server = await startServer({ config: `[remote]\nport = ${port}\n` });
  await server.ok('POST', '/nodes/k1', { groups: 'all', ip: address });
});
afterAll(async () => {
  await server.stop();
  node.close();
  rmSync(home, { recursive: true });
});

const setUp = (given: string) =>
  server.call('POST', '/nodes/k1/nodeshell', {
    body: { raw: ['-K'], ENV: { DSH_REMOTE_PASSWORD: given, DSH_FROM_USERID: 'root', DSH_TO_USERID: 'root' } },
  });

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
    for (let time = 0; time < 2; time++) {
      const { status, json } = await setUp(password);
      expect([status, json]).toEqual([201, { k1: [] }]);
    }
    expect(readFileSync(join(home, '.ssh/authorized_keys'), 'utf8')).toBe(`ssh-ed25519 AAAA somebody\n${key}\n`);
    expect(JSON.stringify(await server.ok('GET', '/tables/auditlog/rows'))).not.toContain('pass ');
    expect(server.output()).not.toContain('pass ');
  });

  it('is not handed out with a wrong password', async () => {
    expect((await setUp('wrong')).json.error[0]).toContain('does not accept user "root" with the password given');
  });
});
