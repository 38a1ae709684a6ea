import type { Violation } from '../../core/codec.ts'
import { type Fields, isRecord } from '../../core/values.ts'
import type { HiddenTokenizer } from './tokenizer.ts'
import type { CountedSegment, Dialect, Failure, Segment } from './types.ts'

// Parsers of the vendors stop long before this; ours would overflow its stack while comparing prompts.
const MAX_DEPTH = 500

const refuse = (message: string): { failure: Failure } => ({
  failure: { kind: 'invalid', status: 400, message, rule: 'valid-json' },
})

/** Reads the bytes as JSON, or says in the vendor's manner why not. */
export function parseBody(raw: Uint8Array): { readonly body: Fields } | { readonly failure: Failure } {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw))
  } catch (error) {
    return refuse(`The request body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (!isRecord(parsed)) return refuse('The request body is not a JSON object')
  if (isDeeperThan(parsed, MAX_DEPTH)) return refuse('The request body is not valid JSON: recursion limit exceeded')
  return { body: parsed }
}

function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true
    const next: unknown[] = []
    for (const entry of level) {
      if (typeof entry !== 'object' || entry === null) continue
      for (const child of Object.values(entry)) if (typeof child === 'object' && child !== null) next.push(child)
    }
    level = next
  }
  return false
}

/** Blocks that the provider drops cost nothing. */
export const countSegments = (
  segments: readonly Segment[],
  tokenizer: HiddenTokenizer,
  dropped: ReadonlySet<string> = new Set(),
): CountedSegment[] =>
  segments.map((segment) => ({
    ...segment,
    tokens: dropped.has(segment.path) ? 0 : tokenizer(segment.text) + segment.extraTokens,
  }))

export const totalOf = (segments: readonly CountedSegment[]): number =>
  segments.reduce((sum, { tokens }) => sum + tokens, 0)

/** The newest segments that fit into `limit`, and what was lost in front of them. */
export function keepNewest(
  segments: readonly CountedSegment[],
  limit: number,
): { readonly kept: readonly CountedSegment[]; readonly lost: number } {
  let room = limit
  let from = segments.length
  while (from > 0 && (segments[from - 1]?.tokens ?? 0) <= room) {
    from -= 1
    room -= segments[from]?.tokens ?? 0
  }
  const partial = segments[from - 1]
  // A server cuts at tokens, not at messages: what is left of the window goes to the end of the next older piece.
  const kept = from > 0 && partial !== undefined && room > 0 ? [{ ...partial, tokens: room }] : []
  const all = [...kept, ...segments.slice(from)]
  return { kept: all, lost: totalOf(segments) - totalOf(all) }
}

/** A broken rule in the vendor's manner; the rule's name is added so that a test can tell which one. */
export function failureOf(dialect: Dialect, violation: Violation): Failure {
  const where = violation.path === '' ? '' : `${violation.path}: `
  const prefixed = dialect.namesPaths ? where : ''
  const tooLarge = violation.rule === 'body-bytes'
  return {
    kind: tooLarge ? 'too-large' : 'invalid',
    status: tooLarge ? 413 : 400,
    message: `${prefixed}${violation.message} [rule: ${violation.rule}]`,
    param: violation.path,
    rule: violation.rule,
  }
}
