import type { Failure, FailureKind, RefereeRequest } from '../types.ts'

const ERROR_TYPES: Record<FailureKind, string> = {
  invalid: 'invalid_request_error',
  overflow: 'invalid_request_error',
  'too-large': 'invalid_request_error',
  throttle: 'tokens',
  server: 'server_error',
  overloaded: 'server_error',
  auth: 'invalid_request_error',
  'not-found': 'invalid_request_error',
}

/** Codes by which clients tell these refusals apart. */
const CODES: Partial<Record<string, string>> = {
  overflow: 'context_length_exceeded',
  throttle: 'rate_limit_exceeded',
  auth: 'invalid_api_key',
  'reasoning-unsealed': 'invalid_encrypted_content',
  'compaction-unsealed': 'invalid_encrypted_content',
  'previous-response-known': 'previous_response_not_found',
}

export function openAiError(failure: Failure): { readonly error: Readonly<Record<string, unknown>> } {
  const code = CODES[failure.rule ?? ''] ?? CODES[failure.kind] ?? null
  const { message, param } = failure
  return {
    error: {
      message,
      type: ERROR_TYPES[failure.kind],
      param: param === undefined || param === '' ? null : param,
      code,
    },
  }
}

export function authoriseBearer({ headers }: RefereeRequest, apiKey: string | undefined): Failure | undefined {
  const given = headers.authorization?.replace(/^Bearer /i, '') ?? headers['api-key']
  if (given === undefined) return { kind: 'auth', status: 401, message: "You didn't provide an API key." }
  if (apiKey === undefined || given === apiKey) return undefined
  return { kind: 'auth', status: 401, message: 'Incorrect API key provided.' }
}

export const openAiModels = (ids: readonly string[], window: number): unknown => ({
  object: 'list',
  data: ids.map((id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'referee', context_length: window })),
})
