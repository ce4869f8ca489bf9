import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rootPassword, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

const here = import.meta.dirname;
const modules = join(here, '../../node_modules');
const generator = join(here, 'node_modules/openapi-typescript/bin/cli.js');

const compilerOptions = {
  target: 'esnext',
  module: 'nodenext',
  lib: ['esnext', 'dom'],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

const running = promisify(execFile);

/** What a program printed; if it fails, the error says all of it. */
async function printed(program: string, args: readonly string[], environment: Record<string, string> = {}) {
  const options = { cwd: project, env: { PATH: process.env.PATH, ...environment } };
  try {
    return (await running(program, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

let server: TestServer;
let project: string;
beforeAll(async () => {
  server = await startServer();
  project = temporaryDirectory();
  const document = await server.call('GET', '/openapi.json');
  writeFileSync(join(project, 'openapi.json'), document.text);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  copyFileSync(join(here, 'client.txt'), join(project, 'client.ts'));
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(join(modules, 'openapi-fetch'), join(project, 'node_modules/openapi-fetch'));
  await printed(process.execPath, [generator, 'openapi.json', '-o', 'api.ts']);
});
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await server.stop();
});

describe('a client that openapi-typescript makes of the document', () => {
  it('compiles without casts, and refuses what the service would refuse', async () => {
    expect(await printed(join(modules, '.bin/tsc'), ['-p', '.'])).toBe('');
  });

  it('gets from the service what its types say', async () => {
    const program = `import { tour } from './client.ts';
console.log(JSON.stringify(await tour(process.argv[2], process.argv[3])));`;
    writeFileSync(join(project, 'run.mjs'), program);
    const args = ['run.mjs', `https://localhost:${server.port}/muster`, rootPassword];
    const ca = { NODE_EXTRA_CA_CERTS: join(server.data, 'tls/ca.pem') };
    expect(JSON.parse(await printed(process.execPath, args, ca))).toEqual({
      created: 201,
      names: ['N1'],
      mgt: 'ipmi',
      after: 'openbmc',
      refused: 'its attribute bmc',
      power: 1,
      // There is no BMC.
      vitals: ['n1'],
      readings: [],
      run: ['rpower', 'finished', '1', 'n1'],
      current: expect.arrayContaining([true]),
      stored: 'nodehm.mgt',
      rows: 'ipmi',
    });
  });
});
