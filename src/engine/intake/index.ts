/** Intake: what a tool's output is, and the best view of it within a budget. Pure and synchronous; stores are elsewhere. */
export { classify } from './classify.ts'
export { show } from './show.ts'
export { layOut } from './text.ts'
export type { LayOutOptions } from './text.ts'
export { headTail } from './text.ts'
export type { HeadTail, HeadTailOptions } from './text.ts'
export { foldMathematical, neutralise, sanitise, wellFormed } from './sanitise.ts'
export { createToolRegistry } from './registry.ts'
export type { ToolRegistry, ToolSummary } from './registry.ts'
export { createDrain } from './logs/drain.ts'
export type { Drain, DrainOptions, LogGroup } from './logs/drain.ts'
export { runTemplate, TEMPLATES, TOOL_TEMPLATES } from './templates/index.ts'
export type { Template, TemplateName } from './templates/index.ts'
export { pointerText } from './notice.ts'
export { describeOutput } from './show.ts'
export type {
  About,
  Classified,
  ContentKind,
  CutRecord,
  HandlingMode,
  ShowOptions,
  ShowReport,
  Shown,
  Size,
} from './types.ts'
export {
  toolBudget,
  type BudgetGrant,
  type ResultForms,
  type ToolBudget,
  type ToolBudgetOptions,
} from '../tool-results/tool-budget.ts'
