import { canonicalAddress } from '../../access/addresses.ts';
import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { NodeImage } from '../../objects/node-image.ts';
import type { BootOrder, InstallBoot, Vantage } from '../boot-order.ts';
import type { BootStatus, SeenStep } from '../reports.ts';
import type { BootTokens } from '../tokens.ts';
import type { Piece } from '../media/iso-image.ts';

/** What a part of network boot adds to the listener. Each has what it answers to; what no route has does not exist. */
export interface BootRoute {
  /** Undefined: it has nothing at this path. A Fault refuses. */
  find?(segments: readonly string[], client: BootClient): Promise<Found | undefined>;
  /** The answer to what was sent there (at most 64 KiB); undefined: it takes nothing at this path. */
  take?(segments: readonly string[], body: string, client: BootClient): Promise<Taken | undefined>;
  /** What a machine with an unknown MAC is to boot, for each architecture; none: nothing. */
  unknown?(mac: string, client: BootClient, vantage: Vantage): Promise<readonly BootOrder[]>;
  /** What a node boots to be installed; undefined: it knows nothing of installing. */
  install?(snapshot: Snapshot, node: string, image: NodeImage, vantage: Vantage): Promise<InstallBoot | undefined>;
}

/** An empty text is answered with 204. */
export interface Taken {
  readonly text: string;
}

/** Who asks for a file, and how it reaches this server. */
export interface BootClient {
  /** Its address. */
  readonly address: string;
  /** The address it has asked. */
  readonly server: string;
  /** This server as it stands in URLs: the address, and the port of HTTP unless it is 80. */
  readonly authority: string;
  readonly httpPort: number;
  readonly protocol: 'http' | 'tftp';
}

/** What a path leads to. */
export type Found = (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** Bytes of which most lie in files; the tag changes with them. */
  | { readonly kind: 'pieces'; readonly pieces: readonly Piece[]; readonly size: number; readonly tag: string }
  /** A path whose links were resolved and judged. */
  | { readonly kind: 'file'; readonly path: string }
) & {
  /** The node that this is for, and what its fetching means in its boot; absent: no node is known. */
  readonly node?: string | undefined;
  /** Whose it is, where somebody else has asked: that says nothing about the node's boot. */
  readonly foreignNode?: string | undefined;
  readonly step: SeenStep;
  readonly leadsTo?: BootStatus | undefined;
  /** Why there is nothing to boot. */
  readonly problem?: string | undefined;
};

/** Who asks, from an address, for files at an address of ours. */
export function bootClient(from: string, at: string, httpPort: number, protocol: BootClient['protocol']): BootClient {
  const server = canonicalAddress(at);
  const whole = formatListen({ host: server, port: httpPort });
  const authority = httpPort === 80 ? whole.replace(/:80$/, '') : whole;
  return { address: canonicalAddress(from), server, authority, httpPort, protocol };
}

/** What a path `boot/KIND/NODE/TOKEN/...` leads to is for that node alone. */
interface OwnPath {
  readonly node: string;
  readonly token: string;
  /** What stands behind the token. */
  readonly rest: readonly string[];
}

/** Undefined: it is another path, or another number of segments stands behind the token. A Fault refuses all but the node. */
export function ownPath(
  kind: string,
  segments: readonly string[],
  { address }: BootClient,
  tokens: Pick<BootTokens, 'check'>,
  behind?: number,
): OwnPath | undefined {
  const [first, second, node, token, ...rest] = segments;
  if (first !== 'boot' || second !== kind || node === undefined || token === undefined) return undefined;
  if (behind !== undefined && rest.length !== behind) return undefined;
  if (!tokens.check(node, token, address))
    throw new Fault('denied', `This is not the token of the node that has the address ${address}.`);
  return { node, token, rest };
}
