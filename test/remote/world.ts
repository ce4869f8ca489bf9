import { rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Client, CallOptions, Reply } from '../harness/client.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { type SshLab, type SshLabOptions, startSsh } from '../lab/ssh.ts';

/** A server whose nodes t0, t1... are the places of an SSH lab. */
export interface RemoteWorld {
  readonly server: TestServer;
  readonly lab: SshLab;
  /** A directory whose files may be sent. */
  readonly sources: string;
  readonly client: Client;
  /** Runs a command; `more` are further members of the body. */
  shell(range: string, command: unknown, more?: object, options?: CallOptions): Promise<Reply>;
  /** The lines of NDJSON, the summary last. */
  stream(range: string, command: unknown, more?: object, options?: CallOptions): Promise<Line[]>;
  /** Begins a command whose results come as NDJSON; it is there when the head of the reply is. */
  begin(path: string, body: object): Promise<Begun>;
  /** The same, and nobody reads the reply yet. */
  open(path: string, body: object): Promise<IncomingMessage>;
  stop(): Promise<void>;
}

export interface Begun {
  readonly run: string;
  /** All lines, once the reply has ended. */
  readonly lines: Promise<Line[]>;
  leave(): void;
}

// oxlint-disable-next-line no-explicit-any -- tests look into lines of every shape
export type Line = any;

export async function startWorld(options: SshLabOptions, settings = 'connectSeconds = 60'): Promise<RemoteWorld> {
  const lab = await startSsh(options);
  const sources = temporaryDirectory();
  const server = await startServer({
    config: `[remote]\nport = ${lab.port}\nsources = [${JSON.stringify(sources)}]\n${settings}\n`,
  });
  const [publicKey] = await server.ok('GET', '/services/sshkey');
  lab.authorize(publicKey);
  await server.ok('POST', `/nodes/t[0-${lab.addresses.length - 1}]`, { groups: 'all' });
  // For all at once; addresses are 250 in each /24.
  await server.ok('PUT', '/groups/all', { ip: `|t(\\d+)|${options.prefix}.($1/250).($1%250+1)|` });
  const call = (range: string, command: unknown, more: object, given: CallOptions) =>
    server.call('POST', `/nodes/${range}/nodeshell`, { ...given, body: { command, ...more } });
  const open = (path: string, body: object): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { port, ca } = server.client;
      const headers = {
        Accept: 'application/x-ndjson',
        'Content-Type': 'application/json',
        'X-Auth-Token': server.token,
      };
      request({ host: '127.0.0.1', port, ca, path: `/muster${path}`, method: 'POST', headers, agent: false })
        .once('response', resolve)
        .once('error', reject)
        .end(JSON.stringify(body));
    });
  return {
    server,
    lab,
    sources,
    open,
    client: server.client,
    shell: (range, command, more = {}, given = {}) => call(range, command, more, given),
    async stream(range, command, more = {}, given = {}) {
      const headers = { Accept: 'application/x-ndjson', ...given.headers };
      return parseLines((await call(range, command, more, { ...given, headers })).text);
    },
    async begin(path, body) {
      const response = await open(path, body);
      const lines = text(response).then(parseLines);
      lines.catch(() => undefined);
      return { run: String(response.headers['x-muster-run']), lines, leave: () => response.destroy() };
    },
    async stop() {
      await server.stop();
      await lab.stop();
      rmSync(sources, { recursive: true });
    },
  };
}

export const parseLines = (all: string): Line[] =>
  all
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
