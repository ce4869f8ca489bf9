import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exampleRows } from '../harness/example-rows.ts';
import { resetTo } from '../harness/reset.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';
import { environmentFor, muster, program } from './command-line.ts';
import type { Outcome } from './replay/cases.ts';

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
    const passwords = readFileSync(join(directory, 'passwd.csv'), 'utf8');
    expect(passwords).toMatch(/"xcat","operator","\{m1\}/);
    expect(passwords).not.toContain('$6$');
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

  it('brings secrets back on the same server, and on another one with --with-secrets', async () => {
    const [sealed, clear] = [join(scratch, 'sealed'), join(scratch, 'clear')];
    await server.ok('PUT', '/tables/passwd/rows/key=ipmi,username=admin', { password: 'bmc secret' });
    await printed('dumpxCATdb', '-p', sealed);
    const refused = await run(['dumpxCATdb', '--with-secrets', '-p', clear]);
    expect([refused.code, refused.stderr, existsSync(clear)]).toEqual([1, expect.stringContaining('--yes'), false]);
    await printed('dumpxCATdb', '--with-secrets', '--yes', '-p', clear);
    const row = (file: string) => readFileSync(join(file, 'passwd.csv'), 'utf8');
    expect(row(sealed)).not.toContain('bmc secret');
    expect(row(clear)).toContain('bmc secret');
    const another = await startServer();
    const environment = environmentFor(another, scratch);
    const renewed: Record<string, string> = { ...environment };
    const restore = async (directory: string): Promise<string> => {
      const { code, stderr } = await program(muster, ['restorexCATdb', '-p', directory], renewed);
      expect(code, stderr).toBe(0);
      return stderr;
    };
    const secrets = async (each: TestServer, token = each.token) =>
      (await each.ok('GET', '/tables/passwd/dump?secrets=clear', undefined, { token })).passwd.rows.find(
        ({ username }: { username: string }) => username === 'admin',
      ).password;
    try {
      expect(await restore(sealed)).toContain('password of ipmi admin in table passwd');
      expect(await restore(clear)).toBe('');
      // Root has the password of the other server now, so tokens of the old one have ended.
      const token = await logIn(another, 'root', rootPassword);
      renewed['MUSTER_TOKEN'] = token;
      expect(await secrets(another, token)).toBe('bmc secret');
      // What it has by now stays though it cannot read what the dump has.
      expect(await restore(sealed)).toBe('');
      expect(await secrets(another, token)).toBe('bmc secret');
    } finally {
      await another.stop();
    }
    await printed('chtab', '-d', 'key=ipmi', 'passwd');
    await printed('restorexCATdb', '-p', sealed);
    expect(await secrets(server)).toBe('bmc secret');
  });

  it('leaves out tables of site.skiptables and XCAT_SKIPTABLES, and says so', async () => {
    const directory = join(scratch, 'skipped');
    await printed('chdef', '-t', 'site', 'clustersite', 'skiptables=routes, hosts');
    const dumped = await run(['dumpxCATdb', '-p', directory], { env: { XCAT_SKIPTABLES: 'passwd' } });
    expect([dumped.code, dumped.stderr]).toEqual([0, expect.stringContaining('routes, hosts, passwd')]);
    const files = readdirSync(directory);
    expect(files).toContain('nodelist.csv');
    for (const table of ['routes', 'hosts', 'passwd']) expect(files).not.toContain(`${table}.csv`);
    writeFileSync(join(directory, 'routes.csv'), '#routename,net\n');
    expect((await run(['restorexCATdb', '-p', directory])).code).toBe(0);
    expect(await printed('tabdump', 'routes')).toContain('"lab"');
    await printed('chdef', '-t', 'site', 'clustersite', 'skiptables=');
  });

  it('prunes logs as the manual says, and keeps the records of who did it', async () => {
    const records = async () =>
      (await server.ok('GET', '/tables/auditlog/dump')).auditlog.rows as Record<string, string>[];
    for (let i = 0; i < 6; i++) await server.ok('GET', '/nodes');
    const before = await records();
    expect(await printed('tabprune', 'auditlog', '-n', '3')).toBe('tabprune of auditlog complete.\n');
    const fewer = await records();
    expect(fewer[0]!['recid']).toBe(before[3]!['recid']);
    expect(fewer).toContainEqual(
      expect.objectContaining({
        userid: 'root',
        command: 'tabprune',
        args: expect.stringContaining('3 records of auditlog'),
      }),
    );
    const boundary = fewer[2]!['recid']!;
    await printed('tabprune', 'auditlog', '-i', boundary);
    expect((await records())[0]!['recid']).toBe(boundary);
    await printed('tabprune', 'auditlog', '-d', '1');
    expect((await records())[0]!['recid']).toBe(boundary);
    const count = (await records()).length;
    await printed('tabprune', 'auditlog', '-p', '50');
    const half = await records();
    const oldest = half.find(({ status }) => status !== 'Removed')!['recid']!;
    expect(Number(oldest) - Number(boundary)).toBeGreaterThanOrEqual(Math.floor(count / 2));
    const shown = await printed('tabprune', 'auditlog', '-V', '-a');
    expect(shown).toContain('#recid,audittime,userid');
    expect(shown).toContain(`"${oldest}"`);
    await printed('tabprune', 'auditlog', '-a');
    const removals = (await records()).filter(({ status }) => status === 'Removed');
    expect(removals.map(({ userid, command }) => [userid, command])).toEqual(
      Array.from({ length: 5 }, () => ['root', 'tabprune']),
    );
    expect((await records())[0]).toEqual(removals[0]);
  });

  it('prunes logs only with the right to do it, and where the site does not forbid it', async () => {
    const token = await addUser(server, 'pruner');
    const prune = async (more: object = {}) =>
      (await server.call('POST', '/tables/eventlog/prune', { token, body: { all: true, ...more } })).status;
    await server.ok('PUT', '/policy/71', { name: 'pruner', commands: 'tabdump,tabch,tabrestore', rule: 'allow' });
    expect(await prune()).toBe(403);
    await server.ok('PUT', '/policy/71', { name: 'pruner', commands: 'tabprune', rule: 'allow' });
    expect([await prune(), await prune({ shows: true })]).toEqual([201, 403]);
    await server.ok('PUT', '/policy/71', { name: 'pruner', commands: 'tabprune,tabdump', rule: 'allow' });
    expect(await prune({ shows: true })).toBe(201);
    await server.ok('PUT', '/policy/71', { name: 'pruner', commands: 'tabprune', rule: 'allow' });
    await printed('chdef', '-t', 'site', 'clustersite', 'logpruning=no');
    expect(await prune()).toBe(403);
    const refused = await run(['tabprune', 'auditlog', '-a']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('logpruning')]);
    await printed('chdef', '-t', 'site', 'clustersite', 'logpruning=');
    await server.ok('DELETE', '/policy/71');
    for (const body of [{}, { all: true, number: 3 }, { number: -1 }])
      expect((await server.call('POST', '/tables/eventlog/prune', { body })).status).toBeGreaterThanOrEqual(400);
    expect((await server.call('POST', '/tables/site/prune', { body: { all: true } })).status).toBe(403);
  });

  it('shows secrets to nobody without full rights', async () => {
    const token = await addUser(server, 'reader');
    await server.ok('PUT', '/policy/70', { name: 'reader', commands: 'tabdump,tabrestore,lsdef', rule: 'allow' });
    for (const secrets of ['sealed', 'clear'])
      expect((await server.call('GET', `/tables/passwd/dump?secrets=${secrets}`, { token })).status).toBe(403);
    expect((await server.call('GET', '/tables/passwd/dump', { token })).text).not.toContain('$6$');
    await server.ok('DELETE', '/policy/70');
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
