import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type AgentOptions, request } from 'node:https';
import { type IncomingHttpHeaders } from 'node:http';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';

const checkout = join(import.meta.dirname, '..', '..');

export const rootPassword = 'fuzz-Root-Pa55word';

export const temporaryDirectory = (): string => mkdtempSync(join(tmpdir(), 'muster-service-'));
export const removeDirectory = (directory: string): void => rmSync(directory, { recursive: true, force: true });

export interface StartOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** A program that runs the server, with its own arguments. */
  readonly under?: readonly string[];
}

/** A server of its own process, as a user starts it. */
export interface Service {
  readonly data: string;
  readonly port: number;
  readonly process: ChildProcess;
  readonly log: () => string;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export async function startService(
  data: string,
  { environment = {}, under = [] }: StartOptions = {},
): Promise<Service> {
  const args = [join(checkout, 'dist/main.js'), '--data', data, '--listen', '127.0.0.1:0'];
  const [program, ...rest] = [...under, process.execPath, ...args];
  const child = spawn(program!, rest, {
    // Whatever a test defines, nothing leaves this machine.
    env: {
      ...process.env,
      MUSTER_HARDWARE_NETWORKS: '127.0.0.0/8,::1/128',
      MUSTER_REMOTE_NETWORKS: '127.0.0.0/8,::1/128',
      MUSTER_DISCOVERY_INTERFACES: 'lo',
      MUSTER_DISCOVERY_SECONDS: '1',
      MUSTER_HOSTS_FILE: join(data, 'hosts'),
      MUSTER_NAME_LOOKUP: 'false',
      MUSTER_DNS_DAEMON: 'none',
      MUSTER_DHCP_DAEMON: 'none',
      MUSTER_NEW_DATABASE: 'bare',
      MUSTER_ROOT_PASSWORD: rootPassword,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const ready = /^muster ready https:\/\/127\.0\.0\.1:(\d+)\/muster$/m.exec(output);
      if (ready) resolve(Number(ready[1]));
    });
    void exited.then(({ code, signal }) => reject(new Error(`The server ended (${code ?? signal}): ${log}`)));
  });
  return { data, port, process: child, log: () => log, exited };
}

/** Asks the server to end and waits for it. A tracer would keep the signal to itself, so the server is named by its own file. */
export async function stopService(service: Service): Promise<number | null> {
  process.kill(Number(readFileSync(join(service.data, 'pid'), 'utf8')), 'SIGTERM');
  // One that hangs must not outlive its test.
  const late = setTimeout(() => service.process.kill('SIGKILL'), 40_000);
  const { code } = await service.exited;
  clearTimeout(late);
  return code;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

const authority = (data: string): string => readFileSync(join(data, 'tls', 'ca.pem'), 'utf8');

export const agentFor = ({ data }: Service, options: AgentOptions = {}): Agent =>
  new Agent({ keepAlive: true, ca: authority(data), ...options });

export function call(
  { port }: Service,
  agent: Agent,
  method: string,
  path: string,
  { headers = {}, body }: Call = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    // Node leaves the length out for methods that usually have no body.
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const all = { ...headers, ...length };
    const sent = request({ host: '127.0.0.1', port, agent, method, path, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** A JSON request with a token. */
export function callJson(
  service: Service,
  agent: Agent,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply> {
  const headers = { 'X-Auth-Token': token, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
  return call(service, agent, method, path, { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

export async function login(service: Service, agent: Agent, userName = 'root', userPW = rootPassword): Promise<string> {
  const reply = await call(service, agent, 'POST', '/muster/tokens', { body: JSON.stringify({ userName, userPW }) });
  if (reply.status !== 201) throw new Error(`The login failed: ${reply.status} ${reply.body}`);
  return (JSON.parse(reply.body) as { token: { id: string } }).token.id;
}

/** A bare connection, for what no HTTP library would send. */
export async function openSocket({ data, port }: Service, localAddress = '127.0.0.1'): Promise<TLSSocket> {
  const plain = connectPlain({ host: '127.0.0.1', port, localAddress });
  const socket = connect({ socket: plain, ca: authority(data), host: '127.0.0.1' });
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
    plain.once('error', reject);
  });
  socket.on('error', () => socket.destroy());
  return socket;
}

/** Everything the server sends until it closes the connection, or until `patience` milliseconds have passed. */
export function readAll(socket: TLSSocket, patience: number): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => resolve({ text, closed: false }), patience);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.once('close', () => {
      clearTimeout(timer);
      resolve({ text, closed: true });
    });
  });
}
