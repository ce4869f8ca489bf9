import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasEnded, type LabChild, said, startChild } from './child.ts';
import type { Namespace } from './netns.ts';

/** A nats-server of its own with a configuration that muster has printed. */
export interface Nats {
  /** For the setting `bus.servers`. */
  readonly url: string;
  start(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  log(): string;
  /** The one that runs now. */
  process(): ChildProcess;
  remove(): Promise<void>;
}

/** A port that nobody listens on just now. */
export async function freePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function startNats(
  configuration: string,
  host: string,
  port: number,
  namespace?: Namespace,
): Promise<Nats> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-nats-'));
  const file = join(directory, 'nats.conf');
  writeFileSync(file, configuration);
  let child: LabChild | undefined;
  let starts = 0;
  const nats: Nats = {
    url: `tls://${host}:${port}`,
    async start() {
      const logFile = join(directory, `log${starts++}`);
      const words = ['nats-server', '-c', file, '--addr', host] as const;
      const [program, ...args] = namespace?.command(...words) ?? words;
      child = startChild(program, args, { directory, logFile });
      await said(child, 'Server is ready');
    },
    async kill() {
      if (!child || hasEnded(child)) return;
      const ended = new Promise((resolve) => child!.process.once('exit', resolve));
      child.process.kill('SIGKILL');
      await ended;
    },
    log: () => child?.log() ?? '',
    process: () => child!.process,
    async remove() {
      await nats.kill();
      rmSync(directory, { recursive: true });
    },
  };
  await nats.start();
  return nats;
}
