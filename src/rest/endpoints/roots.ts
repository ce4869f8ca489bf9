import type { XcatwsSettings } from '../http/settings.ts';
import { type ErrorKind, errorKinds, type Fault } from '../../core/errors.ts';

/** All in which the two service roots answer differently; which rows one of them lacks, the rows say (`only`). */
export interface Root {
  readonly prefix: string;
  /** Refuses unknown query parameters, unknown members of action bodies, members that are named twice, form-encoded bodies and unacceptable Accept headers. */
  readonly strict: boolean;
  /** Credentials may stand in the header Authorization, and who is refused hears what was wrong with those that were sent. */
  readonly takesAuthorization: boolean;
  /** Tokens can have limits, and may ask for such tokens. */
  readonly limitsTokens: boolean;
  /** Browsers may show who they are by the cookie of a session. */
  readonly takesSessions: boolean;
  /** Those who ask for it get the results of nodes beside the errors of others. */
  readonly canBeLenient: boolean;
  /** Replies name the server, and error bodies have details for those who ask for them. */
  readonly tellsDetails: boolean;
  /** In indented replies names are followed by a colon and a blank. */
  readonly blankAfterName: boolean;
  /** Lines that nodes print keep the blank that stood between them and the node's name, and empty ones are dropped. */
  readonly blankBeforeLines: boolean;
  /** HEAD is answered where GET is. */
  readonly answersHead: boolean;
  /** A node range that selects nothing is an error also when reading definitions. */
  readonly refusesEmptyRanges: boolean;
  /** Attributes of the path of PUT globalconf that the body lacks are an error. */
  readonly comparesPathWithBody: boolean;
  /** What a command on a node writes to standard error makes it a failure, whatever it exits with. */
  readonly failsOnErrorOutput: boolean;
  /** Nodes that makehosts leaves out are an error, not only a message. */
  readonly failsOnNodesLeftOut: boolean;
  /** Query parameters of PUT that are no common ones are members of the body, and win over those in it. */
  readonly takesMembersInQuery: boolean;
  /** Hidden nodes are shown among the members of groups and in rows of tables that a group chooses. */
  readonly showsHiddenMembers: boolean;
  readonly statuses: Readonly<Partial<Record<ErrorKind, number>>>;
  /** What a refusal by the policy says first; clients of the reference system look for this text. */
  readonly denialPrefix: readonly string[];
  /** Error bodies and the texts that scripts look for are those of the reference system. */
  readonly hasReferenceErrors: boolean;
}

export const musterRoot: Root = {
  prefix: '/muster',
  strict: true,
  takesAuthorization: true,
  limitsTokens: true,
  takesSessions: true,
  canBeLenient: true,
  tellsDetails: true,
  blankAfterName: true,
  blankBeforeLines: false,
  answersHead: true,
  refusesEmptyRanges: false,
  comparesPathWithBody: true,
  failsOnErrorOutput: false,
  failsOnNodesLeftOut: true,
  takesMembersInQuery: false,
  showsHiddenMembers: false,
  statuses: {},
  denialPrefix: [],
  hasReferenceErrors: false,
};

/** For clients written for the reference system: statuses as it sends them, lenient where it is. */
const xcatwsRoot: Root = {
  prefix: '/xcatws',
  strict: false,
  takesAuthorization: false,
  limitsTokens: false,
  takesSessions: false,
  canBeLenient: false,
  tellsDetails: false,
  blankAfterName: false,
  blankBeforeLines: true,
  answersHead: false,
  refusesEmptyRanges: true,
  comparesPathWithBody: false,
  failsOnErrorOutput: true,
  failsOnNodesLeftOut: false,
  takesMembersInQuery: true,
  showsHiddenMembers: true,
  statuses: { 'missing-action': 404, 'missing-member': 403, denied: 401, 'unknown-object': 403, conflict: 403 },
  denialPrefix: ['Authentication failure'],
  hasReferenceErrors: false,
};

export const roots: readonly Root[] = [musterRoot, xcatwsRoot];

/** The roots as the settings want them. */
export const rootsWith = ({ errors }: XcatwsSettings): readonly Root[] =>
  roots.map((root) => (root === xcatwsRoot ? { ...root, hasReferenceErrors: errors === 'reference' } : root));

export const statusAt = (root: Root, kind: ErrorKind): number => root.statuses[kind] ?? errorKinds[kind].status;

export const sentencesAt = (root: Root, { kind, sentences }: Fault): readonly string[] =>
  kind === 'denied' ? [...root.denialPrefix, ...sentences] : sentences;
