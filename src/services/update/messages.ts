/** What is told of a node, as the reference system words it. Replies for many nodes say some of it once for all. */
export const noSyncFiles = 'There were no syncfiles defined to process. File synchronization has completed.';
export const filesSynced = 'File synchronization has completed.';
export const softwareBegins =
  'Performing software maintenance operations. This could take a while, if there are packages to install.';
export const softwareDone = 'Running of Software Maintenance has completed.';
export const scriptsDone = 'Running of postscripts has completed.';

const syncedFor = (nodes: readonly string[]): string =>
  `File synchronization has completed for nodes: "${nodes.join(',')}"`;

/** The lines of nodes as one list: what is true of many is said once, the rest with the node's name before it. */
export function messagesOf(lines: ReadonlyMap<string, readonly string[]>): string[] {
  const nodes = [...lines.keys()].sort();
  const having = (line: string): string[] => nodes.filter((node) => lines.get(node)!.includes(line));
  const synced = having(filesSynced);
  const common = [
    ...(synced.length === 0 && having(noSyncFiles).length > 0 ? [noSyncFiles] : []),
    ...(synced.length > 0 ? [syncedFor(synced)] : []),
    ...(having(softwareBegins).length > 0 ? [softwareBegins] : []),
  ];
  const said = new Set([filesSynced, softwareBegins, ...(synced.length === 0 ? [noSyncFiles] : [])]);
  const own = nodes.flatMap((node) => lines.get(node)!.flatMap((line) => (said.has(line) ? [] : `${node}: ${line}`)));
  return [...common, ...own];
}
