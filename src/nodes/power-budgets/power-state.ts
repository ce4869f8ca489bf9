import type { Labelled } from '../../drivers/index.ts';

/** What a BMC says of consumption and its limit, in watts; undefined: it does not say. */
export interface PowerNow {
  readonly drawn: number | undefined;
  /** Undefined: it has no limit that can be set. */
  readonly limit: { readonly isOn: boolean; readonly watts: number | undefined } | undefined;
  readonly least: number | undefined;
  readonly most: number | undefined;
}

/** From the attributes of `renergy`, as every kind of hardware shows them. */
export function powerNow(shown: Labelled): PowerNow {
  const status = shown['cappingstatus'];
  const watts = wattsIn(shown['cappingvalue']);
  return {
    drawn: wattsIn(shown['powerusage']) ?? wattsIn(shown['Current Power']) ?? wattsIn(shown['averageAC']),
    limit: status === 'on' || status === 'off' ? { isOn: status === 'on', watts } : undefined,
    least: wattsIn(shown['cappingmin']),
    most: wattsIn(shown['cappingmax']),
  };
}

function wattsIn(value: Labelled[string] | undefined): number | undefined {
  const [, number] = typeof value === 'string' ? (/^(\d{1,9}(?:\.\d{1,3})?) W(?:atts)?$/.exec(value) ?? []) : [];
  return number === undefined ? undefined : Number(number);
}
