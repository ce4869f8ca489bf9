import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { writeFileAtomically } from '../../core/files.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import { http } from '../../core/http.ts';
import type { Logger } from '../../core/log.ts';
import { type Daemon, makeDaemon, userNamed } from '../../names/index.ts';
import type { BootSettings } from '../settings.ts';

const programs = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/sbin/nginx'];
/** Users that packages make for it. */
const users = ['www-data', 'nginx'];
const readyWithin = 15_000;

/** nginx in front of muster's own listener: it asks muster about each request and sends files by sendfile. */
export class BootNginx {
  readonly #listen: readonly ListenAddress[];
  readonly #directory: string;
  readonly #most: number;
  readonly #daemon: Daemon;
  readonly #mark = randomBytes(16).toString('hex');
  /** By this muster knows its nginx. */
  readonly secret = randomBytes(16).toString('hex');

  constructor({ listen = [], maxConnectionsPerAddress }: BootSettings, data: string, log: Logger) {
    const program = programs.find((path) => existsSync(path));
    if (program === undefined)
      throw new Fault(
        'unavailable',
        'The setting boot.files is nginx, and nginx is not here: apt install nginx-light.',
      );
    this.#listen = listen;
    this.#most = maxConnectionsPerAddress;
    this.#directory = join(data, 'boot');
    const spec = {
      name: 'nginx',
      unit: 'nginx.service',
      command: [program, '-c', this.#file, '-e', 'stderr'],
      ready: () => this.#isReady(),
    };
    // Never the system's own unit: that may serve something else.
    this.#daemon = makeDaemon(spec, { how: 'process', log, directory: this.#directory });
  }

  get #file(): string {
    return join(this.#directory, 'nginx.conf');
  }

  /** Serves what the listener of muster on this port has. One that outlived an earlier muster goes on with its transfers. */
  async start(muster: number): Promise<void> {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const user = process.getuid?.() === 0 ? users.find((name) => userNamed(name)) : undefined;
    const configuration = nginxConfiguration({
      listen: this.#listen,
      muster,
      secret: this.secret,
      mark: this.#mark,
      directory: this.#directory,
      user,
      maxConnectionsPerAddress: this.#most,
    });
    writeFileAtomically(this.#file, configuration, 0o600);
    await this.#daemon.reload();
    for (const deadline = Date.now() + readyWithin; Date.now() < deadline && !(await this.#isReady()); )
      await pause(50);
    await this.#daemon.start();
  }

  close(): Promise<void> {
    return this.#daemon.close();
  }

  async #isReady(): Promise<boolean> {
    const answers = await Promise.all(this.#listen.map(answerOf));
    return answers.every((answer) => answer === this.#mark);
  }
}

/** What is at the path that only nginx with our configuration has. */
function answerOf({ host, port }: ListenAddress): Promise<string> {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return new Promise((resolve) => {
    const request = http.get({ host: own, port, path: readyPath, agent: false, timeout: 1_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
      response.on('error', () => resolve(''));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(''));
  });
}

interface NginxWanted {
  /** Where machines ask. */
  readonly listen: readonly ListenAddress[];
  /** The port of muster's own listener on 127.0.0.1. */
  readonly muster: number;
  /** Shows muster that a request comes from this nginx. */
  readonly secret: string;
  /** What `readyPath` is answered with, which shows that this configuration is served. */
  readonly mark: string;
  readonly directory: string;
  /** Whom its workers run as; undefined: whoever starts it. */
  readonly user: string | undefined;
  readonly maxConnectionsPerAddress: number;
}

/** Behind this stands the path of a file that muster lets a client have. */
export const filesPrefix = '/muster-files';
const readyPath = '/boot/nginx-ready';
export const proxyHeaders = {
  secret: 'x-muster-proxy',
  client: 'x-muster-client',
  server: 'x-muster-server',
  port: 'x-muster-port',
  /** nginx could not read the file that it was led to. */
  unreadable: 'x-muster-unreadable',
} as const;

/**
 * Lets muster decide about each request and sends the files itself (sendfile). Bodies stay in memory, for the workers have no
 * directory of their own. A file that the workers may not read is sent by muster.
 */
function nginxConfiguration({
  listen,
  muster,
  secret,
  mark,
  directory,
  user,
  maxConnectionsPerAddress,
}: NginxWanted): string {
  const forward = (unreadable: string): string[] => [
    'proxy_http_version 1.1;',
    'proxy_set_header Connection "";',
    'proxy_set_header Host $http_host;',
    `proxy_set_header ${proxyHeaders.secret} ${secret};`,
    `proxy_set_header ${proxyHeaders.client} $remote_addr;`,
    `proxy_set_header ${proxyHeaders.server} $server_addr;`,
    `proxy_set_header ${proxyHeaders.port} $server_port;`,
    `proxy_set_header ${proxyHeaders.unreadable} "${unreadable}";`,
    'proxy_max_temp_file_size 0;',
    'proxy_read_timeout 60s;',
  ];
  const lines = [
    '# Made by muster at each start; what is changed here is lost.',
    ...(user === undefined ? [] : [`user ${user};`]),
    'daemon off;',
    'worker_processes auto;',
    `pid ${quoted(`${directory}/nginx.pid`)};`,
    'error_log stderr warn;',
    'events { worker_connections 4096; }',
    'http {',
    'access_log off;',
    'server_tokens off;',
    'default_type application/octet-stream;',
    'sendfile on;',
    // Others get their turn in between.
    'sendfile_max_chunk 2m;',
    'tcp_nopush on;',
    'disable_symlinks on;',
    'client_max_body_size 64k;',
    'client_body_buffer_size 64k;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${quoted(`${directory}/${kind}`)};`,
    ),
    'large_client_header_buffers 2 8k;',
    'client_header_timeout 10s;',
    'client_body_timeout 10s;',
    'send_timeout 60s;',
    'keepalive_timeout 15s;',
    'limit_conn_zone $binary_remote_addr zone=clients:10m;',
    `upstream muster { server 127.0.0.1:${muster}; keepalive 64; }`,
    'server {',
    ...listen.map((address) => `listen ${formatListen(address)}${address.host.includes(':') ? ' ipv6only=on' : ''};`),
    `limit_conn clients ${maxConnectionsPerAddress};`,
    `location = ${readyPath} { return 200 "${mark}"; }`,
    'location / {',
    'proxy_pass http://muster;',
    ...forward(''),
    '}',
    `location ${filesPrefix}/ {`,
    'internal;',
    'alias /;',
    'error_page 403 = @muster;',
    '}',
    'location @muster {',
    'proxy_pass http://muster$request_uri;',
    ...forward('yes'),
    '}',
    '}',
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

const quoted = (path: string): string => `"${path.replaceAll(/["\\$]/g, String.raw`\$&`)}"`;
