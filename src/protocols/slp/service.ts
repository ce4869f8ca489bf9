import type { ServiceAttributes } from './attributes.ts';

/** A service that an agent has told of. */
export interface SlpService {
  /** `service:printer:lpr`, as its URL says; if that says nothing, what was asked for. */
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

/** The type that a service's URL tells, which may be another than the one that was asked for; that one if the URL is of no service. */
export function typeOfService(url: string, asked: string): string {
  const type = url.slice(0, Math.max(url.indexOf('://'), 0));
  return /^service:[^:]/i.test(type) ? type : asked;
}
