import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { ended, type Ended, muster } from '../harness/muster-command.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { jsonAnswer, type RawRequest, type RawTls, rawTls } from '../lab/raw-tls.ts';
import { certificateMaker } from '../lab/redfish/certificate.ts';

/** Beginnings of paths below /muster, and what is answered there: JSON, or the bytes of a whole answer. */
export type Answers = Readonly<Record<string, object | string>>;

/** The bytes of a stream of lines, with its summary. */
export const stream = (...lines: readonly object[]): string => {
  const all = [...lines, { summary: { nodes: lines.length, ok: lines.length, failed: 0 } }];
  const text = all.map((line) => `${JSON.stringify(line)}\n`).join('');
  return `HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** What a file, or a link, holds. */
export type Tree = Readonly<Record<string, string>>;

export interface HostileServer {
  readonly server: RawTls;
  readonly url: string;
  readonly certificate: string;
  answers: Answers;
}

/** A server with a certificate that its client trusts, and answers of an attacker's choice. */
export async function hostileServer(rough?: (socket: TLSSocket) => void): Promise<HostileServer> {
  const maker = await certificateMaker();
  const certificate = await maker.make('127.0.0.1');
  const answer = ({ path }: RawRequest): string => {
    const at = decodeURIComponent(path.replace(/^\/muster/, '').replace(/\?.*/, ''));
    const found = Object.entries(hostile.answers).find(([beginning]) => at.startsWith(beginning))?.[1];
    if (found === undefined)
      return jsonAnswer({ error: [`nothing at ${at}`] }, '404 Not Found', 'content-type: application/json\r\n');
    return typeof found === 'string' ? found : jsonAnswer(found, '200 OK', 'content-type: application/json\r\n');
  };
  const options = { cert: certificate, key: maker.key };
  const server = await rawTls(
    '127.0.0.1',
    (socket, request) => (rough ? rough(socket) : void socket.write(answer(request))),
    options,
  );
  const hostile: HostileServer = { server, url: `https://127.0.0.1:${server.port}`, certificate, answers: {} };
  return hostile;
}

/** A user's files, with directories above that a path with dots would lead to. */
export class Victim {
  readonly root = temporaryDirectory();
  readonly home = join(this.root, 'above/home');
  readonly env: Readonly<Record<string, string>>;

  constructor({ url, certificate }: HostileServer, files: Tree = {}) {
    mkdirSync(join(this.home, 'here'), { recursive: true });
    const authority = join(this.root, 'ca.pem');
    writeFileSync(authority, certificate);
    for (const [name, text] of Object.entries(files)) this.put(name, text);
    this.env = { HOME: this.home, MUSTER_URL: url, MUSTER_TOKEN: 'secret-token', MUSTER_CA: authority };
  }

  put(name: string, text: string): void {
    const file = join(this.home, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o600);
  }

  /** In words, `HOME` stands for the home directory. */
  run(words: readonly string[]): Promise<Ended> {
    return ended(
      muster,
      words.map((word) => word.replace('HOME', this.home)),
      this.env,
    );
  }

  /** All files but the authority, relative to the home directory. */
  tree(): Tree {
    const found: Record<string, string> = {};
    const walk = (directory: string, shown: string): void => {
      for (const name of readdirSync(directory)) {
        const [file, at] = [join(directory, name), `${shown}${name}`];
        const kind = lstatSync(file);
        if (kind.isDirectory()) walk(file, `${at}/`);
        else if (at !== 'ca.pem')
          found[at.replace(/^above\/home\//, '')] = kind.isSymbolicLink()
            ? `-> ${readlinkSync(file)}`
            : readFileSync(file, 'utf8');
      }
    };
    walk(this.root, '');
    return found;
  }
}
