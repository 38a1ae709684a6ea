import { isRecord } from '../../core/values.ts'
import { amount, has, nested, type UsageShape } from '../wire/usage.ts'

/** Input is reported without its cached part; ours includes it. */
export const usage: UsageShape = {
  // Another wire has the same names, and details beside them that this one lacks.
  fits: (fields) =>
    (has(fields, 'input_tokens') || has(fields, 'output_tokens')) &&
    !isRecord(fields['input_tokens_details']) &&
    !isRecord(fields['output_tokens_details']),
  read(fields) {
    const cacheRead = amount(fields, 'cache_read_input_tokens')
    const lifetimes = nested(fields, 'cache_creation')
    const cacheWriteLong = amount(lifetimes, 'ephemeral_1h_input_tokens')
    const cacheWrite = Math.max(
      amount(fields, 'cache_creation_input_tokens'),
      cacheWriteLong + amount(lifetimes, 'ephemeral_5m_input_tokens'),
    )
    return {
      input: amount(fields, 'input_tokens') + cacheRead + cacheWrite,
      cacheRead,
      cacheWrite,
      ...(cacheWriteLong > 0 && { cacheWriteLong }),
      output: amount(fields, 'output_tokens'),
      reasoning: 0,
    }
  },
}
