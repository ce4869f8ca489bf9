import { Type } from 'typebox';
import { Count, setting, type ValuesOf } from '../../core/settings.ts';

export const powerBudgetSettings = Type.Object({
  seconds: setting(Count, 'seconds between two looks at the nodes of power budgets; at least 10', { default: 60 }),
  lowest: setting(Count, 'watts below which no node is capped whose BMC reports no minimum', { default: 100 }),
});
export type PowerBudgetSettings = ValuesOf<typeof powerBudgetSettings>;
