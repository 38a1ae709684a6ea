import type { Count } from '../core/count.ts'

/** Counts tokens of text. Promises: never throws, linear time on every input, synchronous once loaded, the same count for a text in every process. */
export interface Tokenizer {
  readonly name: string
  count(text: string): Count
}
