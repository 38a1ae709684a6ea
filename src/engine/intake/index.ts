/** Intake: what a tool's output is, and the best view of it within a budget. Pure and synchronous; stores are elsewhere. */
export { classify } from './classify.ts'
export { describeOutput, show } from './show.ts'
export { headTail } from './text.ts'
export { neutralise, sanitise, wellFormed } from './sanitise.ts'
export { createToolRegistry, type ToolRegistry, type ToolSummary } from './registry.ts'
export { pointerText } from './notice.ts'
export type { Shown, ShowOptions, ShowReport } from './types.ts'
