import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleCurl, exampleRequest } from '../../src/rest/describe/html.ts';
import { javascriptProgram, pythonProgram } from '../../src/rest/describe/programs.ts';
import { operationId, rowsAt } from '../../src/rest/describe/rows.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { type Root, roots } from '../../src/rest/endpoints/roots.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { ended } from '../harness/muster-command.ts';
import { resetTo } from '../harness/reset.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
let home: string;
beforeAll(async () => {
  server = await startServer();
  await resetTo(server, exampleRows);
  home = join(server.data, 'home');
  mkdirSync(home);
  copyFileSync(join(server.data, 'tls/ca.pem'), join(home, 'ca.pem'));
});
afterAll(() => server.stop());

interface Example {
  readonly id: string;
  readonly root: Root;
  readonly row: Endpoint;
}

const examples: readonly Example[] = roots.flatMap((root) =>
  rowsAt(root, endpoints).map((row) => ({ id: `${root.prefix.slice(1)}-${operationId(row)}`, root, row })),
);

/** As they are on the page, for the server of this test. */
const forServer = (text: string): string =>
  text.replaceAll('HOST:8443', `127.0.0.1:${server.port}`).replaceAll('PASSWORD', rootPassword);
const pythonOf = ({ root, row }: Example): string => forServer(pythonProgram(exampleRequest(root, row)));
const javascriptOf = ({ root, row }: Example): string => forServer(javascriptProgram(exampleRequest(root, row)));
const curlOf = ({ root, row }: Example): string => forServer(exampleCurl(root, row));

/** Compiles all programs, then runs some of them: what each printed, by its name. */
const pythonDriver = `
import contextlib, io, json, sys, traceback
programs = json.load(open("programs.json"))
printed = {}
for name, source in programs["all"].items():
    compile(source, name, "exec")
for name in programs["run"]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(programs["all"][name], name, "exec"), {"__name__": "__main__"})
        except Exception:
            traceback.print_exc(file=out)
    printed[name] = out.getvalue()
json.dump(printed, sys.stdout)
`;

const javascriptDriver = `
import { readFileSync, writeFileSync } from 'node:fs';
import { SourceTextModule } from 'node:vm';
const { all, run } = JSON.parse(readFileSync('programs.json', 'utf8'));
const printed = {};
const write = process.stdout.write.bind(process.stdout);
for (const [name, source] of Object.entries(all)) new SourceTextModule(source, { identifier: name });
for (const name of run) {
  printed[name] = '';
  console.log = (value) => (printed[name] += typeof value === 'string' ? value : JSON.stringify(value));
  process.stdout.write = (text) => (printed[name] += text);
  writeFileSync(name + '.mjs', all[name]);
  await import(process.cwd() + '/' + name + '.mjs').catch((error) => (printed[name] += error));
}
write(JSON.stringify(printed));
`;

async function printedBy(
  language: 'python' | 'javascript' | 'curl',
  run: readonly Example[],
): Promise<Record<string, string>> {
  const env = { TOKEN: server.token, HOME: home, NODE_EXTRA_CA_CERTS: 'ca.pem' };
  const inHome = (command: string): string[] => ['-c', `cd "$HOME" && ${command}`];
  if (language === 'curl') {
    const calls = run.map((example) => `echo "@@ ${example.id}"\n${curlOf(example)}\necho`);
    const { stdout, stderr } = await ended('bash', inHome(`{ ${calls.join('\n')}\n}`), env);
    const pieces = stdout.split(/^@@ (\S+)\n/m).slice(1);
    expect(pieces, stderr).toHaveLength(2 * run.length);
    return Object.fromEntries(run.map(({ id }) => [id, pieces[pieces.indexOf(id) + 1]!.trim()]));
  }
  const source = language === 'python' ? pythonOf : javascriptOf;
  const programs = {
    all: Object.fromEntries(examples.map((example) => [example.id, source(example)])),
    run: run.map(({ id }) => id),
  };
  writeFileSync(join(home, 'programs.json'), JSON.stringify(programs));
  const driver = join(home, language === 'python' ? 'driver.py' : 'driver.mjs');
  writeFileSync(driver, language === 'python' ? pythonDriver : javascriptDriver);
  const command =
    language === 'python'
      ? `/usr/bin/python3 ${driver}`
      : `${process.execPath} --experimental-vm-modules --no-warnings ${driver}`;
  const { code, stdout, stderr } = await ended('bash', inHome(command), env);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** Those that show something else whenever they are asked, or speak to hardware. */
const changing = ['/tokens', '/runs', '/runs/{id}', '/servers', '/metrics', '/events', '/changes/{change}'];
const isPlain = ({ method, path, command }: Endpoint): boolean =>
  method === 'GET' &&
  !changing.includes(path) &&
  command.kind !== 'per-node' &&
  !['bmcdiscover', 'lsslp', 'lsimage', 'lskitdeployparam', 'chkkitcomp', 'nodestat', 'nodeset'].includes(command.name);

describe('the programs of all examples', () => {
  const readings = examples.filter(({ row }) => isPlain(row));

  it('show the same as curl, and all can be read', async () => {
    expect(readings.length).toBeGreaterThan(80);
    const curl = await printedBy('curl', readings);
    const python = await printedBy('python', readings);
    const javascript = await printedBy('javascript', readings);
    for (const { id } of readings) {
      expect(JSON.parse(javascript[id]!), id).toEqual(JSON.parse(curl[id]!));
      expect(curl[id], id).not.toContain('errorcode');
      // Python prints what it has read in its own notation.
      expect(python[id]!.trim(), id).not.toMatch(/^(Traceback|$)/);
    }
    const values = await ended(
      '/usr/bin/python3',
      ['-c', 'import ast, json, sys; print(json.dumps([ast.literal_eval(text) for text in json.load(sys.stdin)]))'],
      {},
      JSON.stringify(readings.map(({ id }) => python[id])),
    );
    expect(JSON.parse(values.stdout)).toEqual(readings.map(({ id }) => JSON.parse(curl[id]!)));
  });

  it('change the same as curl', async () => {
    const changes = ['putNodesByNoderange', 'postNodesByNoderange', 'deleteTablesByTablelistRowsByKeys', 'postTokens'];
    const chosen = examples.filter(({ id, root }) => root.prefix === '/muster' && changes.includes(id.split('-')[1]!));
    expect(chosen).toHaveLength(changes.length);
    const outcomes: unknown[] = [];
    for (const language of ['curl', 'python', 'javascript'] as const) {
      await resetTo(server, exampleRows);
      await server.ok('DELETE', '/nodes/n2');
      const printed = await printedBy(language, chosen);
      const { 'muster-postTokens': token, ...others } = printed;
      expect(token).toContain('expire');
      if (language === 'curl') for (const text of Object.values(others)) expect(text).toBe('');
      else expect(Object.values(others).map((text) => text.trim())).toEqual(['200', '201', '200']);
      const { n1, n2 } = await server.ok('GET', '/nodes/ALLRESOURCES');
      outcomes.push({ n1, n2, routes: await server.ok('GET', '/tables/routes/rows') });
    }
    expect(outcomes[0]).toMatchObject({
      n1: { bmc: '127.10.0.11' },
      n2: { bmc: '127.10.0.2' },
      routes: { routes: [] },
    });
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[2]).toEqual(outcomes[0]);
  });

  it('show a stream as it comes', async () => {
    const events = examples.filter(({ row }) => row.path === '/events' || row.path === '/metrics');
    for (const language of ['python', 'javascript'] as const) {
      const printed = await printedBy(language, events);
      for (const { id, row } of events)
        expect(printed[id], `${language} ${id}`).toMatch(
          row.path === '/events' ? /^event: ready$/m : /^# HELP muster_/,
        );
    }
  });
});
