import type { Usage } from '../core/usage.ts'

/** Usage that says nothing is no usage. */
export const isKnownUsage = (usage: Usage | undefined): usage is Usage =>
  usage !== undefined && (usage.input > 0 || usage.output > 0)
