import { amount, type UsageShape } from '../wire/usage.ts'
import { valueAt } from './source.ts'

/** The cached count is inside the prompt count; thoughts stand beside the answer. */
export const usage: UsageShape = {
  fits: (fields) =>
    [valueAt(fields, 'promptTokenCount'), valueAt(fields, 'candidatesTokenCount')].some(
      (value) => typeof value === 'number',
    ),
  read(fields) {
    const count = (name: string): number => amount({ value: valueAt(fields, name) }, 'value')
    const reasoning = count('thoughtsTokenCount')
    return {
      // Results of Google's own tools are billed as prompt beside it.
      input: count('promptTokenCount') + count('toolUsePromptTokenCount'),
      cacheRead: count('cachedContentTokenCount'),
      cacheWrite: 0,
      output: count('candidatesTokenCount') + reasoning,
      reasoning,
    }
  },
}
