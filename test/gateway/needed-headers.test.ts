import { expect, it } from 'vitest'
import { mergeHeaders } from '../../src/gateway/attempt.ts'

const needed = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' }

it.each([
  ['nothing', undefined, 'thinking-binding-controls-2026-08-01'],
  [
    'betas of its own',
    'prompt-caching-2024-07-31, files-api-2025-04-14',
    'prompt-caching-2024-07-31,files-api-2025-04-14,thinking-binding-controls-2026-08-01',
  ],
  ['the same beta', 'thinking-binding-controls-2026-08-01', 'thinking-binding-controls-2026-08-01'],
])('adds our beta to a client that sends %s', (_name, own, expected) => {
  expect(mergeHeaders(needed, () => own)).toEqual({ 'anthropic-beta': expected })
})
