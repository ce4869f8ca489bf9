import { useMemo, useRef, useState } from 'preact/hooks';
import { Badge, Card, type Tone } from '../design/parts.tsx';
import { cluster, type ClusterNode } from '../model/cluster.ts';
import { linkTo } from '../model/route.ts';
import { selection } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { nodeList as texts } from '../texts/nodes.ts';

const rowHeight = 30;
const around = 12;

export const powerTone = (power: string | undefined): Tone =>
  power === 'on' ? 'ok' : power === 'unknown' || power === 'crashed' ? 'critical' : '';

const placeOf = ({ rack, unit }: ClusterNode['attributes']): string => [rack, unit].filter(Boolean).join(' / ');

const Row = ({ node: { name, power, attributes } }: { node: ClusterNode }) => (
  <div class="window-row" role="row">
    <span class="cut" role="cell" title={name}>
      <a href={linkTo(`/nodes/${encodeURIComponent(name)}`)}>{name}</a>
    </span>
    <span role="cell">
      {power === undefined ? <span class="muted">–</span> : <Badge tone={powerTone(power)}>{power}</Badge>}
    </span>
    <span class="cut" role="cell" title={attributes['status'] ?? ''}>
      {attributes['status'] ?? ''}
    </span>
    <span class="cut" role="cell" title={attributes['provmethod'] ?? ''}>
      {attributes['provmethod'] ?? ''}
    </span>
    <span class="cut" role="cell" title={placeOf(attributes)}>
      {placeOf(attributes)}
    </span>
    <span class="cut muted" role="cell" title={attributes['groups'] ?? ''}>
      {attributes['groups'] ?? ''}
    </span>
  </div>
);

/** The nodes of the selection, or all; only rows in sight are drawn. */
export function Nodes() {
  const { nodes } = useStore(cluster);
  const { names, state } = useStore(selection);
  const window = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const isChosen = state !== 'none';
  const listed = useMemo(
    () => (isChosen ? nodes.filter(({ name }) => names.has(name)) : nodes),
    [nodes, names, isChosen],
  );
  const first = Math.max(0, Math.floor(top / rowHeight) - around);
  const shown = listed.slice(first, first + Math.ceil(innerHeight / rowHeight) + 2 * around);
  return (
    <>
      <header>
        <h1>{isChosen ? texts.selected : texts.all}</h1>
      </header>
      <Card title={common.nodes(listed.length)}>
        {listed.length === 0 ? (
          <p class="empty">{isChosen ? common.selectionIsEmpty : texts.none}</p>
        ) : (
          <div
            ref={window}
            class="window"
            role="table"
            aria-rowcount={listed.length}
            aria-label={texts.list}
            tabIndex={0}
            onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          >
            <div class="window-row head" role="row">
              {texts.columns.map((name) => (
                <span key={name} role="columnheader">
                  {name}
                </span>
              ))}
            </div>
            <div style={{ height: `${first * rowHeight}px` }} />
            {shown.map((node) => (
              <Row key={node.name} node={node} />
            ))}
            <div style={{ height: `${Math.max(0, listed.length - first - shown.length) * rowHeight}px` }} />
          </div>
        )}
      </Card>
    </>
  );
}
