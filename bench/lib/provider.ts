import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'
import { type Calibration, createCalibration } from '../../src/meter/index.ts'
import type { Tokenizer } from '../../src/ports/tokenizer.ts'
import { loadRecordedSessions, type RecordedSession } from './growth.ts'
import { type PredictedGrowth, replayGrowth } from './replay-growth.ts'
import { quantile } from './statistics.ts'
import { percent, row, title } from './table.ts'

/** Turns before the error counts: calibration has seen this many responses. */
const LEARNING_TURNS = 3

/** The growth of each call, predicted before it was made, against what the provider then reported. */
export async function benchProvider(data: string): Promise<void> {
  const sessions = loadRecordedSessions(data)
  const tokenizers = createTokenizers()
  await Promise.all(['o200k', 'gemini'].map((family) => tokenizers.load(family)))
  title(
    `Growth per call against provider-reported usage, after ${LEARNING_TURNS} turns: median error (p75) on held-out sessions`,
  )
  row('recorded by', ['calls', 'chars/4', 'plain', 'calibrated', 'kept state', 'in interval'])
  for (const group of new Set(sessions.map((session) => session.group))) {
    const own = sessions.filter((session) => session.group === group)
    const heldOut = own.filter((session) => session.heldOut)
    const plain = played(heldOut, () => undefined, tokenizers.get)
    const calibrated = played(heldOut, () => createCalibration(), tokenizers.get)
    const learned = createCalibration()
    for (const session of own) if (!session.heldOut) replayGrowth(session, learned, tokenizers.get)
    const kept = played(heldOut, () => createCalibration({ state: learned.state() }), tokenizers.get)
    const quarter = plain.map(({ characters, real }) => Math.abs(characters / 4 / real - 1))
    const inside =
      calibrated.filter(({ low, high, real }) => low <= real && real <= high).length / Math.max(1, calibrated.length)
    row(group, [
      String(plain.length),
      `${(quantile(quarter, 0.5) * 100).toFixed(1)} %`,
      errorsOf(plain),
      errorsOf(calibrated),
      errorsOf(kept),
      percent(inside),
    ])
  }
}

function played(
  sessions: readonly RecordedSession[],
  calibration: () => Calibration | undefined,
  tokenizerFor: (family: string) => Tokenizer | undefined,
): PredictedGrowth[] {
  return sessions.flatMap((session) =>
    replayGrowth(session, calibration(), tokenizerFor).filter(({ turn }) => turn > LEARNING_TURNS),
  )
}

function errorsOf(predictions: readonly PredictedGrowth[]): string {
  const errors = predictions.map(({ predicted, real }) => Math.abs(predicted / real - 1))
  return `${(quantile(errors, 0.5) * 100).toFixed(1)} (${(quantile(errors, 0.75) * 100).toFixed(0)}) %`
}
