import type { Recording } from '../../src/lab/transcripts/recording.ts'
import { type ReplayOptions, replaySession } from '../../src/lab/replay/replay.ts'
import type { PresetReplay } from './preset-table.ts'

/** Everything resent, as in the recall figures: clients that compact by themselves would leave a policy nothing to do. */
export const LOAD = { resend: 'everything', thinking: 'drop', parallel: 'as-written' } as const

/** Replays a recording and counts the closing turns. */
export async function replayPreset(
  recording: Recording,
  folder: string,
  options: Pick<ReplayOptions, 'window' | 'policy' | 'model'>,
): Promise<PresetReplay> {
  const { result, steps } = await replaySession(recording, options)
  return { ...result, folder, closing: steps.filter(({ verdict }) => verdict === 'final').length }
}
