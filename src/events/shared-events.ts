import type { HardwareNews } from '../core/event-kinds.ts';
import type { News } from '../database/news.ts';
import { Gathering } from './listener.ts';

/** What is in no table, and those who listen hear of. */
export interface SharedEvents {
  power(node: string, power: string): void;
  notice(nodes: readonly string[], message: string): void;
  hardware(nodes: readonly string[], news: HardwareNews): void;
}

interface PowerNews {
  readonly nodes: readonly string[];
  readonly power: string;
}

interface Notice {
  readonly nodes: readonly string[];
  readonly message: string;
}

interface Reported {
  readonly nodes: readonly string[];
  readonly news: HardwareNews;
}

/** Names of nodes in one message, which must be short. */
const nodesTogether = 100;

/** Hands what other servers say to who listens `here`; what is returned takes what happens here to them. Boots and runs do that themselves. */
export function shareEvents(news: News, here: SharedEvents): SharedEvents {
  news.hear<PowerNews>('power', ({ nodes, power }) => {
    for (const node of nodes) here.power(node, power);
  });
  news.hear<Notice>('notice', ({ nodes, message }) => here.notice(nodes, message));
  news.hear<Reported>('hardware', ({ nodes, news: reported }) => here.hardware(nodes, reported));
  const gathering = new Gathering((event) => {
    if (event.what !== 'power') return;
    for (let at = 0; at < event.nodes.length; at += nodesTogether)
      news.tell('power', { nodes: event.nodes.slice(at, at + nodesTogether), power: event.power } satisfies PowerNews);
  });
  return {
    power: (node, power) => gathering.power(node, power),
    notice: (nodes, message) => news.tell('notice', { nodes, message } satisfies Notice),
    hardware(nodes, reported) {
      for (let at = 0; at < nodes.length; at += nodesTogether)
        news.tell('hardware', { nodes: nodes.slice(at, at + nodesTogether), news: reported } satisfies Reported);
    },
  };
}
