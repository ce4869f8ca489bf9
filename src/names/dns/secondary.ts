import { createHmac } from 'node:crypto';
import { type DnsDuty, dnsDutyProblem } from '../../bus/index.ts';
import { writeFileAtomically } from '../../core/files.ts';
import { ipKind, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { TsigKey } from '../../protocols/dns/tsig.ts';
import { giveTo, type Layout } from './layout.ts';
import { namedOptions } from './named-conf.ts';

/** Whoever has this key may copy zones, and change nothing. */
const keyName = 'muster-transfer';

/** It follows from the key that muster changes zones with, so it need not be kept anywhere else. */
const transferSecret = ({ secret }: TsigKey): string => createHmac('sha256', secret).update(keyName).digest('base64');

/** For named, beside the other key. */
export function provideTransferKey({ transferKeyFile: file, user }: Layout, key: TsigKey): void {
  const text = `key "${keyName}" { algorithm hmac-sha256; secret "${transferSecret(key)}"; };\n`;
  writeFileAtomically(file, text, 0o600);
  giveTo(file, user);
}

interface Primary {
  readonly layout: Layout;
  readonly key: TsigKey;
  readonly zones: Iterable<string>;
}

const unknownPrimary =
  'It copies no zones, because it does not know where the server is: PUT /globalconf/attrs/master {"master":"ADDRESS"}.';

/** Mostly because networks of /25 and longer have a zone for each address, unless a larger network contains them. */
const tooMuch = (problem: string): string =>
  `It copies no zones, because ${problem}. Each address in a network of /25 or longer has a zone of its own: define one network of /24 or shorter that contains such networks, then POST /services/dns.`;

/** What a name server elsewhere needs to keep copies of the zones here. */
export function secondaryOf(
  snapshot: Snapshot,
  master: string | undefined,
  { layout, key, zones }: Primary,
): DnsDuty | { readonly objection: string } {
  const primary = primaryOf(layout, master);
  if (!primary) return { objection: unknownPrimary };
  const { forwarders, forwardOnly, clients } = namedOptions(snapshot, layout);
  const duty: DnsDuty = {
    zones: [...zones].toSorted(),
    primary,
    key: { name: keyName, secret: transferSecret(key) },
    forwarders: [...forwarders],
    forwardOnly,
    clients: [...clients],
  };
  const problem = dnsDutyProblem(duty);
  return problem === undefined ? duty : { objection: tooMuch(problem) };
}

/** Where named listens, as others reach it. */
function primaryOf({ listen = [{ host: '0.0.0.0', port: 53 }] }: Layout, master: string | undefined) {
  const isAny = (host: string): boolean => host === '0.0.0.0' || host === '::';
  const any = listen.find(({ host }) => isAny(host));
  if (any) return master === undefined ? undefined : { host: master, port: any.port };
  const named = listen.filter(({ host }) => parseIp(host) !== undefined);
  return (
    named.find(({ host }) => host === master) ?? named.find(({ host }) => ipKind(parseIp(host)!) === 'host') ?? named[0]
  );
}
