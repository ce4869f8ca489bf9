import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, keptText } from '../../src/cli/bytes.ts';
import { ended, type Ended, muster } from '../harness/muster-command.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock'), muster };
});
afterAll(() => server.stop());

/** By bash, whose words can have any bytes. */
const bash = (line: string): Promise<Ended> => ended('/bin/bash', ['-c', line], env);
const comment = async (): Promise<string | undefined> => (await server.ok('GET', '/nodes/n1')).n1.usercomment;

describe('text that is not UTF-8', { timeout: 120_000 }, () => {
  it.each([
    String.raw`"$muster" chdef n1 usercomment=$'caf\xe9'`,
    String.raw`"$muster" tabch node=n1 nodelist.comments=$'caf\xe9'`,
    String.raw`printf 'n1:\n  objtype=node\n  usercomment=caf\xe9\n' | "$muster" chdef -z`,
    String.raw`printf '#node,groups,comments\n"n1","all","caf\xe9"\n' > "$HOME/nodelist.csv"; "$muster" tabrestore "$HOME/nodelist.csv"`,
    String.raw`printf 'node:\n  n1:\n    usercomment: caf\xe9\n' | "$muster" apply -f -`,
  ])('is refused, and nothing is stored: %s', async (line) => {
    const { code, stderr } = await bash(line);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('is not UTF-8 text')]);
    expect(await comment()).toBeUndefined();
  });

  it('is named with its line', async () => {
    const { stderr } = await bash(
      String.raw`printf 'n1:\n  objtype=node\n  usercomment=caf\xe9\n' | "$muster" chdef -z`,
    );
    expect(stderr).toContain('Standard input is not UTF-8 text: line 3 has the byte 0xe9.');
  });

  it('is not what only looks like it', async () => {
    expect((await bash(String.raw`"$muster" chdef n1 usercomment=$'\xef\xbf\xbd caf\xc3\xa9'`)).code).toBe(0);
    expect(await comment()).toBe('\uFFFD café');
    await bash('"$muster" chdef n1 usercomment=');
  });

  it('passes through filters with all its bytes', async () => {
    const lines = String.raw`printf 'n1: caf\xe9 \xc3\xa9\nn2: caf\xe9 \xc3\xa9\n'`;
    for (const filter of ['xcoll -n', 'xdshbak -x'])
      expect((await bash(`${lines} | "$muster" ${filter} | od -An -tx1 | tr -d ' \\n'`)).stdout).toContain(
        '636166e920c3a9',
      );
  });

  it('comes back as it was', () => {
    for (const bytes of [
      Buffer.from([0xff, 0x41, 0xc3, 0xa9, 0xe2, 0x82, 0xf0, 0x9f, 0x98, 0x80, 0xed, 0xa0, 0x80, 0xc0, 0x80]),
      Buffer.from('plain'),
      Buffer.from([0xe2]),
    ])
      expect(bytesOf(keptText(bytes))).toEqual(bytes);
    expect(keptText(Buffer.from('é😀'))).toBe('é😀');
  });
});
