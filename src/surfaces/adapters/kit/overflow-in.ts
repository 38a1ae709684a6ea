import { isRecord, numberOf, stringOf } from '../../../core/values.ts'
import { classifyProviderError } from '../../../formats/registry.ts'

/** Errors inside errors that are looked at. */
const MOST_CAUSES = 5

/** Whether an error of a framework is a provider's refusal because of the size, and the limit where it names one. */
export function overflowIn(error: unknown): { readonly limit?: number } | undefined {
  let one = error
  for (let depth = 0; depth < MOST_CAUSES && isRecord(one); depth++) {
    const status = numberOf(one['statusCode']) ?? numberOf(one['status'])
    const body = stringOf(one['responseBody']) ?? one['error'] ?? stringOf(one['message'])
    const { kind, limit } = classifyProviderError({ ...(status !== undefined && { status }), body })
    if (kind === 'overflow') return limit === undefined ? {} : { limit }
    one = one['cause'] ?? one['lastError']
  }
  return undefined
}
