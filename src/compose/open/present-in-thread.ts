import { MessageChannel } from 'node:worker_threads'
import { guardedWorker, isStopped, workerBeside, type GuardedWorker } from '../../drivers/sandbox/guarded-worker.ts'
import type { Presented, Presenter, PresentOptions } from '../../engine/deps.ts'
import type { PresentAnswer, PresentTask } from './present-worker.ts'

/** Shorter outputs take a few milliseconds, less than a thread costs. */
const LONG_CHARACTERS = 512 * 1024
const TIME_MS = 60_000
const IDLE_MS = 30_000
const LIMITS = { maxOldGenerationSizeMb: 1_024 }

export interface PresentInThread {
  present(output: string, options: PresentOptions): Promise<Presented>
  close(): Promise<void>
}

/**
 * Makes views of long outputs in a thread: a log of 16 MB takes a second or two and would block all other requests. `inline` makes the other views,
 * and those at which the thread fails.
 */
export function presentInThread(inline: Presenter): PresentInThread {
  let worker: GuardedWorker<PresentTask, PresentAnswer> | undefined
  let idle: NodeJS.Timeout | undefined
  let underWay = 0

  async function presentLong(output: string, options: PresentOptions): Promise<Presented | undefined> {
    const { budgetTokens, handle, tool, readers, countTokens } = options
    worker ??= guardedWorker(workerBeside(import.meta.url, 'present-worker', 'compose/open'), undefined, LIMITS)
    const { port1, port2 } = new MessageChannel()
    const counted = new SharedArrayBuffer(4)
    const signal = new Int32Array(counted)
    port1.on('message', (text: string) => {
      port1.postMessage(countTokens(text), [])
      Atomics.store(signal, 0, 1)
      Atomics.notify(signal, 0)
    })
    try {
      const asked = { output, budgetTokens, handle, readers, tool, port: port2, counted }
      const answer = await worker.ask(asked, TIME_MS, { transfer: [port2] })
      return isStopped(answer) || 'failed' in answer ? undefined : answer.presented
    } finally {
      port1.close()
    }
  }

  return {
    async present(output, options) {
      if (output.length < LONG_CHARACTERS) return inline(output, options)
      clearTimeout(idle)
      underWay++
      try {
        return (await presentLong(output, options)) ?? inline(output, options)
      } finally {
        if (--underWay === 0) {
          idle = setTimeout(() => {
            void worker?.close()
            worker = undefined
          }, IDLE_MS)
          idle.unref()
        }
      }
    },
    async close() {
      clearTimeout(idle)
      await worker?.close()
      worker = undefined
    },
  }
}
