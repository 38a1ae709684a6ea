import type { PresentOptions } from './deps.ts'
import { show } from './intake/index.ts'

/** The best view of a long text under a token budget, by what the text is. */
export function presentText(text: string, options: PresentOptions): string {
  const { budgetTokens, countTokens, handle, tool, readers } = options
  return show(text, {
    budgetTokens,
    countTokens,
    handle,
    readers: [...readers.values()],
    ...(tool !== undefined && { tool }),
  }).text
}
