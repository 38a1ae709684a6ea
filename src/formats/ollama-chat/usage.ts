import { amount, has, type UsageShape } from '../wire/usage.ts'

/** The counts stand beside the message, in the last line of a stream. Nothing is said about what was cached. */
export const usage: UsageShape = {
  fits: (fields) => has(fields, 'prompt_eval_count') || has(fields, 'eval_count'),
  read: (fields) => ({
    input: amount(fields, 'prompt_eval_count'),
    cacheRead: 0,
    cacheWrite: 0,
    output: amount(fields, 'eval_count'),
    reasoning: 0,
  }),
}
