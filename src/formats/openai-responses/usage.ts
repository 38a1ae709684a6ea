import { isRecord } from '../../core/values.ts'
import { amount, nested, type UsageShape } from '../wire/usage.ts'

/** The cached count is inside the input count. The details tell it from another vendor's report with the same names. */
export const usage: UsageShape = {
  fits: (fields) => isRecord(fields['input_tokens_details']) || isRecord(fields['output_tokens_details']),
  read(fields) {
    const input = nested(fields, 'input_tokens_details')
    return {
      input: amount(fields, 'input_tokens'),
      cacheRead: amount(input, 'cached_tokens'),
      cacheWrite: amount(input, 'cache_write_tokens'),
      output: amount(fields, 'output_tokens'),
      reasoning: amount(nested(fields, 'output_tokens_details'), 'reasoning_tokens'),
    }
  },
}
