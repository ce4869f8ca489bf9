// What the picture of the nodes consists of.
import type { ClusterNode } from './cluster-node.ts';

/** How a rack is drawn. */
export interface Rack {
  readonly units: number;
  readonly unitHeight: number;
  /** Left of the cells, for the numbers of units. */
  readonly gutter: number;
}

/** A rectangle in the picture. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Section {
  readonly label: string;
  readonly count: number;
  readonly x: number;
  /** Where its label stands, and below it its cells. */
  readonly y: number;
  readonly width: number;
  readonly rack?: Rack;
}

export interface Layout {
  /** Cells have the names of their nodes in them. */
  readonly isNamed: boolean;
  readonly height: number;
  readonly sections: readonly Section[];
  /** Beside each other: a node, and where its cell is. */
  readonly nodes: readonly ClusterNode[];
  readonly cells: readonly Place[];
}

export type Group = readonly [label: string, nodes: readonly ClusterNode[]];

export const labelHeight = 22;
export const between = 10;
/** Pictures that are higher have to be scrolled. */
export const wantedHeight = 620;
