import type { ServiceAttributes } from './attributes.ts';

/** A service that an agent has told of. */
export interface SlpService {
  /** `service:printer:lpr`, as its URL says. */
  readonly type: string;
  readonly url: string;
  /** The address of the agent that told of it. */
  readonly address: string;
  /** Told by a directory agent, which stands for others. */
  readonly fromDirectory: boolean;
  /** Empty if the agent told none. */
  readonly attributes: ServiceAttributes;
}

const longestUrl = 1_024;

export const isUrl = (text: string): boolean => text.length <= longestUrl && /^[a-z][\x21-\x7e]+$/i.test(text);

/** The type in the URL of a service that was asked for by `asked`, which may be abstract (RFC 2609 2.1); that one if the URL does not fit. */
export function typeOfService(url: string, asked: string): string {
  const type = url.slice(0, Math.max(url.indexOf('://'), 0));
  return type.toLowerCase().startsWith(`${asked.toLowerCase()}:`) ? type : asked;
}
