import { amount, has, nested, type UsageShape } from '../wire/usage.ts'

/** The cached count is inside the prompt count. */
export const usage: UsageShape = {
  fits: (fields) => has(fields, 'prompt_tokens') || has(fields, 'completion_tokens'),
  read(fields) {
    const prompt = nested(fields, 'prompt_tokens_details')
    return {
      input: amount(fields, 'prompt_tokens'),
      // DeepSeek names the cached part on the top level.
      cacheRead: has(prompt, 'cached_tokens')
        ? amount(prompt, 'cached_tokens')
        : amount(fields, 'prompt_cache_hit_tokens'),
      cacheWrite: amount(prompt, 'cache_write_tokens'),
      output: amount(fields, 'completion_tokens'),
      reasoning: amount(nested(fields, 'completion_tokens_details'), 'reasoning_tokens'),
    }
  },
}
