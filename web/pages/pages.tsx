import type { ComponentChildren } from 'preact';
import { type frame, pageNames as names } from '../texts/frame.ts';
import { AuditLog } from './audit.tsx';
import { Changes } from './changes.tsx';
import { Consoles } from './consoles.tsx';
import { Groups } from './groups.tsx';
import { Images } from './images.tsx';
import { Machines } from './machines.tsx';
import { Networks } from './networks.tsx';
import { NodePage } from './node.tsx';
import { Nodes } from './nodes.tsx';
import { Overview } from './overview.tsx';
import { Policies } from './policies.tsx';
import { RunPage } from './run.tsx';
import { Runs } from './runs.tsx';
import { SerialPage } from './serial.tsx';
import { Servers } from './servers.tsx';
import { TablePage } from './table.tsx';
import { Tables } from './tables.tsx';

/** A page of the console. Router, navigation, keys and palette are made from these rows. */
interface ConsolePage {
  readonly path: string;
  readonly name: string;
  /** After `g`. */
  readonly key: string;
  /** The heading of the navigation above it. */
  readonly section: keyof typeof frame.sections;
  /** On a phone it is always in sight; the others are behind one button. */
  readonly isMain?: true;
  /** `rest`: what the address has behind the path, segment by segment. */
  show(rest: readonly string[]): ComponentChildren;
}

function nodePage(rest: readonly string[]): ComponentChildren {
  const [node = '', part] = rest;
  if (node === '') return <Nodes />;
  if (rest.length === 2 && part === 'console') return <SerialPage key={node} node={node} />;
  // Names in ranges may have slashes.
  const name = rest.join('/');
  return <NodePage key={name} name={name} />;
}

/** In the order of the navigation. */
export const pages: readonly ConsolePage[] = [
  { section: 'cluster', path: '/', name: names.overview, key: 'o', isMain: true, show: () => <Overview /> },
  {
    section: 'cluster',
    path: '/nodes',
    name: names.nodes,
    key: 'n',
    isMain: true,
    show: nodePage,
  },
  { section: 'cluster', path: '/groups', name: names.groups, key: 'g', show: () => <Groups /> },
  { section: 'cluster', path: '/consoles', name: names.consoles, key: 's', show: () => <Consoles /> },
  { section: 'cluster', path: '/machines', name: names.machines, key: 'm', show: () => <Machines /> },
  {
    section: 'boot',
    path: '/images',
    name: names.images,
    key: 'i',
    show: ([name]) => <Images key={name} shown={name} />,
  },
  { section: 'boot', path: '/networks', name: names.networks, key: 'w', show: () => <Networks /> },
  {
    section: 'activity',
    path: '/runs',
    name: names.runs,
    key: 'r',
    isMain: true,
    show: ([id = '', range]) => (id === '' ? <Runs /> : <RunPage key={id} id={id} range={range} />),
  },
  { section: 'activity', path: '/changes', name: names.changes, key: 'c', isMain: true, show: () => <Changes /> },
  { section: 'activity', path: '/audit', name: names.audit, key: 'a', show: () => <AuditLog /> },
  { section: 'management', path: '/policies', name: names.policies, key: 'p', show: () => <Policies /> },
  {
    section: 'management',
    path: '/tables',
    name: names.tables,
    key: 't',
    show: ([name]) => (name === undefined ? <Tables /> : <TablePage key={name} name={name} />),
  },
  { section: 'management', path: '/servers', name: names.servers, key: 'v', show: () => <Servers /> },
];

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The page that an address belongs to, and what the address has behind its path. */
export function pageAt(path: string): { readonly page: ConsolePage; readonly rest: readonly string[] } | undefined {
  const [, section = '', ...rest] = path.split('/');
  const page = pages.find((each) => each.path === `/${section}`);
  return page && { page, rest: rest.filter(Boolean).map(decoded) };
}
