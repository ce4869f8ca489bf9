import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Fault } from '../core/errors.ts';
import { makeDirectory, writeFileAtomically } from '../core/files.ts';
import { pieceSize } from './channel.ts';
import { busPlaces } from './places.ts';
import { isWorkerName, permissions } from './subjects.ts';

interface Login {
  readonly who: string;
  /** Of the nkey. */
  readonly publicKey: string;
  readonly permissions: { readonly publish: readonly string[]; readonly subscribe: readonly string[] };
}

/** The logins of the server and of all workers that have a key or get one now. Keys that are there stay. */
export async function makeLogins(data: string, named: readonly string[]): Promise<Login[]> {
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
  /** The public part of the key in a file; a new key if there is no file. */
  const publicKeyAt = (file: string): string => {
    if (!existsSync(file)) writeFileAtomically(file, `${Buffer.from(createUser().getSeed()).toString()}\n`, 0o600);
    try {
      return fromSeed(new TextEncoder().encode(readFileSync(file, 'utf8').trim())).getPublicKey();
    } catch (error) {
      throw new Fault('invalid', `${file} does not hold the seed of an nkey. Remove it to have a new one made.`, {
        cause: error,
      });
    }
  };
  const workers = [...new Set([...present, ...named])].toSorted();
  return [
    { who: 'servers', publicKey: publicKeyAt(places.server), permissions: permissions.server },
    ...workers.map((name) => ({
      who: `worker ${name}`,
      publicKey: publicKeyAt(places.worker(name)),
      permissions: permissions.worker(name),
    })),
  ];
}

interface NatsOptions {
  readonly port: number;
  /** Files of the NATS server. */
  readonly certificate: string;
  readonly key: string;
  readonly logins: readonly Login[];
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
