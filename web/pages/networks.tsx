import { get } from '../api/client.ts';
import type { NodesReply } from '../api/types.ts';
import { Badge, Card, PageTitle, Read } from '../design/parts.tsx';
import { addressAttributes, addressText, firstFree, type Network, networksOf, partsOf } from '../model/addresses.ts';
import { readAll } from '../model/cluster.ts';
import { changesSeen } from '../model/live.ts';
import { byName } from '../model/ranges.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { networks as texts } from '../texts/networks.ts';

/** A network is drawn in so many parts. */
const drawn = 256;

async function readNetworks(signal: AbortSignal): Promise<readonly Network[]> {
  const [networks, nodes] = await Promise.all([
    get<NodesReply>('/networks/ALLRESOURCES', signal),
    readAll(addressAttributes.split(',')),
  ]);
  return [...networksOf(networks, nodes)].sort((a, b) => byName(a.name, b.name));
}

function Drawing({ network }: { network: Network }) {
  const parts = partsOf(network, drawn);
  const used = parts.filter((part) => part.used > 0).length;
  return (
    <div class="addresses" role="img" aria-label={texts.drawing(used, parts.length)}>
      {parts.map(({ first, last, used: count, size, isDynamic }) => {
        const share = count === 0 ? 0 : count === size ? 3 : count * 2 > size ? 2 : 1;
        const where = first === last ? addressText(first) : common.fromTo(addressText(first), addressText(last));
        const what = first === last ? (network.used.get(first) ?? texts.free) : texts.partUsed(count, size);
        return (
          <i
            key={first}
            class={`used-${share} ${isDynamic ? 'dynamic' : ''}`}
            title={texts.part(where, what, isDynamic)}
          />
        );
      })}
    </div>
  );
}

function NetworkCard({ network }: { network: Network }) {
  const { name, net, mask, range, used, dynamic } = network;
  const free = firstFree(network);
  const all = range ? range.last - range.first + 1 : 0;
  return (
    <Card
      title={name}
      side={
        <span class="mono muted">
          {net} {mask}
        </span>
      }
    >
      {range ? (
        <div class="body stack">
          <div class="row wrap numbers">
            <Badge tone="accent">{texts.used(used.size)}</Badge>
            <Badge>{texts.unused(all - used.size)}</Badge>
            <span class="muted small">
              {free === undefined ? texts.noneFree : texts.firstFree(addressText(free))}
              {dynamic && texts.dynamic(addressText(dynamic.first), addressText(dynamic.last))}
            </span>
          </div>
          <Drawing network={network} />
        </div>
      ) : (
        <p class="body muted">{texts.notCounted}</p>
      )}
    </Card>
  );
}

/** Networks with the addresses that nodes, BMCs and gateways have in them. */
export function Networks() {
  const seen = useStore(changesSeen);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <Read of={String(seen)} read={readNetworks}>
        {(networks) =>
          networks.length === 0 ? (
            <div class="card empty">
              <strong>{texts.none}</strong>
              <p>{texts.firstStep}</p>
              <pre class="code">{texts.firstLine}</pre>
            </div>
          ) : (
            networks.map((network) => <NetworkCard key={network.name} network={network} />)
          )
        }
      </Read>
    </>
  );
}
