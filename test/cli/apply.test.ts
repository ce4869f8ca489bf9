import * as fc from 'fast-check';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readYaml, yamlText } from '../../src/cli/formats.ts';
import { readDefinitions } from '../../src/cli/muster/definition-files.ts';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { startServer, type TestServer } from '../harness/server.ts';

describe('YAML of definitions', () => {
  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });
  const value = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('yes', '10', '# no', 'a: b', ' ', '~', 'a\nb\n', '1:30'),
  );
  const plain = (data: unknown): unknown =>
    data instanceof Map ? Object.fromEntries([...data].map(([key, each]) => [key, plain(each)])) : data;

  it('reads back every text it writes', async () => {
    const tree = fc.dictionary(name, fc.dictionary(name, fc.dictionary(name, value)));
    await fc.assert(
      fc.asyncProperty(tree, async (each) => {
        expect(JSON.stringify(plain(await readYaml(await yamlText(each), 'f')))).toBe(JSON.stringify(each));
      }),
    );
  });

  it.each([
    ['node:\n  n1:\n    rack: r1 # here\n    ip: 10.0.0.1\n', { node: { n1: { rack: 'r1', ip: '10.0.0.1' } } }],
    ["---\nnode:\n  'n1': {}\n", { node: { n1: {} } }],
    ['node:\r\n    n1:\r\n        a: ~\r\n', { node: { n1: { a: '' } } }],
    ['node:\n  n1:\n    a: 010\n    b: yes\n', { node: { n1: { a: '010', b: 'yes' } } }],
    ['node:\n  n1:\n    groups:\n      - all\n      - r1\n', { node: { n1: { groups: 'all,r1' } } }],
    ['node:\n  n1: {groups: [all, r1]}\n', { node: { n1: { groups: 'all,r1' } } }],
    ['node:\n  n1:\n    a: |-\n      one\n      two\n', { node: { n1: { a: 'one\ntwo' } } }],
    ['node:\n  n1:\n    a: >\n      one\n      two\n', { node: { n1: { a: 'one two' } } }],
    ['{"node": {"n1": {"groups": ["all", "r1"], "a": 1}}}', { node: { n1: { groups: 'all,r1', a: '1' } } }],
  ])('reads %j', async (text, tree) => {
    expect(JSON.parse(JSON.stringify(await readDefinitions(text, 'f')))).toEqual(tree);
  });

  it.each([
    ['a: b\na: c\n', 'unique at line 2'],
    ['node:\n  n1: {a: b}\n  "n1": {a: c}\n', 'f: Map keys must be unique at line 3, column 3.'],
    ['a:\n\tb: c\n', 'Tabs'],
    ['a: "b\n', 'closing'],
    ['a: b: c\n', 'line 1'],
    ['words\n', 'names with their values'],
    ['- words\n', 'names with their values'],
    ['node:\n  n1:\n    a:\n      b: c\n', 'must be a text or a list of texts'],
    ['node:\n  n1:\n    a: !!binary eA==\n', 'must be a text or a list of texts'],
    ['node:\n  n1:\n    a: !odd x\n', 'line 3'],
  ])('refuses %j', async (text, why) => {
    await expect(readDefinitions(text, 'f')).rejects.toThrow(why);
  });
});

describe('definitions in a file', { timeout: 300_000 }, () => {
  let server: TestServer;
  let env: Record<string, string>;
  const run = (...words: string[]) => ended(muster, words, env);
  const file = () => join(server.data, 'cluster.yaml');

  beforeAll(async () => {
    server = await startServer();
    env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
    await server.ok('POST', '/nodes/n1-n3', { groups: 'all,compute', arch: 'x86_64' });
    await server.ok('PUT', '/groups/compute', { mgt: 'ipmi', bmc: '|n(\\d+)|10.1.0.($1)|', bmcpassword: 'hidden' });
    await server.ok('POST', '/networks/net1', { net: '10.1.0.0', mask: '255.255.0.0' });
  });
  afterAll(() => server.stop());

  /** Everything that is stored, but for the records of what was done. */
  const stored = async (): Promise<string> => {
    const tables = (await server.ok('GET', '/tables')) as string[];
    const kept = tables.filter((table) => !['auditlog', 'eventlog', 'tokens', 'tokens2'].includes(table));
    return (await server.call('GET', `/tables/${kept.join(',')}/dump`)).text;
  };
  const apply = async (tree: object, ...words: string[]) => {
    writeFileSync(file(), JSON.stringify(tree));
    return run('apply', '-f', file(), ...words);
  };

  it('are those of the objects themselves, and nothing differs when they are applied again', async () => {
    const { code, stdout } = await run('export', '--format', 'yaml');
    expect(code).toBe(0);
    expect(stdout).toContain('node:\n  n1:\n    arch: x86_64\n    groups: all,compute\n  n2:\n');
    expect(stdout).toContain('    bmcpassword: "********"\n');
    expect(stdout).toContain(String.raw`    bmc: "|n(\\d+)|10.1.0.($1)|"`);
    expect(stdout).not.toContain('hidden');
    const before = await stored();
    writeFileSync(file(), stdout);
    expect(await run('apply', '-f', file(), '--prune')).toEqual({ code: 0, stdout: 'Nothing differs.\n', stderr: '' });
    const json = await run('export', '--format=json', 'node', 'group');
    expect(await ended(muster, ['apply', '-f', '-'], env, json.stdout)).toMatchObject({ stdout: 'Nothing differs.\n' });
    expect(await stored()).toBe(before);
  });

  it('are shown as a diff, asked for at a terminal, and written at once', async () => {
    const nodes = { n1: { groups: 'all,compute', rack: 'r1' }, n9: { groups: 'all' } };
    const before = await stored();
    const diff = await apply({ node: nodes }, '--diff');
    expect(diff).toMatchObject({ code: 0, stderr: '' });
    expect(diff.stdout).toContain('nodepos node=n1 (new)\n+  rack=r1\n');
    expect(diff.stdout).toContain('-  arch=x86_64\n');
    const no = await atTerminal(['apply', '-f', file()], env, [['Apply it? (', 'n\r']]);
    expect([no.code, no.screen]).toEqual([1, expect.stringContaining('Nothing was changed.')]);
    expect(await stored()).toBe(before);
    const yes = await atTerminal(['apply', '-f', file()], env, [['[y/N] ', 'y\r']]);
    expect(yes).toMatchObject({ code: 0, screen: expect.stringMatching(/Written by change \d+\./) });
    const [, id = ''] = /Written by change (\d+)\./.exec(yes.screen)!;
    expect((await server.ok('GET', '/nodes/n1')).n1).toMatchObject({ rack: 'r1', mgt: 'ipmi' });
    expect((await run('undo', id)).code).toBe(0);
    expect(await stored()).toBe(before);
  });

  it('change nothing where one of them is wrong', async () => {
    const before = await stored();
    const bad = await apply({ node: { n1: { groups: 'all', rack: 'r1' }, n2: { groups: 'all', nosuch: 'x' } } });
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining('nosuch') });
    expect(await apply({ nosuch: { a: { b: 'c' } } })).toMatchObject({ code: 2 });
    expect(await apply({ node: { 'n1,n2': { groups: 'all' } } })).toMatchObject({ code: 2 });
    expect(await apply({ node: { n1: { groups: { all: 'x' } } } })).toMatchObject({ code: 2 });
    expect((await run('apply', '-f', '/nonexistent')).code).toBe(2);
    expect((await run('apply')).code).toBe(2);
    expect(await stored()).toBe(before);
  });

  it('become what any file says, and undo brings back every byte', async () => {
    const attributes = fc.record(
      {
        rack: fc.constantFrom('r1', 'r2'),
        arch: fc.constantFrom('x86_64', 'aarch64'),
        usercomment: fc.constantFrom('a, b', 'c: d', '# e', 'ä "f"'),
        'nicips.eth0': fc.constantFrom('10.2.0.1', '10.2.0.2'),
        groups: fc.constantFrom('all', 'all,compute', 'all,login'),
      },
      { requiredKeys: ['groups'] },
    );
    const nodes = fc.dictionary(fc.constantFrom('n1', 'n2', 'n4', 'n5'), attributes, { minKeys: 1 });
    const network = (...nets: string[]) =>
      fc.record({ net: fc.constantFrom(...nets), mask: fc.constant('255.255.0.0') });
    const networks = fc.record(
      { net1: network('10.1.0.0', '10.3.0.0'), net2: network('10.2.0.0', '10.4.0.0') },
      { requiredKeys: [] },
    );
    const files = fc.record({ node: nodes, network: networks });
    await fc.assert(
      fc.asyncProperty(files, fc.boolean(), async (wanted, prune) => {
        const before = await stored();
        const done = await apply(wanted, ...(prune ? ['--prune'] : []));
        expect([done.code, done.stderr]).toEqual([0, '']);
        expect((await apply(wanted, ...(prune ? ['--prune'] : []))).stdout).toBe('Nothing differs.\n');
        if (prune) {
          const now = JSON.parse((await run('export', '--format', 'json', 'node', 'network')).stdout);
          expect({ network: {}, ...now }).toEqual(wanted);
        }
        const [, id] = /^Written by change (\d+)\.\n$/.exec(done.stdout) ?? [];
        expect(id !== undefined || done.stdout === 'Nothing differs.\n').toBe(true);
        if (id !== undefined) expect(await run('undo', id)).toMatchObject({ code: 0, stderr: '' });
        expect(await stored()).toBe(before);
      }),
      { numRuns: 10 },
    );
  });

  it('have lists and blocks of text, in a file and in an editor', async () => {
    const before = await stored();
    const lists = 'node:\n  n1:\n    arch: x86_64\n    groups:\n      - all\n      - compute\n      - login\n';
    writeFileSync(file(), `${lists}    usercomment: >\n      first line\n      second: line\n`);
    const done = await run('apply', '-f', file());
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect((await server.ok('GET', '/definitions/node/n1')).n1).toMatchObject({
      groups: 'all,compute,login',
      usercomment: 'first line second: line',
    });
    expect((await run('apply', '-f', file())).stdout).toBe('Nothing differs.\n');
    const EDITOR = `sed -i -e 's/groups: .*/groups: [all, compute]/' -e 's/usercomment: .*/usercomment: |\\n      another: line/'`;
    const edited = await ended(muster, ['edit', 'n1'], { ...env, EDITOR });
    expect([edited.code, edited.stderr]).toEqual([0, '']);
    expect((await server.ok('GET', '/definitions/node/n1')).n1).toMatchObject({
      groups: 'all,compute',
      usercomment: 'another: line',
    });
    for (const { stdout } of [edited, done]) await run('undo', /change (\d+)/.exec(stdout)![1]!);
    expect(await stored()).toBe(before);
  });

  it('go and are written in one change', async () => {
    const before = await stored();
    const revision = async () => Number((await server.call('GET', '/nodes/n1')).headers['x-muster-revision']);
    const first = await revision();
    const done = await apply({ node: { n1: { groups: 'all,login', rack: 'r5' }, n8: { groups: 'all' } } }, '--prune');
    expect(done).toEqual({ code: 0, stdout: `Written by change ${first + 1}.\n`, stderr: '' });
    expect(await revision()).toBe(first + 1);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n8']);
    expect((await run('undo', String(first + 1))).code).toBe(0);
    expect(await stored()).toBe(before);
  });

  it('are not written over what somebody else has changed since they were read', async () => {
    // The editor stands for the time that passes between reading and writing.
    const meanwhile = (change: string) => {
      const script = join(server.data, 'editor.sh');
      writeFileSync(script, `#!/bin/sh\nsed -i s/r7/r8/ "$1"\n${change}\n`, { mode: 0o700 });
      return { ...env, EDITOR: script };
    };

    await server.ok('PUT', '/nodes/n1-n2', { rack: 'r7' });
    const refused = await ended(muster, ['edit', 'n1-n2'], meanwhile(`${muster} chdef n2 arch=ppc64le`));
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/node n2 was changed since revision \d+, and nothing was done/),
    ]);
    expect(refused.stderr).toContain('What you wrote is in ');
    expect((await server.ok('GET', '/nodes/n1-n2/attrs/rack,arch')) as object).toMatchObject({
      n1: { rack: 'r7' },
      n2: { rack: 'r7', arch: 'ppc64le' },
    });
    const others = await ended(muster, ['edit', 'n1-n2'], meanwhile(`${muster} chdef n3 arch=ppc64le`));
    expect([others.code, others.stderr]).toEqual([0, '']);
    expect((await server.ok('GET', '/nodes/n1/attrs/rack')) as object).toEqual({ n1: { rack: 'r8' } });
    await server.ok('PUT', '/nodes/n1-n3', { rack: '', arch: 'x86_64' });
  });

  it('are edited in an editor, in one change', async () => {
    const editor = (script: string) => ({ ...env, EDITOR: `sed -i '${script}'` });
    const edit = (script: string, ...words: string[]) => ended(muster, ['edit', 'n1-n2', ...words], editor(script));
    expect((await edit('s/nothing//')).stdout).toBe('Nothing differs.\n');
    const { code, stdout } = await edit('s/x86_64/aarch64/');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Written by change \d+\.\n$/)]);
    expect((await server.ok('GET', '/nodes/n1-n3/attrs/arch')) as object).toEqual({
      n1: { arch: 'aarch64' },
      n2: { arch: 'aarch64' },
      n3: { arch: 'x86_64' },
    });
    const bad = await edit('s/arch:/nosuch:/');
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('What you wrote is in ')]);
    expect(readFileSync(/What you wrote is in (\S+)\.$/m.exec(bad.stderr)![1]!, 'utf8')).toContain('nosuch: aarch64');
    expect((await edit('s/n2:/n7:/')).code).toBe(2);
    const asked = await atTerminal(['edit', 'n1'], editor('/arch/d'), [['Write it? (', 'y\r']]);
    expect([asked.code, asked.screen]).toEqual([0, expect.stringContaining('\u001B[31m-  arch=aarch64')]);
    expect((await ended(muster, ['edit', 'n1'], { ...env, EDITOR: 'false' })).code).toBe(1);
  });

  it('are kept where the server has gone while they were edited', async () => {
    const flag = join(server.data, 'edited');
    const proxy = createServer((socket) => {
      const on = connect(join(server.data, 'muster.sock'));
      for (const each of [socket, on]) each.on('error', () => socket.destroy());
      socket.on('data', (bytes) => (existsSync(flag) ? socket.destroy() : on.write(bytes)));
      socket.on('close', () => on.destroy());
      on.on('data', (bytes) => socket.write(bytes));
    }).listen(join(server.data, 'proxy.sock'));
    await once(proxy, 'listening');
    const EDITOR = `touch ${flag}; sed -i 's/groups: all/groups: all,kept/'`;
    const { code, stderr } = await ended(muster, ['edit', 'n1'], {
      ...env,
      MUSTER_SOCKET: join(server.data, 'proxy.sock'),
      EDITOR,
    });
    proxy.close();
    expect(code).toBe(3);
    expect(readFileSync(/What you wrote is in (\S+)\.$/m.exec(stderr)![1]!, 'utf8')).toContain('all,kept');
  });
});
