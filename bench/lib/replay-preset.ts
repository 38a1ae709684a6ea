import type { Recording } from '../../src/lab/transcripts/recording.ts'
import { replayRecording, type ReplayOptions } from '../../src/cli/replay/replay-recording.ts'
import type { PresetReplay } from './preset-table.ts'

/** Everything resent, as in the recall figures: clients that compact by themselves would leave a policy nothing to do. */
export const LOAD = { resend: 'everything', thinking: 'drop', parallel: 'as-written' } as const

/** Lives a recording again and counts the closing turns. */
export async function replayPreset(
  recording: Recording,
  folder: string,
  options: Pick<ReplayOptions, 'window' | 'policy' | 'model'>,
): Promise<PresetReplay> {
  let closing = 0
  const result = await replayRecording(recording, {
    ...options,
    onCall({ verdict }) {
      if (verdict === 'final') closing++
    },
  })
  return { ...result, folder, closing }
}
