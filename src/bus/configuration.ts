import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Fault } from '../core/errors.ts';
import { makeDirectory, writeFileAtomically } from '../core/files.ts';
import { pieceSize } from './channel.ts';
import { seedIn, workerFile } from './login.ts';
import { busPlaces } from './places.ts';
import { sealKeyOf } from './seals.ts';
import { isWorkerName, permissions } from './subjects.ts';

interface NatsLogin {
  readonly who: string;
  /** Of the nkey. */
  readonly publicKey: string;
  readonly permissions: { readonly publish: readonly string[]; readonly subscribe: readonly string[] };
}

/** The logins of the server and of all workers that have a key or get one now. Keys that are there stay. */
export async function makeLogins(data: string, named: readonly string[]): Promise<NatsLogin[]> {
  // Only who makes keys loads it.
  const { createUser, fromSeed } = await import('@nats-io/nkeys');
  const places = busPlaces(data);
  makeDirectory(places.workers);
  for (const name of named) {
    if (isWorkerName(name)) continue;
    throw new Fault('invalid', `"${name}" is not a name for a worker; give the name of the service node, such as sn1.`);
  }
  const present = readdirSync(places.workers).flatMap((file) =>
    file.endsWith('.seed') && isWorkerName(file.slice(0, -'.seed'.length)) ? file.slice(0, -'.seed'.length) : [],
  );
  /** The key in a file; a new one if there is no file. */
  const seedAt = (file: string): string => {
    if (!existsSync(file)) return Buffer.from(createUser().getSeed()).toString();
    const seed = seedIn(readFileSync(file, 'utf8'));
    if (seed !== undefined && isKey(seed)) return seed;
    throw new Fault('invalid', `${file} does not hold the seed of an nkey. Remove it to have a new one made.`);
  };
  const isKey = (seed: string): boolean => {
    try {
      return publicKeyOf(seed) !== '';
    } catch {
      return false;
    }
  };
  const publicKeyOf = (seed: string): string => fromSeed(new TextEncoder().encode(seed)).getPublicKey();
  const server = seedAt(places.server);
  keep(places.server, `${server}\n`);
  const workerKey = (name: string): string => {
    const seed = seedAt(places.worker(name));
    // Files of earlier versions, or of another key of the servers, have no key for messages, or the wrong one.
    keep(places.worker(name), workerFile(seed, sealKeyOf(server, name)));
    return publicKeyOf(seed);
  };
  const workers = [...new Set([...present, ...named])].toSorted();
  return [
    { who: 'servers', publicKey: publicKeyOf(server), permissions: permissions.server },
    ...workers.map((name) => ({
      who: `worker ${name}`,
      publicKey: workerKey(name),
      permissions: permissions.worker(name),
    })),
  ];
}

function keep(file: string, content: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== content) writeFileAtomically(file, content, 0o600);
}

interface NatsOptions {
  readonly port: number;
  /** Files of the NATS server. */
  readonly certificate: string;
  readonly key: string;
  readonly logins: readonly NatsLogin[];
}

/** Room for the head of a frame, and a piece in it. */
const payload = Math.max(pieceSize * 2, 1024 * 1024);

/** What nats-server takes with `-c`. */
export function natsConfiguration({ port, certificate, key, logins }: NatsOptions): string {
  const list = (subjects: readonly string[]): string => `[${subjects.map((each) => JSON.stringify(each)).join(', ')}]`;
  const users = logins.map(
    ({ who, publicKey, permissions: { publish, subscribe } }) =>
      `    # ${who}\n    { nkey: ${publicKey}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`,
  );
  return [
    '# Made by muster bus-config. Make it again after a worker was added or removed, and reload nats-server.',
    `port: ${port}`,
    `max_payload: ${payload}`,
    'tls {',
    `  cert_file: ${JSON.stringify(certificate)}`,
    `  key_file: ${JSON.stringify(key)}`,
    '}',
    'authorization {',
    '  users: [',
    users.join('\n'),
    '  ]',
    '}',
    '',
  ].join('\n');
}
