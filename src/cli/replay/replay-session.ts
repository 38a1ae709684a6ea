import type { PlimsollEvent } from '../../core/events.ts'
import type { Audit, Epoch } from '../../core/records.ts'
import type { Recording } from '../../lab/transcripts/recording.ts'
import { replayRecording, type ReplayedStep, type ReplayOptions, type ReplayResult } from './replay-recording.ts'

/** A session that was lived again, with everything that happened on the way. */
export interface LivedSession {
  readonly result: ReplayResult
  readonly model: string | undefined
  readonly steps: readonly ReplayedStep[]
  /** With the call in which it happened. */
  readonly epochs: readonly (Extract<PlimsollEvent, { type: 'epoch-declared' }> & { readonly call: number })[]
  readonly offloads: readonly (Extract<PlimsollEvent, { type: 'item-offloaded' }> & { readonly call: number })[]
  readonly log: readonly (Audit | Epoch)[]
}

export async function liveAgain(
  recording: Recording,
  options: Omit<ReplayOptions, 'onEvent' | 'onAudit'>,
): Promise<LivedSession> {
  const steps: ReplayedStep[] = []
  const epochs: LivedSession['epochs'][number][] = []
  const offloads: LivedSession['offloads'][number][] = []
  let log: readonly (Audit | Epoch)[] = []
  const result = await replayRecording(recording, {
    ...options,
    onCall(step) {
      steps.push(step)
      options.onCall?.(step)
    },
    onEvent(event) {
      // Events of a call come before its step is complete.
      const call = steps.length
      if (event.type === 'epoch-declared') epochs.push({ ...event, call })
      else if (event.type === 'item-offloaded') offloads.push({ ...event, call })
    },
    onAudit(found) {
      log = found
    },
  })
  return { result, model: options.model ?? recording.model, steps, epochs, offloads, log }
}
