import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { FEATURE_COUNT } from '../../src/meter/estimator/features.ts'
import { scan } from '../../src/meter/estimator/scan.ts'
import { readLines } from './shared.ts'

/** Growth of the reported input between two calls of Claude Code, with the text that was added. */
export interface ClaudeDelta {
  readonly session: string
  readonly model: string
  readonly tokens: number
  readonly calls: number
  readonly assistantText: string
  readonly callText: string
  readonly results: readonly string[]
  /** Counted with o200k by those who published the data. */
  readonly o200k: number
  readonly heldOut: boolean
}

interface DeltaRow {
  readonly session: string
  readonly model: string
  readonly delta_input_tokens: number
  readonly assistant_text: string
  readonly tool_uses: readonly unknown[]
  readonly tool_use_input_json: string
  readonly tool_results: readonly { readonly text: string }[]
  readonly o200k: { readonly assistant_text: number; readonly tool_use: number; readonly tool_results: number }
}

/** Sessions are held out whole: calls of one session share their files and their style. */
export function loadClaudeDeltas(data: string): ClaudeDelta[] {
  const path = join(data, 'transcripts/token-usage/claude-session-deltas.jsonl.gz')
  return readLines<DeltaRow>(path).map((row) => ({
    session: row.session,
    model: row.model,
    tokens: row.delta_input_tokens,
    calls: row.tool_uses.length,
    assistantText: row.assistant_text,
    callText: row.tool_use_input_json,
    results: row.tool_results.map(({ text }) => text),
    o200k: row.o200k.assistant_text + row.o200k.tool_use + row.o200k.tool_results,
    heldOut: createHash('sha256').update(row.session).digest().readUInt32BE(0) / 2 ** 32 < 0.35,
  }))
}

/** Features of all added text together. */
export function featuresOfDelta(delta: ClaudeDelta): Uint32Array {
  const total = new Uint32Array(FEATURE_COUNT)
  for (const text of [delta.assistantText, delta.callText, ...delta.results]) {
    const features = scan(text)
    for (let i = 0; i < FEATURE_COUNT; i++) total[i]! += features[i]!
  }
  return total
}
