import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import type { ShowOptions } from '../../src/engine/intake/index.ts'
import { sharedFolder } from '../support/shared-data.ts'

/** Exact o200k tokens; text of special tokens counts as text. */
export const countTokens = (text: string): number => countO200k(text, { disallowedSpecial: new Set() })

export const HANDLE = 'art_3k9xq7mz0v5c1h8wgy2n4rtbpe'
export const OTHER_HANDLE = 'art_00000000000000000000000000'

export const options = (budgetTokens: number, more: Partial<ShowOptions> = {}): ShowOptions => ({
  budgetTokens,
  countTokens,
  handle: HANDLE,
  readers: ['artifact_read', 'artifact_grep'],
  ...more,
})

/** A small generator of pseudo-random numbers, so that every run sees the same data. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export const toolOutputs = sharedFolder('tool-outputs')

/** Every data file of the shared tool outputs, unpacked. Empty where they are not there. */
export function corpusFiles(): { name: string; read: () => Buffer }[] {
  if (!existsSync(toolOutputs)) return []
  return readdirSync(toolOutputs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('licences') && entry.name !== 'README.md')
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ name: relative(toolOutputs, path), read: () => unpack(path) }))
}

const unpack = (path: string): Buffer => {
  const bytes = readFileSync(path)
  return path.endsWith('.gz') ? gunzipSync(bytes) : bytes
}

/** Outputs of real tool calls, one per line of the shared file. */
export function toolResults(): { kind: string; output: string }[] {
  const path = join(toolOutputs, 'agent-tool-results', 'tool-results.jsonl.gz')
  if (!existsSync(path)) return []
  return unpack(path)
    .toString()
    .trim()
    .split('\n')
    .map((line) => {
      const { kind, output } = JSON.parse(line) as { kind: string; output: unknown }
      return { kind, output: typeof output === 'string' ? output : JSON.stringify(output) }
    })
}
