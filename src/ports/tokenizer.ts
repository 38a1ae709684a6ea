import type { Count } from '../core/count.ts'

/**
 * Counts tokens of text. Promises: never throws, linear in the text on every input, synchronous once loaded, same answer
 * for the same text in every process.
 */
export interface Tokenizer {
  readonly name: string
  count(text: string): Count
}
