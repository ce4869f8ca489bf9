import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../../core/errors.ts';
import { writeFileAtomically } from '../../../core/files.ts';
import type { ListenAddress } from '../../../core/listen-address.ts';
import type { Logger } from '../../../core/log.ts';
import { type Daemon, makeDaemon, userNamed } from '../../daemons/daemon.ts';
import type { BootSettings } from '../settings.ts';
import { nginxConfiguration, readyPath } from './nginx-configuration.ts';

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
    const request = get({ host: own, port, path: readyPath, agent: false, timeout: 1_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
      response.on('error', () => resolve(''));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(''));
  });
}
