import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { TestServer } from '../harness/server.ts';

export const muster = join(import.meta.dirname, '../../bin/muster');

/** The environment in which bin/muster asks this server, with its files in `home`. */
export const environmentFor = (server: TestServer, home: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: home,
  TMPDIR: home,
  MUSTER_URL: `https://127.0.0.1:${server.port}`,
  MUSTER_TOKEN: server.token,
  MUSTER_CA: join(server.data, 'tls/ca.pem'),
});

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export const program = (file: string, argv: readonly string[], env: Record<string, string>): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = execFile(file, argv, { env, cwd: env['HOME'] }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
    });
    child.stdin!.end();
  });
