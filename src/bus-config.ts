import { copyFileSync } from 'node:fs';
import { busPlaces, type BusSettings, makeLogins, natsConfiguration } from './bus/index.ts';
import { Fault } from './core/errors.ts';
import { makeDirectory } from './core/files.ts';
import { ensureServiceCertificate } from './rest/http/certificates.ts';

interface BusConfigOptions {
  /** NATS servers, as HOST or HOST:PORT. */
  readonly servers: readonly string[];
  /** Names of workers. */
  readonly workers: readonly string[];
}

const usualPort = 4222;

interface NatsServer {
  readonly host: string;
  readonly port: number;
}

/** Makes the keys and the certificate of the bus below the data directory, and answers a configuration for nats-server. */
export async function busConfig(
  { data, bus }: { readonly data: string; readonly bus: BusSettings },
  { servers, workers }: BusConfigOptions,
): Promise<string> {
  const given = servers.length > 0 ? servers : (bus.servers ?? []);
  if (given.length === 0)
    throw new Fault('invalid', 'Name the NATS servers: give --server HOST, or the setting bus.servers.');
  const wanted = given.map(readServer);
  const [{ port }] = wanted as [NatsServer];
  if (wanted.some((other) => other.port !== port))
    throw new Fault('invalid', 'All NATS servers must have the same port: they get the same configuration.');
  const places = busPlaces(data);
  makeDirectory(places.directory);
  const names = [...new Set(wanted.map(({ host }) => host))];
  const { certificate, key } = places;
  const { ca } = await ensureServiceCertificate(data, { certificate, key }, names);
  copyFileSync(ca, places.authority);
  return natsConfiguration({ port, certificate, key, logins: await makeLogins(data, workers) });
}

function readServer(text: string): NatsServer {
  const url = URL.parse(text.includes('://') ? text : `tls://${text}`);
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (host === '') throw new Fault('invalid', `"${text}" is not a NATS server; give HOST or HOST:PORT.`);
  return { host, port: url!.port === '' ? usualPort : Number(url!.port) };
}
