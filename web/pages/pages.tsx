import type { ComponentChildren } from 'preact';
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
  readonly section: 'Cluster' | 'Boot' | 'Activity' | 'Management';
  /** On a phone it is always in sight; the others are behind "More". */
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
  { section: 'Cluster', path: '/', name: 'Overview', key: 'o', isMain: true, show: () => <Overview /> },
  {
    section: 'Cluster',
    path: '/nodes',
    name: 'Nodes',
    key: 'n',
    isMain: true,
    show: nodePage,
  },
  { section: 'Cluster', path: '/groups', name: 'Groups', key: 'g', show: () => <Groups /> },
  { section: 'Cluster', path: '/consoles', name: 'Consoles', key: 's', show: () => <Consoles /> },
  { section: 'Cluster', path: '/machines', name: 'Machines', key: 'm', show: () => <Machines /> },
  {
    section: 'Boot',
    path: '/images',
    name: 'Images',
    key: 'i',
    show: ([name]) => <Images key={name} shown={name} />,
  },
  { section: 'Boot', path: '/networks', name: 'Networks', key: 'w', show: () => <Networks /> },
  {
    section: 'Activity',
    path: '/runs',
    name: 'Runs',
    key: 'r',
    isMain: true,
    show: ([id = '', range]) => (id === '' ? <Runs /> : <RunPage key={id} id={id} range={range} />),
  },
  { section: 'Activity', path: '/changes', name: 'Changes', key: 'c', isMain: true, show: () => <Changes /> },
  { section: 'Activity', path: '/audit', name: 'Audit log', key: 'a', show: () => <AuditLog /> },
  { section: 'Management', path: '/policies', name: 'Policies', key: 'p', show: () => <Policies /> },
  {
    section: 'Management',
    path: '/tables',
    name: 'Tables',
    key: 't',
    show: ([name]) => (name === undefined ? <Tables /> : <TablePage key={name} name={name} />),
  },
  { section: 'Management', path: '/servers', name: 'Servers', key: 'v', show: () => <Servers /> },
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
