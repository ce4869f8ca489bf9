import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClusterNode } from '../model/cluster.ts';
import { type Color, detailOf, type Legend, needsAttention, type Shading, valueOf } from '../model/colors.ts';
import { type Box, groupsOf, layOut, neighbor, nodeAt, nodesIn } from '../model/layout.ts';
import { labelHeight, type Layout, type Section } from '../model/places.ts';
import { folded } from '../model/ranges.ts';
import { go } from '../model/route.ts';
import { select, selection } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { isDark } from '../model/theme.ts';
import { grid as texts } from '../texts/nodes.ts';

interface GridProps {
  readonly nodes: readonly ClusterNode[];
  readonly shading: Shading;
  readonly legend: readonly Legend[];
  readonly groupBy: Shading;
}

interface Drawing {
  readonly layout: Layout;
  readonly colors: ReadonlyMap<string, Color>;
  readonly shading: Shading;
  readonly selected: ReadonlySet<string>;
  readonly cursor: number | undefined;
  readonly box: Box | undefined;
  readonly dark: boolean;
}

/** Of a named cell, the part that has the color. */
const bar = 5;

function shortened(context: CanvasRenderingContext2D, name: string, room: number): string {
  if (context.measureText(name).width <= room) return name;
  const letters = Math.floor((name.length * room) / context.measureText(name).width);
  return `${name.slice(0, Math.max(1, letters - 1))}…`;
}

/** The label of a group, and below it the frame of a rack with the numbers of its units. */
function drawSection(
  context: CanvasRenderingContext2D,
  styles: CSSStyleDeclaration,
  { label, count, x, y, width, rack }: Section,
): void {
  context.globalAlpha = 1;
  context.fillStyle = styles.getPropertyValue('--text-2');
  context.font = `500 12px ${styles.fontFamily}`;
  const text = rack && width < 90 ? label : `${label}  ·  ${count}`;
  if (label !== '') context.fillText(shortened(context, text, width + (rack ? 6 : 0)), x, y + labelHeight - 9);
  if (!rack) return;
  const { units, unitHeight, gutter } = rack;
  context.font = `10px ${styles.fontFamily}`;
  context.textAlign = 'right';
  for (let unit = 1; unit <= units; unit++) {
    const top = y + labelHeight + (units - unit) * unitHeight;
    context.fillStyle = styles.getPropertyValue('--text-2');
    if (gutter > 0 && (unit === 1 || unit % 5 === 0))
      context.fillText(String(unit), x + gutter - 7, top + unitHeight - 4);
    // An empty unit is a faint line, so that what stands in the rack is what one sees.
    context.fillStyle = styles.getPropertyValue('--line');
    if (unitHeight > 4) context.fillRect(x + gutter, top + unitHeight - 1, width - gutter, 0.5);
  }
  context.textAlign = 'left';
  context.strokeStyle = styles.getPropertyValue('--line');
  context.lineWidth = 1;
  context.strokeRect(x + gutter - 1.5, y + labelHeight - 1.5, width - gutter + 3, units * unitHeight + 2);
}

function draw(canvas: HTMLCanvasElement, width: number, drawing: Drawing): void {
  const { layout, colors, shading, selected, cursor, box, dark } = drawing;
  const scale = devicePixelRatio;
  const height = Math.max(layout.height, 1);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const styles = getComputedStyle(canvas);
  const accent = styles.getPropertyValue('--accent');
  const isChoosing = selected.size > 0;
  for (const section of layout.sections) drawSection(context, styles, section);
  for (const [i, { x, y, width: across, height: high }] of layout.cells.entries()) {
    const node = layout.nodes[i]!;
    const color = colors.get(valueOf(node, shading));
    context.globalAlpha = isChoosing && !selected.has(node.name) ? 0.28 : 1;
    context.fillStyle = color ? (dark ? color.dark : color.light) : accent;
    if (layout.isNamed) {
      context.fillRect(x, y, bar, high);
      context.fillStyle = styles.getPropertyValue('--sunken');
      context.fillRect(x + bar, y, across - bar, high);
      context.fillStyle = styles.getPropertyValue('--text');
      context.font = `500 ${high < 20 ? 11 : 12}px ${styles.fontFamily}`;
      const room = across - bar - 12;
      if (room > 20) context.fillText(shortened(context, node.name, room), x + bar + 8, y + high / 2 + 4);
    } else context.fillRect(x, y, across, high);
    if (!needsAttention(node)) continue;
    // Not by color alone: a notch in the corner says that something is wrong.
    context.globalAlpha = 1;
    context.fillStyle = styles.getPropertyValue('--critical');
    const notch = Math.max(3, Math.round(Math.min(high, 22) / 2.5));
    context.fillRect(x + across - notch, y, notch, notch);
  }
  context.globalAlpha = 1;
  context.strokeStyle = accent;
  context.lineWidth = 2;
  const at = cursor === undefined ? undefined : layout.cells[cursor];
  if (at) context.strokeRect(at.x - 1, at.y - 1, at.width + 2, at.height + 2);
  if (!box) return;
  context.lineWidth = 1;
  context.strokeRect(box.left + 0.5, box.top + 0.5, box.right - box.left, box.bottom - box.top);
  context.globalAlpha = 0.1;
  context.fillStyle = accent;
  context.fillRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const boxOf = (a: Point, b: Point): Box => ({
  left: Math.min(a.x, b.x),
  top: Math.min(a.y, b.y),
  right: Math.max(a.x, b.x),
  bottom: Math.max(a.y, b.y),
});

const steps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** A press that moves less is a click. */
const still = 4;

/** All nodes as cells: click or Enter opens one, dragging or Space selects. */
export function NodeGrid({ nodes, shading, legend, groupBy }: GridProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [cursor, setCursor] = useState<number>();
  const [from, setFrom] = useState<Point>();
  const [to, setTo] = useState<Point>();
  const [hover, setHover] = useState<Point & { index: number }>();
  const { names: selected } = useStore(selection);
  const dark = useStore(isDark);
  const layout = useMemo(() => layOut(groupsOf(nodes, groupBy), groupBy, width), [nodes, groupBy, width]);
  const colors = useMemo(() => new Map(legend.map(({ value, color }) => [value, color])), [legend]);
  const isDragging = from && to && Math.hypot(to.x - from.x, to.y - from.y) > still;
  const box = isDragging ? boxOf(from, to) : undefined;

  useEffect(() => {
    const element = canvas.current!;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, { layout, colors, shading, selected, cursor, box, dark });
  });

  const pointOf = (event: PointerEvent): Point => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const choose = (names: readonly string[], isMore: boolean): void => {
    const all = isMore ? new Set([...selected, ...names]) : new Set(names);
    if (all.size === 0) select('');
    else select(folded(all), all);
  };
  const toggle = (name: string): void => {
    const all = new Set(selected);
    if (!all.delete(name)) all.add(name);
    choose([...all], false);
  };
  const release = (event: PointerEvent): void => {
    const at = pointOf(event);
    const start = from;
    setFrom(undefined);
    setTo(undefined);
    if (!start) return;
    if (Math.hypot(at.x - start.x, at.y - start.y) > still)
      return choose(nodesIn(layout, boxOf(start, at)), event.shiftKey);
    const index = nodeAt(layout, at.x, at.y);
    const node = index === undefined ? undefined : layout.nodes[index];
    if (!node) return choose([], false);
    if (event.shiftKey || event.ctrlKey || event.metaKey) toggle(node.name);
    else go(`/nodes/${encodeURIComponent(node.name)}`);
  };
  const press = (event: KeyboardEvent): void => {
    const node = cursor === undefined ? undefined : layout.nodes[cursor];
    const step = steps[event.key];
    if (step !== undefined) {
      setCursor(
        node && cursor !== undefined ? neighbor(layout, cursor, ...step) : layout.nodes.length === 0 ? undefined : 0,
      );
    } else if (event.key === ' ' && node) toggle(node.name);
    else if (event.key === 'Enter' && node) go(`/nodes/${encodeURIComponent(node.name)}`);
    else if (event.key === 'Escape') choose([], false);
    else return;
    event.preventDefault();
  };
  const shown = layout.nodes[hover?.index ?? -1];
  const current = cursor === undefined ? undefined : layout.nodes[cursor];
  return (
    <div class="nodes">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={texts.label(nodes.length)}
        onPointerDown={(event) => {
          if (event.button !== 0 || event.pointerType === 'touch') return;
          canvas.current!.setPointerCapture(event.pointerId);
          setFrom(pointOf(event));
          setTo(pointOf(event));
        }}
        onPointerMove={(event) => {
          const at = pointOf(event);
          if (from) setTo(at);
          const index = nodeAt(layout, at.x, at.y);
          setHover(index === undefined || event.pointerType === 'touch' ? undefined : { ...at, index });
        }}
        onPointerLeave={() => setHover(undefined)}
        onPointerUp={release}
        onClick={(event) => {
          // A finger scrolls and taps; dragging is for the mouse.
          if (!(event instanceof PointerEvent) || event.pointerType !== 'touch') return;
          const at = pointOf(event);
          const node = layout.nodes[nodeAt(layout, at.x, at.y) ?? -1];
          if (node) go(`/nodes/${encodeURIComponent(node.name)}`);
        }}
        onKeyDown={press}
      />
      <p class="hidden" aria-live="polite">
        {current && texts.current(current.name, detailOf(current, shading), selected.has(current.name))}
      </p>
      {hover && shown && !box && (
        <div
          class="tip"
          style={{ left: `${Math.min(hover.x + 24, Math.max(8, width - 220))}px`, top: `${hover.y + 30}px` }}
        >
          <strong>{shown.name}</strong>
          <div>
            {detailOf(shown, shading)}
            {shown.attributes['status'] !== undefined && shading !== 'status' && (
              <span class="muted"> · {shown.attributes['status']}</span>
            )}
          </div>
          {shown.trouble !== undefined && <div class="muted">{shown.trouble.slice(0, 160)}</div>}
        </div>
      )}
    </div>
  );
}
