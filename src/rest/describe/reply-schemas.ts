import type { ReplyShape } from '../endpoint.ts';
import data from './reply-schemas.json' with { type: 'json' };

interface Reply {
  /** Its key among the components of the OpenAPI document. */
  readonly key: string;
  readonly description: string;
  /** Its type, where it is not JSON. */
  readonly media?: string;
  readonly schema: object;
}

/** The bodies of successful replies by shape; `none` has no body. */
export const replies: Readonly<Record<Exclude<ReplyShape, 'none'>, Reply>> = data.replies;

/** Other bodies, the last of them a line of an NDJSON reply. */
export const { errorReply, dryRunReply, dryRunOnNodesReply, streamLine, examples } = data;
