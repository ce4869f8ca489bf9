import type { BootStatus, SeenStep } from '../reports.ts';

/** Who asks for a file, and how it reaches this server. */
export interface Asker {
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
