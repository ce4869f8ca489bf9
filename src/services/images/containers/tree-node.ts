import type { TarEntry } from '../../../protocols/tar/entry.ts';

/** Something in the tree that layers make. All of it was made by us, so what is remembered of it is what is there. */
export interface TreeNode {
  readonly kind: 'directory' | 'symbolic link' | 'file' | 'other';
  /** The layer that told of it last: whiteouts hide only what lower layers told. */
  layer: number;
}

export interface TreeDirectory extends TreeNode {
  readonly kind: 'directory';
  readonly children: Map<string, TreeNode>;
  /** Undefined if no layer has told of it, only of what is in it. */
  entry: TarEntry | undefined;
}

export const isDirectory = (node: TreeNode | undefined): node is TreeDirectory => node?.kind === 'directory';

export const newDirectory = (layer: number, entry?: TarEntry): TreeDirectory => ({
  kind: 'directory',
  layer,
  children: new Map(),
  entry,
});

/** What has the path in the tree, without following links. */
export function find(root: TreeDirectory, path: string): TreeNode | undefined {
  let node: TreeNode | undefined = root;
  for (const name of path.split('/')) {
    if (!isDirectory(node)) return undefined;
    node = node.children.get(name);
  }
  return node;
}
