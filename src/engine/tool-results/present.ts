import type { Presenter } from '../deps.ts'
import { readerNames } from '../readers/reader-tools.ts'
import { createToolRegistry, show, type ToolRegistry } from '../intake/index.ts'

/** Shows the best view of a long output under a token budget, by what the output is and which tool wrote it. */
export const presenter =
  (registry: ToolRegistry = createToolRegistry()): Presenter =>
  (output, { budgetTokens, countTokens, handle, tool, readers, now }) => {
    const { text, report, about } = show(output, {
      budgetTokens,
      countTokens,
      handle,
      registry,
      readers: readerNames(readers),
      tool,
      now,
    })
    return { text, report, about }
  }

export const presentText = presenter()
