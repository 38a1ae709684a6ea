/** Intake: what a tool's output is, and the best view of it within a budget. Pure and synchronous; stores are elsewhere. */
export { classify } from './classify.ts'
export { describeOutput, show } from './show.ts'
export { type HeadTail, headTail, type HeadTailOptions, layOut, type LayOutOptions } from './text.ts'
export { foldMathematical, neutralise, sanitise, wellFormed } from './sanitise.ts'
export { createToolRegistry, type ToolRegistry, type ToolSummary } from './registry.ts'
export { createDrain, type Drain, type DrainOptions, type LogGroup } from './logs/drain.ts'
export { runTemplate, type Template, type TemplateName, TEMPLATES, TOOL_TEMPLATES } from './templates/index.ts'
export { pointerText } from './notice.ts'
export type {
  About,
  Classified,
  ContentKind,
  CutRecord,
  HandlingMode,
  Shown,
  ShowOptions,
  ShowReport,
  Size,
} from './types.ts'
export {
  type BudgetGrant,
  type ResultForms,
  type ToolBudget,
  toolBudget,
  type ToolBudgetOptions,
} from '../tool-results/tool-budget.ts'
