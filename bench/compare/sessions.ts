import { loadFile } from '../../src/lab/transcripts/load.ts'
import { createMeter } from '../../src/meter/index.ts'
import { knownModels } from '../../src/cli/catalogue.ts'
import { chatSession } from './chat.ts'
import { measuredSession, type MeasuredSession } from './measure.ts'

const MODEL = 'claude-sonnet-4-5'
const counter = createMeter({ catalogue: knownModels() })
const counts = new Map<string, number>()

const count = (text: string): number => {
  const tokens = counts.get(text) ?? Math.ceil(counter.countText(MODEL, text).tokens)
  counts.set(text, tokens)
  return tokens
}
const o200k = (text: string): number => counter.countText('gpt-4o', text).tokens

/** Recorded sessions as a client would send them that resends everything, counted as the recorded model counts. */
export async function sessionsIn(paths: readonly string[]): Promise<readonly MeasuredSession[]> {
  const sessions: MeasuredSession[] = []
  for (const path of paths) {
    const { recordings } = await loadFile(path, { resend: 'everything', thinking: 'drop', parallel: 'merged' })
    for (const recording of recordings)
      if (recording.calls.length > 0) sessions.push(measuredSession(chatSession(recording), count, o200k))
  }
  return sessions
}
