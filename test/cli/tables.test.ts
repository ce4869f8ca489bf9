import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exampleRows } from '../harness/example-rows.ts';
import { resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import type { Outcome } from './replay/cases.ts';

const muster = join(import.meta.dirname, '../../bin/muster');

describe('tables on the command line', () => {
  let server: TestServer;
  let scratch: string;
  beforeAll(async () => {
    server = await startServer();
    scratch = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  });
  beforeEach(() => resetTo(server, exampleRows));
  afterAll(async () => {
    rmSync(scratch, { recursive: true, force: true });
    await server.stop();
  });

  const run = (argv: readonly string[], { env = {}, stdin = '' } = {}): Promise<Outcome> =>
    new Promise((resolve) => {
      const environment = {
        PATH: process.env['PATH'],
        HOME: scratch,
        TMPDIR: scratch,
        MUSTER_URL: `https://127.0.0.1:${server.port}`,
        MUSTER_TOKEN: server.token,
        MUSTER_CA: join(server.data, 'tls/ca.pem'),
        ...env,
      };
      const child = execFile(muster, argv, { env: environment, cwd: scratch }, (error, stdout, stderr) =>
        resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) }),
      );
      child.stdin!.end(stdin);
    });
  const printed = async (...argv: string[]): Promise<string> => {
    const outcome = await run(argv);
    expect([outcome.code, outcome.stderr]).toEqual([0, '']);
    return outcome.stdout;
  };

  /** A program that does to the file it is called with what the shell text says, with the file as $1. */
  const editor = (text: string): string => {
    const file = join(scratch, 'editor');
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  };
  const temporaryFiles = (): string[] => readdirSync(scratch).filter((name) => name.startsWith('muster-edit-'));

  it('lets a table be edited, shows what changed and writes it at once', async () => {
    const env = {
      EDITOR: editor(`sed -i 's/10.9.0.0/10.8.0.0/' "$1" && printf '"new","10.7.0.0","255.255.0.0"\\n' >> "$1"`),
    };
    const outcome = await run(['tabedit', 'routes'], { env });
    expect(outcome).toEqual({
      code: 0,
      stderr: '',
      stdout:
        '-"lab","10.9.0.0","255.255.0.0","10.1.0.254",,,\n+"lab","10.8.0.0","255.255.0.0","10.1.0.254",,,\n+"new","10.7.0.0","255.255.0.0"\n',
    });
    expect(await server.ok('GET', '/tables/routes/rows/ALLROWS/routename,net')).toEqual({
      routes: [
        { routename: 'lab', net: '10.8.0.0' },
        { routename: 'new', net: '10.7.0.0' },
      ],
    });
    expect(temporaryFiles()).toEqual([]);
  });

  it('writes nothing when nothing was changed, or the editor fails', async () => {
    const { json: before } = await server.call('GET', '/tables/routes/dump');
    expect((await run(['tabedit', 'routes'], { env: { EDITOR: 'true' } })).code).toBe(0);
    const failed = await run(['tabedit', 'routes'], { env: { EDITOR: editor('echo > "$1"; exit 3') } });
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('ended with 3')]);
    expect((await server.call('GET', '/tables/routes/dump')).json).toEqual(before);
    expect(temporaryFiles()).toEqual([]);
  });

  it('keeps what was written where it cannot be stored, and what others have stored meanwhile', async () => {
    const curl = `curl -sS -X PUT --cacert "$MUSTER_CA" -H "X-Auth-Token: $MUSTER_TOKEN" -H 'Content-Type: application/json' -d '{"comments":"other"}' "$MUSTER_URL/muster/tables/routes/rows/routename=lab"`;
    const outcome = await run(['tabedit', 'routes'], {
      env: { EDITOR: editor(`${curl} && sed -i 's/10.9/10.8/' "$1"`) },
    });
    expect(outcome.code).toBe(1);
    const [directory] = temporaryFiles();
    const file = join(scratch, directory!, 'routes.csv');
    expect(outcome.stderr).toContain(`Nothing was changed; what you wrote is in ${file}.`);
    expect(readFileSync(file, 'utf8')).toContain('10.8.0.0');
    expect(await server.ok('GET', '/tables/routes/rows/ALLROWS/net,comments')).toEqual({
      routes: [{ net: '10.9.0.0', comments: 'other' }],
    });
    rmSync(join(scratch, directory!), { recursive: true });
  });

  it('restores all tables from what it dumped, and hidden secrets stay', async () => {
    const directory = join(scratch, 'dump');
    expect(await printed('dumpxCATdb', '-p', directory)).toBe('Backup Complete.\n');
    expect(readFileSync(join(directory, 'passwd.csv'), 'utf8')).toContain('"xcat","operator","********"');
    const contents = async () => {
      const dump: Record<string, { rows: unknown[] }> = await server.ok(
        'GET',
        '/tables/nodelist,nodehm,routes,site,passwd,policy/dump',
      );
      return Object.entries(dump).map(([name, { rows }]) => [name, new Set(rows)]);
    };
    const before = await contents();
    await printed('noderm', 'n1');
    await printed('chtab', '-d', 'routename=lab', 'routes');
    expect(await printed('restorexCATdb', '-p', directory)).toBe('Restore of Database Complete.\n');
    // What was not gone keeps its place.
    expect(await contents()).toEqual(before);
    const login = await server.call('POST', '/tokens', {
      token: null,
      body: { userName: 'operator', userPW: 'operates' },
    });
    expect(login.status).toBe(201);
  });

  it('restores nothing where one row of one table is wrong', async () => {
    const directory = join(scratch, 'broken');
    mkdirSync(directory);
    writeFileSync(join(directory, 'routes.csv'), '#routename,net\n"other","10.3.0.0"\n');
    writeFileSync(join(directory, 'nodelist.csv'), '#node,groups\n"n 1","all"\n');
    const { code, stderr } = await run(['restorexCATdb', '-p', directory]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('n 1')]);
    expect(await printed('tabdump', 'routes')).toContain('"lab"');
  });

  it('restores what tabdump has written, byte for byte', async () => {
    await printed('nodech', 'n1', 'nodelist.comments=a, "b" c', 'nodepos.rack=r1');
    const file = join(scratch, 'nodelist.csv');
    await printed('tabdump', '-f', file, 'nodelist');
    const text = readFileSync(file, 'utf8');
    await printed('nodech', 'n1,n2', 'nodelist.comments=other');
    await printed('tabrestore', file);
    expect(await printed('tabdump', 'nodelist')).toBe(text);
  });

  it('adds to lists and takes out of them, from what is in effect', async () => {
    await server.ok('PUT', '/tables/postscripts/rows/node=compute', { postscripts: 'p1,p2' });
    await printed('nodech', 'n1', 'postscripts.postscripts,=e1,e2', 'groups^=all');
    expect(await printed('nodels', 'n1-n2', 'postscripts.postscripts')).toBe('n1: e2,e1,p1,p2\nn2: p1,p2\n');
    expect(await printed('nodels', 'n1', 'groups')).toBe('n1: compute\n');
    await printed('nodech', 'compute', 'nodelist.comments==x', 'nodepos.rack=r9').catch(() => undefined);
    expect(await printed('nodels', 'n1', 'nodepos.rack')).toBe('n1: \n');
  });

  it('gives groups values that their members show', async () => {
    await printed('nodech', 'n1', 'nodepos.rack=own');
    await printed('nodegrpch', 'compute', 'nodepos.rack=r7');
    expect(await printed('nodels', '-b', 'n1-n2', 'nodepos.rack')).toBe(
      'n1: r7 (inherited from group compute)\nn2: r7 (inherited from group compute)\n',
    );
    const refused = await run(['nodegrpch', 'n1', 'nodepos.rack=r8']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('"n1" is a node')]);
  });

  it('writes several tables, or none', async () => {
    const { code } = await run(['chtab', 'node=n1', 'nodepos.rack=r1', 'nodetype.bogus=1']);
    expect(code).toBe(2);
    expect(await printed('tabdump', '-w', 'node==n1', 'nodepos')).not.toContain('n1');
    await printed('chtab', 'node=n1', 'nodepos.rack=r1', 'nodetype.os=debian12');
    expect(await printed('gettab', 'node=n1', 'nodepos.rack', 'nodetype.os')).toBe(
      'nodepos.rack: r1\nnodetype.os: debian12\n',
    );
  });

  it('folds by groups of the server, and without one by names', async () => {
    const stdin = 'n1: a\nn2: a\nx: b\n';
    const folded = (first: string) =>
      `${'='.repeat(36)}\n${first}\n${'='.repeat(36)}\na\n\n${'='.repeat(36)}\nx\n${'='.repeat(36)}\nb\n\n`;
    expect((await run(['xcoll'], { stdin })).stdout).toBe(folded('all'));
    expect(await run(['xcoll'], { stdin, env: { MUSTER_URL: 'https://127.0.0.1:1' } })).toEqual({
      stdout: folded('n1,n2'),
      stderr: '',
      code: 0,
    });
  });

  it('tells those who may not what they may not', async () => {
    const login = await server.ok('POST', '/tokens', { userName: 'operator', userPW: 'operates' }, { token: null });
    const env = { MUSTER_TOKEN: login.token.id as string };
    expect((await run(['nodels', 'n1', 'nodehm.mgt'], { env })).stdout).toBe('n1: ipmi\n');
    for (const argv of [
      ['nodech', 'n1', 'nodepos.rack=x'],
      ['nodeadd', 'n9', 'groups=all'],
      ['tabdump', 'site'],
      ['noderm', 'n1'],
    ]) {
      const { code, stderr } = await run(argv, { env });
      expect([argv[0], code, stderr]).toEqual([
        argv[0],
        1,
        expect.stringMatching(/^Error: \[\S+\]: User "operator" may not run/),
      ]);
    }
  });
});
