import type { Severity } from '../../core/event-kinds.ts';
import type { ReportedEvent } from '../../drivers/index.ts';

const over = /\b(recovered|deassert(ed)?|normal|cleared)\b/i;
const mild = /\b(non-critical|warning|degraded|predictive)\b/i;
const bad = /\b(critical|non-recoverable|fatal|fail(ed|ure|ure detected)?|lost|error|uncorrectable)\b/i;

/** Lines of event logs have no severity of their own that all hardware agrees on. */
export function severityOf(line: string): Severity {
  if (over.test(line)) return 'ok';
  if (mild.test(line)) return 'warning';
  return bad.test(line) ? 'critical' : 'ok';
}

/** What is new in an event log since it was last read. */
export class NewLines {
  #before: ReadonlyMap<string, number> | undefined;

  /** Nothing at the first time: what is there then was there before. */
  add(lines: readonly string[]): readonly ReportedEvent[] {
    const counts = new Map<string, number>();
    const fresh: string[] = [];
    for (const line of lines) {
      const count = (counts.get(line) ?? 0) + 1;
      counts.set(line, count);
      if (this.#before && count > (this.#before.get(line) ?? 0)) fresh.push(line);
    }
    this.#before = counts;
    return fresh.map((message) => ({ severity: severityOf(message), message }));
  }

  forget(): void {
    this.#before = undefined;
  }
}
