import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all,compute' });
  await server.ok('POST', '/osimages/deb12', {
    osvers: 'debian12',
    osarch: 'x86_64',
    provmethod: 'install',
    imagetype: 'linux',
  });
  env = {
    HOME: server.data,
    MUSTER_URL: `https://127.0.0.1:${server.port}`,
    MUSTER_TOKEN: server.token,
    MUSTER_CA: join(server.data, 'tls/ca.pem'),
  };
});
afterAll(() => server.stop());
const run = (words: readonly string[], more: Record<string, string> = {}) => ended(muster, words, { ...env, ...more });

describe('muster doctor', { timeout: 90_000 }, () => {
  it('finds all well', async () => {
    const { code, stdout, stderr } = await run(['doctor']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('WRONG');
    for (const what of ['server', 'certificate', 'reached', 'clock', 'login', 'rights'])
      expect(stdout).toMatch(new RegExp(`^ok     ${what} `, 'm'));
  });

  it('finds what is wrong', async () => {
    expect(await run(['doctor'], { MUSTER_TOKEN: 'ended' })).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^WRONG {2}login/m),
    });
    expect(await run(['doctor'], { MUSTER_URL: 'https://127.0.0.1:1' })).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^WRONG {2}reached .*Connection refused/m),
    });
    expect(await run(['doctor'], { MUSTER_CA: '' })).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^WRONG {2}certificate/m),
    });
    const contexts = join(server.data, '.config/muster/contexts.json');
    mkdirSync(dirname(contexts), { recursive: true });
    writeFileSync(contexts, '{}');
    chmodSync(contexts, 0o644);
    expect(await run(['doctor'])).toMatchObject({ code: 1, stdout: expect.stringContaining('others can read') });
    chmodSync(contexts, 0o600);
  });
});

describe('completion in shells', { timeout: 120_000 }, () => {
  /** What bash offers for the last of the words. */
  const offered = async (...words: string[]): Promise<string[]> => {
    const script = `PATH=${dirname(muster)}:$PATH; eval "$(muster completion bash)"
COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}; compopt() { :; }
_muster; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await ended('bash', ['-c', script, 'bash', ...words], env);
    expect(stderr).toBe('');
    return stdout.split('\n').filter(Boolean);
  };

  it('offers commands, options and live names', async () => {
    expect(await offered('muster', 'rpow')).toEqual(['rpower']);
    expect(await offered('muster', 'und')).toEqual(['undo']);
    expect(await offered('muster', 'undo', '--d')).toEqual(['--dry-run']);
    expect(await offered('muster', 'rpower', 'n')).toEqual(['n1', 'n2', 'n3']);
    expect(await offered('rpower', 'n1,com')).toEqual(['n1,compute']);
    expect(await offered('/usr/local/bin/nodeset', 'n1', 'osimage=')).toEqual(['deb12']);
    expect(await offered('rpower', 'n[1-2],com')).toEqual(['n[1-2],compute']);
    expect(await offered('muster', 'chdef', 'n1', 'bmcpass')).toEqual(['bmcpassword=']);
    expect(await offered('muster', 'lsdef', '-t', 'netw')).toEqual(['network']);
    expect(await offered('muster', 'runs', 'a')).toEqual(['attach']);
    expect(await offered('muster', 'nosuch', 'a')).toEqual([]);
  });

  it('offers no name that a shell would take for a command', async () => {
    for (const name of ['d$(id)', 'd`id`', 'd;id', 'd*'])
      await server.ok('PUT', `/tables/osimage/rows/imagename=${encodeURIComponent(name)}`, { osvers: 'x' });
    expect(await offered('genimage', 'd')).toEqual(['deb12']);
    expect(await offered('muster', 'nodeset', 'n1', 'osimage=d')).toEqual(['deb12']);
  });

  it('works in zsh and fish too', async () => {
    const inZsh = async (...words: string[]) => {
      const script = `PATH=${dirname(muster)}:$PATH; compdef() { :; }; eval "$(muster completion zsh)"
compadd() { shift; print -l -- "$@"; }; words=("$@"); CURRENT=$#; _muster`;
      return (await ended('zsh', ['-f', '-c', script, 'zsh', ...words], env)).stdout;
    };
    expect(await inZsh('muster', 'rpow')).toBe('rpower\n');
    expect(await inZsh('muster', 'rpower', 'n1,com')).toBe('n1,compute\n');
    expect(await inZsh('rpower', 'n')).toBe('n1\nn2\nn3\n');
    const inFish = async (line: string) => {
      const script = `set -x PATH ${dirname(muster)} $PATH; muster completion fish | source; complete -C '${line}'`;
      return (await ended('fish', ['--no-config', '-c', script], env)).stdout;
    };
    expect(await inFish('muster rpow')).toBe('rpower\n');
    expect(await inFish('muster rpower n1,com')).toBe('n1,compute\n');
    expect(await inFish('rpower n')).toBe('n1\nn2\nn3\n');
  });

  it('is a script that its shell can read', async () => {
    const { stdout } = await run(['completion', 'bash']);
    expect(await ended('bash', ['-n'], {}, stdout)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await run(['completion', 'tcsh'])).code).toBe(2);
    expect((await run(['completion'])).code).toBe(2);
  });
});
